package mcpserver_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/gate"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/toolview"
	"callgate/tool"
)

func toolList(t testing.TB, c *sdk.ClientSession) []*sdk.Tool {
	t.Helper()
	res, err := c.ListTools(t.Context(), nil)
	ok(t, err)
	return res.Tools
}

func TestToolsAreTheSurface(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		for _, mode := range []string{"", "compact_direct", "discovery"} {
			s := newFixture(t, kernel.Config{})
			s.opt.Mode = mode
			c := s.connect(t, w, "tester", nil)
			first := toolList(t, c)
			own, err := s.kernel.OpenSession(t.Context(), s.opt.Session)
			ok(t, err)
			plan, err := own.View().Surface(t.Context(), toolview.SurfaceConfig{ForMCP: true, Client: "tester", Mode: mode})
			ok(t, err)
			type shown struct{ Name, Description, Schema string }
			var want, got []shown
			for _, e := range plan.Shown {
				want = append(want, shown{e.Name, e.Description, oneWay(t, e.Schema)})
			}
			for _, e := range first {
				got = append(got, shown{e.Name, e.Description, oneWay(t, e.InputSchema)})
			}
			if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
				t.Errorf("%q (-surface +list):\n%s", mode, diff)
			}
			call(t, c, "demo.add", `{"a":1,"b":2}`)
			ok(t, s.kernel.Register("late", define("late.comer", tool.Runtime{}, `{"type":"object"}`, s.slow)))
			if diff := cmp.Diff(first, toolList(t, c)); diff != "" {
				t.Errorf("%q: the list changed:\n%s", mode, diff)
			}
		}
	})
}

func oneWay(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	ok(t, err)
	var value any
	ok(t, json.Unmarshal(data, &value))
	data, err = json.Marshal(value)
	ok(t, err)
	return string(data)
}

