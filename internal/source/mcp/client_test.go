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

// client is a client that answers as a test says, and records what it gets.
type client struct {
	about  downstream.ClientInfo
	answer func(ctx context.Context, asked sdk.InputRequestMap) (sdk.InputResponseMap, error)

	mu    sync.Mutex
	asked []sdk.InputRequestMap
	calls [][]string // by which it was found
	said  []string
	lacks []string
}

// able has every capability that servers learn of.
func able() downstream.ClientInfo {
	return downstream.InfoOf(&sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{},
		Sampling: &sdk.SamplingCapabilities{}, RootsV2: &sdk.RootCapabilities{}}, "")
}

func (c *client) options() mcp.Options {
	return mcp.Options{ClientFor: func(calls []string) mcp.Client {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.calls = append(c.calls, slices.Sorted(slices.Values(calls)))
		return c
	}}
}

func (c *client) Info() downstream.ClientInfo { return c.about }

func (c *client) RequestInput(
	ctx context.Context, server string, asked sdk.InputRequestMap,
) (sdk.InputResponseMap, error) {
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

func (c *client) logged() []string {
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
		for _, kind := range []string{"normal", "legacy"} {
			t.Run(c.name+" "+kind, func(t *testing.T) {
				opt := mcp.Options{}
				if c.client != nil {
					opt = c.client.options()
				}
				_, byName := refreshed(t, local(kind), opt)
				r, err := call(t.Context(), byName["ask"], "")
				if got := textOf(t, r, err); got != c.want {
					t.Errorf("it said %q", got)
				}
			})
		}
	}
}

// A question comes with its call, so that it finds its client.
func TestQuestionsTellTheirCall(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"normal", "legacy"} {
		c := &client{about: able(), answer: always(&sdk.ElicitResult{Action: "accept"})}
		_, byName := refreshed(t, local(kind), c.options())
		if _, err := call(t.Context(), byName["ask"], ""); err != nil {
			t.Fatal(err)
		}
		for _, calls := range c.calls {
			if diff := cmp.Diff([]string{"call-1"}, calls); diff != "" {
				t.Errorf("%s: %s", kind, diff)
			}
		}
		form := c.asked[0]
		for key, p := range form {
			if kind == "normal" && key != "q" {
				t.Errorf("the server's own key is q, the client's is %q", key)
			}
			if got := p.(*sdk.ElicitParams).Message; got != "which colour?" {
				t.Errorf("%s: asked %q", kind, got)
			}
		}
	}
}

// A human may take longer than a call may.
func TestElicitationStopsTheClock(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"normal", "legacy"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cfg := local(kind)
			cfg.CallTimeout = time.Second
			blue := always(&sdk.ElicitResult{Action: "accept", Content: map[string]any{"colour": "blue"}})
			slow := func(ctx context.Context, asked sdk.InputRequestMap) (sdk.InputResponseMap, error) {
				select {
				case <-ctx.Done():
					t.Error("the call was given up while a human was asked")
				case <-time.After(2*cfg.CallTimeout + 200*time.Millisecond):
				}
				return blue(ctx, asked)
			}
			c := &client{about: able(), answer: slow}
			_, byName := refreshed(t, cfg, c.options())
			r, err := call(t.Context(), byName["ask"], "")
			if got := textOf(t, r, err); got != "accept blue" {
				t.Errorf("it said %q", got)
			}
		})
	}
}

