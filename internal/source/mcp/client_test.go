//lint:file-ignore SA1019 servers want models, roots and an ear for logs all the same

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp"
	"callgate/internal/source/mcp/downstream"
	"callgate/tool"
)

// client is a guest that says what a test has it say, and keeps what it hears.
type client struct {
	about  downstream.ClientInfo
	answer func(ctx context.Context, asked sdk.InputRequestMap) (sdk.InputResponseMap, error)

	mu    sync.Mutex
	asked []sdk.InputRequestMap
	calls [][]string // by which it was looked for
	said  []string
	lacks []string
}

// able has every capability that is carried.
func able() downstream.ClientInfo {
	return downstream.InfoOf(&sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{}, Sampling: &sdk.SamplingCapabilities{}, RootsV2: &sdk.RootCapabilities{}}, "")
}

func (c *client) options() mcp.Options {
	return mcp.Options{ClientFor: func(_ context.Context, calls []string) mcp.Client {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.calls = append(c.calls, slices.Sorted(slices.Values(calls)))
		return c
	}}
}

func (c *client) Info() downstream.ClientInfo { return c.about }

func (c *client) RequestInput(ctx context.Context, server string, asked sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	c.mu.Lock()
	c.asked = append(c.asked, asked)
	c.mu.Unlock()
	return c.answer(ctx, asked)
}

func (c *client) Log(p *sdk.LoggingMessageParams) {
	data, _ := json.Marshal(p.Data)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, string(p.Level)+" "+p.Logger+" "+string(data))
}

func (c *client) MissingCapability(call string, refusal *jsonrpc.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lacks = append(c.lacks, call+" "+refusal.Message)
}

func (c *client) heard() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.said)
}

// always gives the same answer to every form.
func always(res *sdk.ElicitResult) func(context.Context, sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	return func(_ context.Context, asked sdk.InputRequestMap) (sdk.InputResponseMap, error) {
		answers := sdk.InputResponseMap{}
		for key := range asked {
			answers[key] = res
		}
		return answers, nil
	}
}

func TestElicitation(t *testing.T) {
	t.Parallel()
	red := &sdk.ElicitResult{Action: "accept", Content: map[string]any{"colour": "red"}}
	for _, c := range []struct {
		name   string
		client *client
		want   string
	}{
		{"accept", &client{about: able(), answer: always(red)}, "accept red"},
		{"decline", &client{about: able(), answer: always(&sdk.ElicitResult{Action: "decline"})}, "decline <nil>"},
		{"cancel", &client{about: able(), answer: always(&sdk.ElicitResult{Action: "cancel"})}, "cancel <nil>"},
		{"a client without forms", &client{answer: always(red)}, "decline <nil>"},
		{"nobody to ask", nil, "decline <nil>"},
	} {
		for _, part := range []string{"normal", "legacy"} {
			t.Run(c.name+" "+part, func(t *testing.T) {
				opt := mcp.Options{}
				if c.client != nil {
					opt = c.client.options()
				}
				_, byName := refreshed(t, play(part), opt)
				r, err := call(t.Context(), byName["ask"], "")
				if got := said(t, r, err); got != c.want {
					t.Errorf("it said %q", got)
				}
			})
		}
	}
}

// The call of a question is told, so that it finds its client.
func TestQuestionsTellTheirCall(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"normal", "legacy"} {
		c := &client{about: able(), answer: always(&sdk.ElicitResult{Action: "accept"})}
		_, byName := refreshed(t, play(part), c.options())
		if _, err := call(t.Context(), byName["ask"], ""); err != nil {
			t.Fatal(err)
		}
		for _, calls := range c.calls {
			if diff := cmp.Diff([]string{"call-1"}, calls); diff != "" {
				t.Errorf("%s: %s", part, diff)
			}
		}
		form := c.asked[0]
		for key, p := range form {
			if part == "normal" && key != "q" {
				t.Errorf("the server's own key is q, the client's is %q", key)
			}
			if got := p.(*sdk.ElicitParams).Message; got != "which colour?" {
				t.Errorf("%s: asked %q", part, got)
			}
		}
	}
}