func TestAnnotations(t *testing.T) {
	network := tool.Runtime{Risk: tool.Low, SideEffect: tool.Read, Network: true}
	s := newFixture(t, kernel.Config{}, define("net.fetch", network, `{"type":"object"}`, nil2))
	hints := map[string]string{}
	for _, mode := range []string{"direct", "discovery"} {
		s.opt.Mode = mode
		for _, tl := range toolList(t, s.connect(t, ways[0], "tester", nil)) {
			a := tl.Annotations
			var said []string
			for name, yes := range map[string]bool{
				"reads": a.ReadOnlyHint, "destroys": *a.DestructiveHint,
				"idempotent": a.IdempotentHint, "open": *a.OpenWorldHint,
			} {
				if yes {
					said = append(said, name)
				}
			}
			slices.Sort(said)
			hints[tl.Name] = strings.Join(said, " ")
			if tl.Title == "" {
				t.Errorf("%s has no title", tl.Name)
			}
		}
	}
	for name, want := range map[string]string{
		"demo__add": "idempotent reads", "demo__wipe": "destroys", "demo__hold": "", "net__fetch": "open reads",
		"search_tools": "idempotent reads", "execute_tool": "destroys open",
	} {
		if got, there := hints[name]; got != want || !there {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func nil2(context.Context, tool.Call, tool.Grant) (*tool.Result, error) { return tool.OK("", nil) }

func TestCalls(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		s := newFixture(t, kernel.Config{})
		s.opt.Mode = "direct" // whatever else ships with the kernel
		c := s.connect(t, w, "tester", nil)
		toolList(t, c)
		for _, name := range []string{"demo__add", "demo.add", "demo::add"} {
			res, said := call(t, c, name, `{"a":"1","b":2}`)
			if res.IsError || !strings.Contains(said, `{"sum":3}`) || !strings.Contains(said, "note: ") {
				t.Errorf("%s with a text for a number: %+v %s", name, res, said)
			}
			// Many clients show their model nothing but the data: what is said
			// beside promised data is among them, and data that were not promised
			// are not given beside anything.
			data := oneWay(t, res.StructuredContent)
			listed := name == "demo__add"
			if listed != containsAll(data, `"sum":3`, "taken as the number 1") {
				t.Errorf("%s gives the data %s", name, data)
			}
		}
		res, said := call(t, c, "demo.ad", `{"a":1,"b":2}`)
		if !res.IsError || !strings.Contains(said, "did you mean demo__add") {
			t.Errorf("a misspelt name: %s", said)
		}
		res, said = call(t, c, "demo.add", `{"a":"many"}`)
		if !res.IsError || !containsAll(said, "invalid: ", "\n- b: ", "schema: {") {
			t.Errorf("wrong arguments: %s", said)
		}
		if _, err := c.ListTools(t.Context(), &sdk.ListToolsParams{Cursor: "nowhere"}); err == nil {
			t.Error("a cursor that was made up was followed")
		}
	})
}

func TestLargeResultsAreResources(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		s := newFixture(t, kernel.Config{})
		c := s.connect(t, w, "tester", nil)
		res, said := call(t, c, "demo.large", `{}`)
		var link *sdk.ResourceLink
		images := 0
		for _, item := range res.Content {
			switch item := item.(type) {
			case *sdk.ResourceLink:
				link = item
			case *sdk.ImageContent:
				images++
			}
		}
		if link == nil || images != 1 || len(said) > 64<<10 {
			t.Fatalf("%d images, link %v, %d bytes of text", images, link, len(said))
		}
		read, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: link.URI})
		ok(t, err)
		if n := strings.Count(string(read.Contents[0].Blob)+read.Contents[0].Text, "much "); n != 20_000 {
			t.Errorf("the whole has %d words", n)
		}
		list, err := c.ListResources(t.Context(), nil)
		ok(t, err)
		if !slices.ContainsFunc(list.Resources, func(r *sdk.Resource) bool { return r.URI == link.URI }) {
			t.Error("the artifact is not listed")
		}
		read, err = c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "callgate://journal/recent"})
		ok(t, err)
		var records []journal.Record
		ok(t, json.Unmarshal([]byte(read.Contents[0].Text), &records))
		if len(records) != 1 || records[0].Principal.Agent != "tester" {
			t.Errorf("the journal: %+v", records)
		}
		ref, err := s.kernel.Artifacts.Put(t.Context(), []byte("another session's"))
		ok(t, err)
		for _, uri := range []string{
			"callgate://artifact/" + ref, "callgate://nothing", "callgate://mcp/none/x", "file:///etc/passwd",
		} {
			if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
				t.Errorf("%s was read", uri)
			}
		}
	})
}

func TestCancelledCallEndsOnRecord(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		s := newFixture(t, kernel.Config{})
		c := s.connect(t, w, "tester", nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-s.began
			cancel()
		}()
		if _, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "demo.slow"}); err == nil {
			t.Fatal("a cancelled call was answered")
		}
		s.endsCancelled(t)
	})
}

func TestProgress(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		s := newFixture(t, kernel.Config{})
		close(s.finish)
		sent := make(chan *sdk.ProgressNotificationParams, 8)
		c := s.connect(t, w, "tester", progressTo(sent))
		params := &sdk.CallToolParams{Name: "demo.slow"}
		params.SetProgressToken("p1")
		res, err := c.CallTool(t.Context(), params)
		ok(t, err)
		if res.IsError {
			t.Fatal(texts(res))
		}
		said := ""
		for last := 0.0; !strings.Contains(said, "nearly there"); {
			p := <-sent
			if p.Progress <= last || p.ProgressToken != "p1" {
				t.Errorf("progress %v after %v for %v", p.Progress, last, p.ProgressToken)
			}
			last = p.Progress
			said += p.Message
		}
		if !strings.Contains(said, "on the way") {
			t.Errorf("got %q", said)
		}
	})
}

func TestClientsGo(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	ours, theirs := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(t.Context(), theirs, s.opt) }()
	c, err := dial(t, ours, "")
	ok(t, err)
	go c.CallTool(t.Context(), &sdk.CallToolParams{Name: "demo.slow"})
	<-s.began
	if n := s.kernel.Sessions.Len(); n != 1 {
		t.Errorf("%d sessions with one client", n)
	}
	ours.Close() // in the middle of a call
	<-served
	if n, calls := s.kernel.Sessions.Len(), s.kernel.Sessions.Calls(); n != 0 || calls != 0 {
		t.Errorf("%d sessions, %d calls after the client has gone", n, calls)
	}
}

