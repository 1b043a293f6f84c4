package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"callgate/internal/daemon/mcpserver"
	"callgate/internal/kernel"
)

// poller is a client of the stateless protocol, by the bytes that it sends.
type poller struct {
	h    http.Handler
	name string
	caps string // its capabilities, as JSON
	last int
}

const tasksCapability = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// polled is what a client reads of an answer.
type polled struct {
	Result struct {
		ResultType    string `json:"resultType"`
		TaskID        string `json:"taskId"`
		Status        string `json:"status"`
		StatusMessage string `json:"statusMessage"`
		TTL           *int64 `json:"ttlMs"`
		RequestState  string `json:"requestState"`
		CreatedAt     string `json:"createdAt"`
		InputRequests map[string]struct {
			Method string `json:"method"`
		} `json:"inputRequests"`
		Result struct {
			IsError bool `json:"isError"`
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
	} `json:"result"`
	Error *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// send sends a request; more are its parameters as members of a JSON object.
func (p *poller) send(t testing.TB, method, name, more string) polled {
	t.Helper()
	p.last++
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":%q,"version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":%s},%s}}`, p.last, method, p.name, p.caps, more)
	res := post(t, p.h, body, func(r *http.Request) {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
		r.Header.Set("Mcp-Name", name)
	})
	text, err := io.ReadAll(res.Body)
	ok(t, err)
	for line := range strings.Lines(string(text)) { // an answer may come as an event stream
		if data, isEvent := strings.CutPrefix(line, "data: "); isEvent {
			text = []byte(data)
		}
	}
	var out polled
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

func (p *poller) call(t testing.TB, name, args string) polled {
	t.Helper()
	return p.send(t, "tools/call", name, fmt.Sprintf(`"name":%q,"arguments":%s`, name, args))
}

func (p *poller) task(t testing.TB, method, id string) polled {
	t.Helper()
	return p.send(t, method, id, fmt.Sprintf(`"taskId":%q`, id))
}

// await polls until a task has a status.
func (p *poller) await(t testing.TB, id, status string) (last polled) {
	t.Helper()
	eventually(t, "the status "+status, func() bool {
		last = p.task(t, "tasks/get", id)
		return last.Result.Status == status
	})
	return last
}

func pollers(t *testing.T, caps string) (*fixture, *poller) {
	s := newFixture(t, kernel.Config{})
	s.opt.TaskAfter = time.Nanosecond
	h := s.server.Handler(t.Context(), mcpserver.HTTPOptions{Options: s.opt, Token: token})
	return s, &poller{h: h, name: "poller", caps: caps}
}

func TestLongCallBecomesATask(t *testing.T) {
	s, p := pollers(t, tasksCapability)
	made := p.call(t, "demo__slow", `{}`)
	r := made.Result
	if r.ResultType != "task" || r.Status != "working" || r.TaskID == "" || r.TTL == nil || r.CreatedAt == "" {
		t.Fatalf("%+v", made)
	}
	<-s.began
	if now := p.task(t, "tasks/get", r.TaskID); now.Result.ResultType != "complete" || now.Result.Status != "working" {
		t.Errorf("%+v", now)
	}
	close(s.finish)
	for range 2 { // it is told as often as it is asked for
		end := p.await(t, r.TaskID, "completed")
		if end.Result.Result.IsError || !strings.Contains(end.Result.Result.Content[0].Text, "finished") {
			t.Errorf("%+v", end)
		}
	}
	// Somebody else has no such task, and neither has one that does not know of tasks.
	other := &poller{h: p.h, name: "other", caps: tasksCapability}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		if got := other.task(t, method, r.TaskID); got.Error == nil || got.Error.Code != -32602 {
			t.Errorf("%s of another client: %+v", method, got)
		}
		plain := &poller{h: p.h, name: "poller", caps: `{}`}
		if got := plain.task(t, method, r.TaskID); got.Error == nil || got.Error.Code != -32021 ||
			!strings.Contains(string(got.Error.Data), "io.modelcontextprotocol/tasks") {
			t.Errorf("%s without the capability: %+v", method, got)
		}
	}
	if got := p.task(t, "tasks/get", "nothing"); got.Error == nil || got.Error.Code != -32602 {
		t.Errorf("%+v", got)
	}
}

func TestShortCallIsNoTask(t *testing.T) {
	s, p := pollers(t, tasksCapability)
	s.opt.TaskAfter = time.Minute
	p.h = s.server.Handler(t.Context(), mcpserver.HTTPOptions{Options: s.opt, Token: token})
	if got := p.call(t, "demo__add", `{"a":1,"b":2}`); got.Result.ResultType != "complete" {
		t.Errorf("%+v", got)
	}
	_, plain := pollers(t, `{}`)
	if got := plain.call(t, "demo__add", `{"a":1,"b":2}`); got.Result.ResultType != "complete" {
		t.Errorf("without the capability: %+v", got)
	}
}

func TestTaskIsCancelled(t *testing.T) {
	s, p := pollers(t, tasksCapability)
	id := p.call(t, "demo__slow", `{}`).Result.TaskID
	<-s.began
	if got := p.task(t, "tasks/cancel", id); got.Error != nil || got.Result.ResultType != "complete" {
		t.Errorf("%+v", got)
	}
	p.await(t, id, "cancelled")
}

// A task that needs a human says so, and is answered by the client's form or elsewhere.
func TestTaskWaitsForAHuman(t *testing.T) {
	t.Run("elsewhere", func(t *testing.T) {
		s, p := pollers(t, tasksCapability)
		id := p.call(t, "demo__wipe", `{"what":"it"}`).Result.TaskID
		eventually(t, "the approval", func() bool { return len(s.pending(t)) == 1 })
		if got := p.await(t, id, "working"); s.wiped.Load() != 0 {
			t.Errorf("it ran: %+v", got)
		}
		s.approve(t, s.pending(t)[0].ID)
		if p.await(t, id, "completed"); s.wiped.Load() != 1 {
			t.Errorf("it ran %d times", s.wiped.Load())
		}
	})
	t.Run("form", func(t *testing.T) {
		s, p := pollers(t, `{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
		const accept = `{"action":"accept","content":{"approve":true}}`
		made := p.call(t, "demo__wipe", `{"what":"it"}`)
		if made.Result.ResultType == "input_required" { // the form was there before its time was over
			made = p.send(t, "tools/call", "demo__wipe", fmt.Sprintf(`"name":"demo__wipe","arguments":{"what":"it"},`+
				`"requestState":%q,"inputResponses":{"approval":%s}`, made.Result.RequestState, accept))
			if made.Result.ResultType == "complete" {
				return
			}
		} else {
			p.await(t, made.Result.TaskID, "input_required")
		}
		got := p.task(t, "tasks/get", made.Result.TaskID)
		for key, asked := range got.Result.InputRequests {
			if asked.Method != "elicitation/create" || s.wiped.Load() != 0 {
				t.Errorf("%s: %+v", key, asked)
			}
			answers := fmt.Sprintf(`"taskId":%q,"inputResponses":{%q:%s,"none":%s}`, made.Result.TaskID, key, accept, accept)
			if ack := p.send(t, "tasks/update", made.Result.TaskID, answers); ack.Error != nil {
				t.Errorf("%+v", ack.Error)
			}
		}
		if p.await(t, made.Result.TaskID, "completed"); s.wiped.Load() != 1 {
			t.Errorf("it ran %d times", s.wiped.Load())
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		s, p := pollers(t, tasksCapability)
		id := p.call(t, "demo__wipe", `{"what":"it"}`).Result.TaskID
		eventually(t, "the approval", func() bool { return len(s.pending(t)) == 1 })
		p.await(t, id, "working")
		p.task(t, "tasks/cancel", id)
		p.await(t, id, "cancelled")
		if len(s.pending(t)) != 0 || s.wiped.Load() != 0 {
			t.Errorf("the approval is open, or it ran")
		}
	})
}

// Another server, as after a restart of the kernel, finds a task in the journal for the
// client that began it. For others it does not exist: while the session that began it is
// open, with another profile or token, in another folder, without the tool.
func TestTaskOfAnEarlierServer(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addProfiles(t)
	s.opt.TaskAfter = time.Nanosecond
	serve := func(o mcpserver.Options, name string) *poller {
		h := mcpserver.New(s.kernel).Handler(t.Context(), mcpserver.HTTPOptions{Options: o, Token: token})
		return &poller{h: h, name: name, caps: tasksCapability}
	}
	first := mcpserver.New(s.kernel)
	p := &poller{h: first.Handler(t.Context(), mcpserver.HTTPOptions{Options: s.opt, Token: token}), name: "poller",
		caps: tasksCapability}
	direct := p.call(t, "demo__hold", `{}`).Result.TaskID
	<-s.began
	nested := p.call(t, "execute_tool", `{"name":"demo.hold","params":{}}`).Result.TaskID
	reads := p.call(t, "demo__add", `{"a":1,"b":2}`).Result.TaskID
	close(s.finish)
	p.await(t, reads, "completed")
	p.await(t, direct, "completed")
	p.await(t, nested, "completed")
	strange := func(change func(*mcpserver.Options)) mcpserver.Options {
		o := s.opt
		change(&o)
		return o
	}
	refused := func(when string, p *poller) {
		t.Helper()
		for _, id := range []string{direct, nested} {
			for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
				unknown := p.task(t, method, "nothing")
				if got := p.task(t, method, id); got.Error == nil || got.Error.Code != -32602 ||
					strings.ReplaceAll(got.Error.Message, id, "nothing") != unknown.Error.Message {
					t.Errorf("%s: %s: %+v", when, method, got)
				}
			}
		}
	}
	refused("while its session is open", serve(s.opt, "poller"))
	first.Close()
	for when, o := range map[string]mcpserver.Options{
		"another profile": strange(func(o *mcpserver.Options) { o.Session.Profile = "files" }),
		"another token":   strange(func(o *mcpserver.Options) { o.Session.Requester.Token = "t2" }),
		"another folder":  strange(func(o *mcpserver.Options) { o.Session.Workspace = t.TempDir() }),
		"without the tool": strange(func(o *mcpserver.Options) {
			o.Session.Only = map[string][]string{"filesystem": nil}
		}),
	} {
		refused(when, serve(o, "poller"))
	}
	refused("another client", serve(s.opt, "other"))
	next := serve(s.opt, "poller")
	for _, id := range []string{direct, nested} {
		end := next.await(t, id, "completed")
		if len(end.Result.Result.Content) == 0 || !strings.Contains(end.Result.Result.Content[0].Text, "finished") {
			t.Errorf("%+v", end)
		}
	}
	// What only reads leaves no result: that is said, and no client polls for ever.
	if end := next.task(t, "tasks/get", reads); end.Error != nil || end.Result.Status == "working" ||
		!strings.Contains(end.Result.Result.Content[0].Text, "make the call again") {
		t.Errorf("%+v", end)
	}
}