// A human may take longer than a call may.
func TestElicitationStopsTheClock(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"normal", "legacy"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			cfg := play(part)
			cfg.CallTimeout = time.Second
			blue := always(&sdk.ElicitResult{Action: "accept", Content: map[string]any{"colour": "blue"}})
			c := &client{about: able(), answer: func(ctx context.Context, asked sdk.InputRequestMap) (sdk.InputResponseMap, error) {
				select {
				case <-ctx.Done():
					t.Error("the call was given up while a human was asked")
				case <-time.After(2*cfg.CallTimeout + 200*time.Millisecond):
				}
				return blue(ctx, asked)
			}}
			_, byName := refreshed(t, cfg, c.options())
			r, err := call(t.Context(), byName["ask"], "")
			if got := said(t, r, err); got != "accept blue" {
				t.Errorf("it said %q", got)
			}
		})
	}
}

// Several things that a server wants to know come together, under its own keys,
// and it is asked again with its own state until it is content.
func TestQuestionsComeTogether(t *testing.T) {
	t.Parallel()
	c := &client{about: able(), answer: func(_ context.Context, asked sdk.InputRequestMap) (sdk.InputResponseMap, error) {
		answers := sdk.InputResponseMap{"extra": &sdk.ElicitResult{Action: "accept"}}
		for key, p := range asked {
			switch p.(type) {
			case *sdk.ElicitParams:
				answers[key] = &sdk.ElicitResult{Action: "accept", Content: map[string]any{"it": key}}
			case *sdk.CreateMessageWithToolsParams:
				answers[key] = &sdk.CreateMessageWithToolsResult{Role: "assistant", Model: "m", Content: []sdk.Content{&sdk.TextContent{Text: "hello"}}}
			case *sdk.ListRootsParams:
				answers[key] = &sdk.ListRootsResult{Roots: []*sdk.Root{{URI: "file:///r"}}}
			}
		}
		return answers, nil
	}}
	s, byName := refreshed(t, play("curious"), c.options())
	r, err := call(t.Context(), byName["several"], "")
	if got := said(t, r, err); got != "round 2: name hello file:///r, then colour" {
		t.Errorf("it said %q", got)
	}
	var keys []string
	for _, asked := range c.asked {
		var round []string
		for key := range asked {
			round = append(round, key)
		}
		slices.Sort(round)
		keys = append(keys, strings.Join(round, " "))
	}
	if diff := cmp.Diff([]string{"name roots words", "colour"}, keys); diff != "" {
		t.Error(diff)
	}
	if st := s.Status(); st.InFlight != 0 || st.Failures != 0 {
		t.Errorf("status %+v", st)
	}
	// The same through what is read beside tools.
	for _, reading := range []mcp.ReadRequest{{Prompt: "asks"}, {URI: "asks://it"}} {
		raw, err := s.Read(t.Context(), reading)
		if err != nil || !strings.Contains(string(raw), "told name") {
			t.Errorf("%+v gave %s, %v", reading, raw, err)
		}
	}
}

// A server that puts us off is asked again, and not for ever.
func TestBusyServers(t *testing.T) {
	t.Parallel()
	_, byName := refreshed(t, play("curious"), (&client{about: able()}).options())
	r, err := call(t.Context(), byName["busy"], `{"times":2}`)
	if got := said(t, r, err); got != "at last" {
		t.Errorf("it said %q", got)
	}
	_, err = call(t.Context(), byName["busy"], `{"times":100}`)
	expectError(t, err, tool.Failed, "still wants something first")
}

// What one client can do is told with its calls, and nothing is promised for
// nobody.
func TestCapabilitiesAreTheClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		client *client
		want   string
	}{
		{"able", &client{about: able()}, "elicitation roots sampling"},
		{"forms only", &client{about: downstream.InfoOf(&sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{}}, "")}, "elicitation"},
		{"pages only", &client{about: downstream.InfoOf(&sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}}}, "")}, ""},
		{"nothing", &client{about: downstream.InfoOf(nil, "")}, ""},
		{"nobody", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt := mcp.Options{}
			if c.client != nil {
				opt = c.client.options()
			}
			_, byName := refreshed(t, play("curious"), opt)
			r, err := call(t.Context(), byName["capabilities"], "")
			if got := said(t, r, err); got != "can: "+c.want {
				t.Errorf("it said %q", got)
			}
			_, err = call(t.Context(), byName["needs_sampling"], "")
			if strings.Contains(c.want, "sampling") {
				if err != nil {
					t.Error(err)
				}
				return
			}
			expectError(t, err, tool.Failed, "sampling is needed")
			var wire *jsonrpc.Error
			if !errors.As(err, &wire) || wire.Code != sdk.CodeMissingRequiredClientCapabilities {
				t.Errorf("the refusal is %#v", wire)
			}
			if c.client != nil && cmp.Diff([]string{"call-1 sampling is needed"}, c.client.lacks) != "" {
				t.Errorf("the client was told %q", c.client.lacks)
			}
		})
	}
}