// A connection over HTTP ends with a DELETE, also in the middle of a call.
func TestConnectionsEnd(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	c := s.connect(t, way{http: true, version: old}, "tester", nil)
	over := make(chan error, 1)
	go func() {
		_, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "demo.slow"})
		over <- err
	}()
	<-s.began
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.url, nil)
	ok(t, err)
	r.Header.Set("Mcp-Session-Id", c.ID())
	res, err := (&http.Client{Transport: bearer{}}).Do(r)
	ok(t, err)
	if res.Body.Close(); res.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE gives %s", res.Status)
	}
	s.endsCancelled(t)
	<-over
}

// endsCancelled waits until the slow call has ended on record.
func (s *fixture) endsCancelled(t *testing.T) {
	t.Helper()
	for r, err := range s.kernel.Journal.Follow(t.Context(), 0) {
		ok(t, err)
		if r.Kind == journal.Ended && r.Name == "demo.slow" {
			if r.End.Error != tool.Cancelled {
				t.Errorf("it ended as %s", r.End.Error)
			}
			return
		}
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	ours, theirs := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(ctx, theirs, s.opt) }()
	c, err := dial(t, ours, "")
	ok(t, err)
	go c.CallTool(t.Context(), &sdk.CallToolParams{Name: "demo.slow"})
	<-s.began
	cancel()
	if err := <-served; err != nil || s.kernel.Sessions.Len() != 0 {
		t.Errorf("%v, %d sessions", err, s.kernel.Sessions.Len())
	}
}

func TestClientsSeeWhoHoldsALock(t *testing.T) {
	s := newFixture(t, kernel.Config{Limits: gate.Limits{LockWait: time.Millisecond}})
	first, second := s.connect(t, ways[0], "first-agent", nil), s.connect(t, ways[3], "second-agent", nil)
	held := make(chan *sdk.CallToolResult, 1)
	go func() {
		res, _ := first.CallTool(t.Context(), &sdk.CallToolParams{Name: "demo.hold"})
		held <- res
	}()
	<-s.began
	res, said := call(t, second, "demo.hold", `{}`)
	if !res.IsError || !strings.Contains(said, "busy: ") || !strings.Contains(said, "first-agent") {
		t.Errorf("the second gets: %s", said)
	}
	close(s.finish)
	if res := <-held; res == nil || res.IsError {
		t.Errorf("the first: %+v", res)
	}
}

// An app file that cannot be read is an error when the client introduces itself.
func TestBadAppFile(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.opt.Session.AppFile = s.opt.Session.Workspace + "/nowhere.yaml"
	for _, version := range []string{old, ""} {
		ours, theirs := net.Pipe()
		s.serves.Go(func() { _ = s.server.Serve(context.Background(), theirs, s.opt) })
		_, err := dial(t, ours, version)
		if err == nil || !strings.Contains(err.Error(), "nowhere.yaml") {
			t.Errorf("version %q: %v", version, err)
		}
		ours.Close()
	}
}

// A session that lay idle for so long that the kernel closed it is opened
// again, and the client is shown what it was shown before.
func TestForgottenSessionsAreOpenedAgain(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		s := newFixture(t, kernel.Config{})
		c := s.connect(t, w, "tester", nil)
		first := toolList(t, c)
		call(t, c, "demo.add", `{"a":1,"b":2}`)
		ok(t, s.kernel.Journal.Flush(t.Context()))
		list, err := s.kernel.Journal.Read(t.Context(), journal.Query{Kind: journal.Ended})
		ok(t, err)
		session, err := s.kernel.Sessions.Get(list[0].Principal.Session)
		ok(t, err)
		session.Close()
		if res, said := call(t, c, "demo.add", `{"a":1,"b":2}`); res.IsError {
			t.Errorf("said %s", said)
		}
		if diff := cmp.Diff(first, toolList(t, c)); diff != "" {
			t.Errorf("the list changed:\n%s", diff)
		}
	})
}