// Several questions of a server come at once, under its own keys, and the request
// is made again with its own state until it is answered.
func TestQuestionsComeTogether(t *testing.T) {
	t.Parallel()
	c := &client{about: able(), answer: func(_ context.Context, asked sdk.InputRequestMap) (sdk.InputResponseMap, error) {
		answers := sdk.InputResponseMap{"extra": &sdk.ElicitResult{Action: "accept"}}
		for key, p := range asked {
			switch p.(type) {
			case *sdk.ElicitParams:
				answers[key] = &sdk.ElicitResult{Action: "accept", Content: map[string]any{"it": key}}
			case *sdk.CreateMessageWithToolsParams:
				answers[key] = &sdk.CreateMessageWithToolsResult{Role: "assistant", Model: "m",
					Content: []sdk.Content{&sdk.TextContent{Text: "hello"}}}
			case *sdk.ListRootsParams:
				answers[key] = &sdk.ListRootsResult{Roots: []*sdk.Root{{URI: "file:///r"}}}
			}
		}
		return answers, nil
	}}
	s, byName := refreshed(t, local("asking"), c.options())
	r, err := call(t.Context(), byName["several"], "")
	if got := textOf(t, r, err); got != "round 2: name hello file:///r, then colour" {
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
}

// A busy server is asked again, but not for ever.
func TestBusyServers(t *testing.T) {
	t.Parallel()
	_, byName := refreshed(t, local("asking"), (&client{about: able()}).options())
	r, err := call(t.Context(), byName["busy"], `{"times":2}`)
	if got := textOf(t, r, err); got != "at last" {
		t.Errorf("it said %q", got)
	}
	_, err = call(t.Context(), byName["busy"], `{"times":100}`)
	expectError(t, err, tool.Failed, "still wants something first")
}

// Each call announces the capabilities of its own client, and none without a
// client.
func TestCapabilitiesAreTheClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		client *client
		want   string
	}{
		{"able", &client{about: able()}, "elicitation roots sampling"},
		{"forms only",
			&client{about: downstream.InfoOf(&sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{}}, "")},
			"elicitation"},
		{"pages only",
			&client{about: downstream.InfoOf(&sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}}},
				"")}, ""},
		{"nothing", &client{about: downstream.InfoOf(nil, "")}, ""},
		{"nobody", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt := mcp.Options{}
			if c.client != nil {
				opt = c.client.options()
			}
			_, byName := refreshed(t, local("asking"), opt)
			r, err := call(t.Context(), byName["capabilities"], "")
			if got := textOf(t, r, err); got != "can: "+c.want {
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

// A server with the old handshake asks for a model, and gets the client's or an
// error.
func TestSampling(t *testing.T) {
	t.Parallel()
	model := func(_ context.Context, asked sdk.InputRequestMap) (sdk.InputResponseMap, error) {
		answers := sdk.InputResponseMap{}
		for key, p := range asked {
			said := p.(*sdk.CreateMessageWithToolsParams).Messages[0].Content[0].(*sdk.TextContent).Text
			answers[key] = &sdk.CreateMessageWithToolsResult{Role: "assistant", Model: "m",
				Content: []sdk.Content{&sdk.TextContent{Text: "you said " + said}}}
		}
		return answers, nil
	}
	_, byName := refreshed(t, local("old-asking"), (&client{about: able(), answer: model}).options())
	r, err := call(t.Context(), byName["sample"], "")
	if got := textOf(t, r, err); got != "the model: you said hi" {
		t.Errorf("it said %q", got)
	}
	for name, opt := range map[string]mcp.Options{"a client that lends none": (&client{answer: model}).options(),
		"nobody": {}} {
		_, byName := refreshed(t, local("old-asking"), opt)
		r, err := call(t.Context(), byName["sample"], "")
		if err != nil || r.Error == nil || !strings.Contains(r.Error.Message, `no client with the capability "sampling"`) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// Every form that the protocol allows reaches the client unchanged, and so does
// its answer, even if the SDK does not know the form.
func TestFormsAreNotJudged(t *testing.T) {
	t.Parallel()
	c := &client{about: able(), answer: always(&sdk.ElicitResult{Action: "accept",
		Content: map[string]any{"many": []any{"a", "b"}}})}
	_, byName := refreshed(t, local("old-asking"), c.options())
	r, err := call(t.Context(), byName["choose"], "")
	if got := textOf(t, r, err); got != `accept {"many":["a","b"]}` {
		t.Errorf("it said %q", got)
	}
	schema, err := json.Marshal(c.asked[0]["question"].(*sdk.ElicitParams).RequestedSchema)
	if err != nil || !strings.Contains(string(schema),
		`"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}],"type":"string"`) {
		t.Errorf("the form is %s, %v", schema, err)
	}
}

// All logs of a call reach its client before the answer, once a client wants
// logs.
func TestLogsReachTheClient(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"asking", "old-asking"} {
		t.Run(kind, func(t *testing.T) {
			c := &client{about: able()}
			c.about.LogLevel = "info"
			opt := c.options()
			opt.Scrub = func(s string) string { return strings.ReplaceAll(s, "s3cr3t", "***") }
			s, byName := refreshed(t, local(kind), opt)
			s.SetLogLevel(t.Context(), "info")
			for range 20 {
				r, err := call(t.Context(), byName["log"], "")
				if got := textOf(t, r, err); got != "logged" {
					t.Errorf("it said %q", got)
				}
				want := []string{`info actor/own "one ***"`, `error actor/own {"two":2}`}
				if diff := cmp.Diff(want, c.logged()); diff != "" {
					t.Fatal(diff)
				}
				c.mu.Lock()
				c.said = nil
				c.mu.Unlock()
			}
		})
	}
}

// A server gets no log level before a client wants logs, and gets it again when
// it is restarted.
func TestLogLevels(t *testing.T) {
	t.Parallel()
	c := &client{about: able()}
	s, byName := refreshed(t, local("old-asking"), c.options())
	level := func() string {
		r, err := call(t.Context(), byName["level"], "")
		return textOf(t, r, err)
	}
	if got := level(); got != "level " {
		t.Errorf("at first %q", got)
	}
	s.SetLogLevel(t.Context(), "warning")
	s.SetLogLevel(t.Context(), "error") // another client, which wants less
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
	for _, c := range []struct{ kind, pin, want string }{
		{"normal", "", "2026-07-28"}, {"normal", "2025-11-25", "2025-11-25"}, {"normal", "2025-06-18", "2025-06-18"},
		{"legacy", "2025-06-18", "2025-06-18"},
	} {
		cfg := local(c.kind)
		cfg.Protocol = c.pin
		if s, _ := refreshed(t, cfg, mcp.Options{}); s.Status().Protocol != c.want {
			t.Errorf("%s pinned to %q speaks %s", c.kind, c.pin, s.Status().Protocol)
		}
	}
	cfg := local("legacy")
	cfg.Protocol = "2026-07-28"
	expectError(t, server(t, cfg, mcp.Options{}).Refresh(t.Context()), tool.Unavailable,
		"speaks the protocol 2025-11-25", "the app file says 2026-07-28")
	cfg.Protocol = "2020-01-01"
	_, err := open(t, mcp.Options{}).Server(cfg)
	expectError(t, err, tool.Invalid, "2020-01-01", "2026-07-28")
}

// counter counts notifications.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() { c.mu.Lock(); c.n++; c.mu.Unlock() }
func (c *counter) times() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"asking", "old-asking"} {
		t.Run(kind, func(t *testing.T) {
			s, byName := refreshed(t, local(kind), mcp.Options{})
			change := func(uri string) {
				if _, err := call(t.Context(), byName["change"], `{"uri":"`+uri+`"}`); err != nil {
					t.Fatal(err)
				}
			}
			watching := func() string {
				r, err := call(t.Context(), byName["watching"], "")
				return textOf(t, r, err)
			}
			var one, two, other counter
			subscribe := func(uri string, c *counter) func() {
				stop, err := s.Subscribe(t.Context(), uri, c.add)
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
				t.Error("a watcher that stopped was notified, or the other was not")
			}
			// A restarted server is asked again.
			before := two.times()
			if err := s.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the asking again", func() bool { return watching() == "watch://a watch://b" && two.times() > before })
			stopTwo()
			eventually(t, "the last to go", func() bool { return watching() == "watch://b" })
			if other.times() > 1 { // once, because of the restart
				t.Errorf("another resource changed %d times", other.times())
			}
			_, err := s.Subscribe(t.Context(), "watch://refused", one.add)
			if kind == "old-asking" { // the new protocol has no answer to it
				expectError(t, err, tool.Failed, "not that one")
			}
		})
	}
	s, _ := refreshed(t, local("normal"), mcp.Options{})
	_, err := s.Subscribe(t.Context(), "file:///a.txt", func() {})
	expectError(t, err, tool.Invalid, "does not tell of changes")
	if st := s.Status(); st.State != mcp.Running {
		t.Errorf("it is %s", st.State)
	}
}