// A server of the old handshake asks for a model, and gets the client's or a
// plain no.
func TestSampling(t *testing.T) {
	t.Parallel()
	model := func(_ context.Context, asked sdk.InputRequestMap) (sdk.InputResponseMap, error) {
		answers := sdk.InputResponseMap{}
		for key, p := range asked {
			said := p.(*sdk.CreateMessageWithToolsParams).Messages[0].Content[0].(*sdk.TextContent).Text
			answers[key] = &sdk.CreateMessageWithToolsResult{Role: "assistant", Model: "m", Content: []sdk.Content{&sdk.TextContent{Text: "you said " + said}}}
		}
		return answers, nil
	}
	_, byName := refreshed(t, play("old-curious"), (&client{about: able(), answer: model}).options())
	r, err := call(t.Context(), byName["sample"], "")
	if got := said(t, r, err); got != "the model: you said hi" {
		t.Errorf("it said %q", got)
	}
	for name, opt := range map[string]mcp.Options{"a client that lends none": (&client{answer: model}).options(), "nobody": {}} {
		_, byName := refreshed(t, play("old-curious"), opt)
		r, err := call(t.Context(), byName["sample"], "")
		if err != nil || r.Error == nil || !strings.Contains(r.Error.Message, `no client with the capability "sampling"`) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// Every form that the protocol allows reaches the client, whole, and so does
// what it says there: also those that the SDK does not know.
func TestFormsAreNotJudged(t *testing.T) {
	t.Parallel()
	c := &client{about: able(), answer: always(&sdk.ElicitResult{Action: "accept", Content: map[string]any{"many": []any{"a", "b"}}})}
	_, byName := refreshed(t, play("old-curious"), c.options())
	r, err := call(t.Context(), byName["choose"], "")
	if got := said(t, r, err); got != `accept {"many":["a","b"]}` {
		t.Errorf("it said %q", got)
	}
	schema, err := json.Marshal(c.asked[0]["question"].(*sdk.ElicitParams).RequestedSchema)
	if err != nil || !strings.Contains(string(schema), `"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}],"type":"string"`) {
		t.Errorf("the form is %s, %v", schema, err)
	}
}

// What a server tells of its work reaches the client whose call it is, all of it
// and before the answer, once somebody wants to hear it.
func TestLogsReachTheClient(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"curious", "old-curious"} {
		t.Run(part, func(t *testing.T) {
			c := &client{about: able()}
			c.about.LogLevel = "info"
			opt := c.options()
			opt.Scrub = func(s string) string { return strings.ReplaceAll(s, "s3cr3t", "***") }
			s, byName := refreshed(t, play(part), opt)
			s.SetLogLevel(t.Context(), "info")
			for range 20 {
				r, err := call(t.Context(), byName["log"], "")
				if got := said(t, r, err); got != "logged" {
					t.Errorf("it said %q", got)
				}
				want := []string{`info actor/own "one ***"`, `error actor/own {"two":2}`}
				if diff := cmp.Diff(want, c.heard()); diff != "" {
					t.Fatal(diff)
				}
				c.mu.Lock()
				c.said = nil
				c.mu.Unlock()
			}
		})
	}
}

// A server is told of no level before anybody asks for one, and of that also
// when it is started anew.
func TestLogLevels(t *testing.T) {
	t.Parallel()
	c := &client{about: able()}
	s, byName := refreshed(t, play("old-curious"), c.options())
	level := func() string {
		r, err := call(t.Context(), byName["level"], "")
		return said(t, r, err)
	}
	if got := level(); got != "level " {
		t.Errorf("at first %q", got)
	}
	s.SetLogLevel(t.Context(), "warning")
	s.SetLogLevel(t.Context(), "error") // somebody else, who wants less
	if got := level(); got != "level warning" {
		t.Errorf("then %q", got)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := level(); got != "level warning" {
		t.Errorf("started again: %q", got)
	}
}

func TestProtocolPin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ part, pin, want string }{
		{"normal", "", "2026-07-28"}, {"normal", "2025-11-25", "2025-11-25"}, {"normal", "2025-06-18", "2025-06-18"}, {"legacy", "2025-06-18", "2025-06-18"},
	} {
		cfg := play(c.part)
		cfg.Protocol = c.pin
		if s, _ := refreshed(t, cfg, mcp.Options{}); s.Status().Protocol != c.want {
			t.Errorf("%s pinned to %q speaks %s", c.part, c.pin, s.Status().Protocol)
		}
	}
	cfg := play("legacy")
	cfg.Protocol = "2026-07-28"
	expectError(t, server(t, cfg, mcp.Options{}).Refresh(t.Context()), tool.Unavailable, "speaks the protocol 2025-11-25", "the app file says 2026-07-28")
	cfg.Protocol = "2020-01-01"
	_, err := open(t, mcp.Options{}).Server(cfg)
	expectError(t, err, tool.Invalid, "2020-01-01", "2026-07-28")
}

// told counts what a subscriber is told.
type told struct {
	mu sync.Mutex
	n  int
}

func (c *told) tell() { c.mu.Lock(); c.n++; c.mu.Unlock() }
func (c *told) times() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"curious", "old-curious"} {
		t.Run(part, func(t *testing.T) {
			s, byName := refreshed(t, play(part), mcp.Options{})
			change := func(uri string) {
				if _, err := call(t.Context(), byName["change"], `{"uri":"`+uri+`"}`); err != nil {
					t.Fatal(err)
				}
			}
			watching := func() string {
				r, err := call(t.Context(), byName["watching"], "")
				return said(t, r, err)
			}
			var one, two, other told
			subscribe := func(uri string, c *told) func() {
				stop, err := s.Subscribe(t.Context(), uri, c.tell)
				if err != nil {
					t.Fatal(err)
				}
				return stop
			}
			stopOne, stopTwo := subscribe("watch://a", &one), subscribe("watch://a", &two)
			defer subscribe("watch://b", &other)()
			eventually(t, "the server's word", func() bool { return watching() == "watch://a watch://b" })
			change("watch://a")
			eventually(t, "the change", func() bool { return one.times() == 1 && two.times() == 1 })
			stopOne()
			eventually(t, "the first to go", func() bool { change("watch://a"); return two.times() > 1 })
			if one.times() > 1 && watching() == "" {
				t.Error("who has gone is told, or the other is not")
			}
			// A server that was started again is asked again.
			before := two.times()
			if err := s.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the asking again", func() bool { return watching() == "watch://a watch://b" && two.times() > before })
			stopTwo()
			eventually(t, "the last to go", func() bool { return watching() == "watch://b" })
			if other.times() > 1 { // once, for having been started again
				t.Errorf("another resource changed %d times", other.times())
			}
			_, err := s.Subscribe(t.Context(), "watch://refused", one.tell)
			if part == "old-curious" { // the new protocol has no answer to it
				expectError(t, err, tool.Failed, "not that one")
			}
		})
	}
	s, _ := refreshed(t, play("normal"), mcp.Options{})
	_, err := s.Subscribe(t.Context(), "file:///a.txt", func() {})
	expectError(t, err, tool.Invalid, "does not tell of changes")
	if st := s.Status(); st.State != mcp.Running {
		t.Errorf("it is %s", st.State)
	}
}

// What is read beside tools is told, and what cannot be told is not handed out.
func TestReadingsAreTold(t *testing.T) {
	t.Parallel()
	var got []string
	fine := true
	s, _ := refreshed(t, play("normal"), mcp.Options{OnRead: func(_ *mcp.Server, r mcp.ReadRequest, end mcp.ReadResult) error {
		got = append(got, strings.TrimSpace(r.URI+" "+r.Prompt+" "+string(tool.KindOf(end.Err))))
		if !fine {
			return tool.Errorf("test", tool.Unavailable, "no room for it")
		}
		return nil
	}})
	if raw, err := s.ReadResource(t.Context(), "file:///a.txt"); err != nil || !strings.Contains(string(raw), "resource text") {
		t.Errorf("%s, %v", raw, err)
	}
	if raw, err := s.GetPrompt(t.Context(), "greet", map[string]string{"who": "Ada"}); err != nil || !strings.Contains(string(raw), "hello Ada") {
		t.Errorf("%s, %v", raw, err)
	}
	_, err := s.ReadResource(t.Context(), "file:///none")
	expectError(t, err, tool.Failed)
	fine = false
	_, err = s.ReadResource(t.Context(), "file:///a.txt")
	expectError(t, err, tool.Unavailable, "no room for it")
	if diff := cmp.Diff([]string{"file:///a.txt", "greet", "file:///none  failed", "file:///a.txt"}, got); diff != "" {
		t.Error(diff)
	}
}
