//lint:file-ignore SA1019 servers still use models, roots and logs

package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/session"
	upstream "callgate/internal/source/mcp/downstream"
	"callgate/tool"
)

// rich is a server of an app file, with what it has beside what all have.
func rich(name, more string) string {
	return name + ": {env: {" + serverVar + ": rich, WHO: " + name + "}" + more + "}"
}

// fullClient is a client with all capabilities: a human, a model, roots and logs.
type fullClient struct {
	human
	mu      sync.Mutex
	logs    []string
	updated chan string
}

func (l *fullClient) options() *sdk.ClientOptions {
	o := l.human.options()
	o.Capabilities = &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{}}
	o.CreateMessageHandler = func(_ context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
		text := "you said " + r.Params.Messages[0].Content.(*sdk.TextContent).Text
		return &sdk.CreateMessageResult{Role: "assistant", Model: "m", Content: &sdk.TextContent{Text: text}}, nil
	}
	o.LoggingMessageHandler = func(_ context.Context, r *sdk.LoggingMessageRequest) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.logs = append(l.logs, r.Params.Logger+": "+r.Params.Data.(string))
	}
	l.updated = make(chan string, 100)
	o.ResourceUpdatedHandler = func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
		l.updated <- r.Params.URI
	}
	return o
}

// Bare names: names and addresses as the servers give them, where only one has it.
func TestBareNames(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addServers(t, "    deny: [{module: mcp_hidden}]\n",
		`one: {env: {`+serverVar+`: rich, WHO: one, TOOLS: "alone both read getThing search_tools", `+
			`PROMPTS: "mine two__greet", RESOURCES: "x://one x://both callgate://journal/recent"}}`,
		`two: {env: {`+serverVar+`: rich, WHO: two, TOOLS: "both", PROMPTS: "greet", RESOURCES: "x://two x://both"}}`,
		`hidden: {env: {`+serverVar+`: rich, WHO: hidden, RESOURCES: "x://hidden"}}`)
	s.opt.Mode = "direct+bare" // as the bridge says it
	each(t, func(t *testing.T, w way) {
		c := s.connect(t, w, "tester", nil)
		var names []string
		for _, tl := range toolList(t, c) {
			names = append(names, tl.Name)
		}
		for _, want := range []string{
			"alone", "getThing", "mcp_one__both", "mcp_two__both", "mcp_one__search_tools",
			"demo__add", "filesystem__read", "mcp_one__read",
		} {
			if !slices.Contains(names, want) {
				t.Errorf("there is no %s among %v", want, names)
			}
		}
		if slices.Contains(names, "read") {
			t.Error("a server's tool is shown by a name of a built-in one")
		}
		for _, name := range []string{"read", "Read", "READ", "filesystem_read"} {
			if _, said := call(t, c, name, `{}`); strings.Contains(said, "one did") {
				t.Errorf("%s, which is a built-in tool's name, says %q", name, said)
			}
		}
		for name, want := range map[string]string{
			"alone": "one did alone", "getThing": "one did getThing", "mcp_one__read": "one did read", "mcp_one__both": "one did both",
			"mcp_two.both": "two did both", "mcp_one.alone": "one did alone", "mcp_one__alone": "one did alone",
		} {
			if _, said := call(t, c, name, `{}`); !strings.HasPrefix(said, want) {
				t.Errorf("%s says %q", name, said)
			}
		}
		prompts, err := c.ListPrompts(t.Context(), nil)
		ok(t, err)
		names = nil
		for _, p := range prompts.Prompts {
			names = append(names, p.Name)
		}
		if diff := cmp.Diff([]string{
			"greet", "mine", "one__asks", "one__shared", "one__two__greet", "two__asks", "two__shared",
		}, slices.Sorted(slices.Values(names))); diff != "" {
			t.Error(diff)
		}
		for name, want := range map[string]string{
			"mine": "one says mine", "one__mine": "one says mine", "two__shared": "two says shared",
			"two__greet": "two says greet", "one__two__greet": "one says two__greet",
		} {
			got, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: name})
			if err != nil || got.Messages[0].Content.(*sdk.TextContent).Text != want {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		resources, err := c.ListResources(t.Context(), nil)
		ok(t, err)
		names = nil
		for _, r := range resources.Resources {
			names = append(names, r.URI)
		}
		if diff := cmp.Diff([]string{
			"asks://one", "asks://two", "callgate://journal/recent",
			"callgate://mcp/one/callgate://journal/recent", "callgate://mcp/one/watch://both",
			"callgate://mcp/one/x://both", "callgate://mcp/two/watch://both", "callgate://mcp/two/x://both",
			"x://one", "x://two",
		}, slices.Sorted(slices.Values(names))); diff != "" {
			t.Error(diff)
		}
		for uri, want := range map[string]string{
			"x://one": "one has x://one", "one://of/a/template": "one has one://of/a/template",
			"callgate://mcp/two/x://both": "two has x://both", "callgate://mcp/one/x://one": "one has x://one",
		} {
			got, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil || got.Contents[0].Text != want || got.Contents[0].URI != uri {
				t.Errorf("%s: %+v, %v", uri, got, err)
			}
		}
		for _, uri := range []string{
			"x://both", "x://hidden", "hidden://x", "x://nowhere", "callgate://mcp/hidden/x://hidden",
		} {
			var e *jsonrpc.Error
			got, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if !errors.As(err, &e) || e.Code != jsonrpc.CodeInvalidParams {
				t.Errorf("%s: %+v, %v", uri, got, err)
			}
		}
	})
}

// Content keeps its type: audio and embedded resources, too.
func TestContentIsCarried(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addServers(t, "", rich("one", ""))
	each(t, func(t *testing.T, w way) {
		res, _ := call(t, s.connect(t, w, "tester", nil), "mcp_one.contents", `{}`)
		var got []string
		for _, c := range res.Content {
			switch c := c.(type) {
			case *sdk.TextContent:
				got = append(got, "text "+c.Text)
			case *sdk.AudioContent:
				got = append(got, "audio "+c.MIMEType+" "+string(c.Data))
			case *sdk.EmbeddedResource:
				got = append(got, "resource "+c.Resource.URI+" "+c.Resource.MIMEType+" "+c.Resource.Text+string(c.Resource.Blob))
			case *sdk.ResourceLink: // to what is kept
			}
		}
		want := []string{
			"text words", "audio audio/wav wav", "resource note://x text/plain a note",
			"resource zip://x application/zip zip",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// raw calls a tool once, whatever it wants to know.
func raw(
	t testing.TB, c *sdk.ClientSession, name string, answers sdk.InputResponseMap, state string,
) (*sdk.CallToolResult, error) {
	t.Helper()
	return c.CallTool(t.Context(), &sdk.CallToolParams{
		Name: name, Arguments: json.RawMessage(`{}`), InputResponses: answers, RequestState: state,
	})
}

func keys(m sdk.InputRequestMap) string {
	var list []string
	for key := range m {
		list = append(list, key)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// handless is a client that leaves it to the test to answer.
func handless() *sdk.ClientOptions {
	o := (&fullClient{}).options()
	o.MultiRoundTrip = &sdk.MultiRoundTripOptions{Disabled: true}
	return o
}

// A requestState resumes a call once, and a made-up one is refused.
func TestRequestState(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addServers(t, "", rich("one", ""))
	for _, w := range []way{ways[1], ways[3]} {
		t.Run(w.name, func(t *testing.T) {
			c := s.connect(t, w, "tester", handless())
			accept := func(key, it string) sdk.InputResponseMap {
				return sdk.InputResponseMap{key: &sdk.ElicitResult{Action: "accept", Content: map[string]any{"it": it}}}
			}
			first, err := raw(t, c, "mcp_one.twice", nil, "")
			ok(t, err)
			if !first.NeedsInput() || keys(first.InputRequests) != "one" || first.RequestState == "" {
				t.Fatalf("first %+v", first)
			}
			refused := func(why, name, state string) {
				t.Helper()
				var e *jsonrpc.Error
				got, err := raw(t, c, name, accept("one", "a"), state)
				if !errors.As(err, &e) || e.Code != jsonrpc.CodeInvalidParams ||
					!strings.Contains(e.Message, "requestState") {
					t.Errorf("%s: %+v, %v", why, got, err)
				}
			}
			refused("tampered with", "mcp_one.twice", first.RequestState+"-TAMPERED")
			refused("of another call", "mcp_one.several", first.RequestState)
			second, err := raw(t, c, "mcp_one.twice", accept("one", "a"), first.RequestState)
			ok(t, err)
			if keys(second.InputRequests) != "two" || second.RequestState == first.RequestState {
				t.Fatalf("second %+v", second)
			}
			refused("used before", "mcp_one.twice", first.RequestState)
			// A call like it that is made meanwhile is another call.
			other, err := raw(t, c, "mcp_one.twice", nil, "")
			ok(t, err)
			if keys(other.InputRequests) != "one" {
				t.Errorf("another call %+v", other)
			}
			last, err := raw(t, c, "mcp_one.twice", accept("two", "b"), second.RequestState)
			ok(t, err)
			if texts(last) != "told b\n" {
				t.Errorf("last %+v", last)
			}
			refused("of what has ended", "mcp_one.twice", second.RequestState)
		})
	}
}

// M, S: what a server wants to know comes together, under its own keys, from the
// client's human, model and roots, and whatever protocol the two of them speak.
func TestQuestionsTogether(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addServers(t, "", rich("one", ""), rich("old", `, protocol: "2025-11-25"`))
	each(t, func(t *testing.T, w way) {
		l := &fullClient{human: human{answers: []sdk.ElicitResult{says("accept", "it", "Ada")}}}
		c := s.connectWith(t, w, "tester", l.options(), func(c *sdk.Client) { c.AddRoots(&sdk.Root{URI: "file:///here"}) })
		_, said := call(t, c, "mcp_one.several", `{}`)
		if !strings.HasPrefix(said, "Ada, you said hi, file:///here") || len(l.saw) != 1 {
			t.Errorf("said %s", said)
		}
		if _, said := call(t, c, "mcp_old.sample", `{}`); !strings.HasPrefix(said, "the model: you said hi") {
			t.Errorf("said %s", said)
		}
		plain := s.connect(t, w, "plain", (&human{answers: []sdk.ElicitResult{says("accept", "it", "Ada")}}).options())
		for _, name := range []string{"mcp_one.several", "mcp_old.sample"} {
			if res, said := call(t, plain, name, `{}`); !res.IsError || !strings.Contains(said, "with the capability") {
				t.Errorf("%s without a model: %s", name, said)
			}
		}
		if w.version == old {
			return
		}
		got, err := raw(t, s.connect(t, w, "handless", handless()), "mcp_one.several", nil, "")
		if err != nil || keys(got.InputRequests) != "name roots words" {
			t.Errorf("asked for %+v, %v", got, err)
		}
	})
}

// A form that the SDK does not know is carried both ways; see also the tests
// of where servers are reached.
func TestFormsOfAllKinds(t *testing.T) {
	for _, w := range []way{ways[0], ways[2]} {
		t.Run(w.name, func(t *testing.T) {
			var s *fixture
			form := json.RawMessage(`{"properties":{"many":{"items":{"anyOf":[{"const":"a","title":"A"}],` +
				`"type":"string"},"type":"array"}},"type":"object"}`)
			s = newFixture(t, kernel.Config{}, chooser(&s, form))
			var saw string
			opt := &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				return nil, errors.New("not here")
			}}
			client := s.connectWith(t, w, "tester", opt, func(c *sdk.Client) {
				c.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
					return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
						if r, is := req.(*sdk.ElicitRequest); is {
							saw = oneWay(t, r.Params.RequestedSchema)
							return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"many": []any{"a"}}}, nil
						}
						return next(ctx, method, req)
					}
				})
			})
			if _, said := call(t, client, "demo.choose", `{}`); !strings.Contains(said, `{"many":["a"]}`) {
				t.Errorf("said %s", said)
			}
			if saw != oneWay(t, form) {
				t.Errorf("the form was %s", saw)
			}
		})
	}
}

// chooser is a tool whose server asks with a form.
func chooser(s **fixture, form json.RawMessage) *tool.Tool {
	return define("demo.choose", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}, `{"type":"object"}`,
		func(ctx context.Context, c tool.Call, _ tool.Grant) (*tool.Result, error) {
			to := (*s).kernel.Clients.ClientOf([]string{c.ID})
			answers, err := upstream.Forward(ctx, to, "chooser", sdk.InputRequestMap{
				"q": &sdk.ElicitParams{Message: "which?", RequestedSchema: form},
			})
			if err != nil {
				return nil, err
			}
			return tool.OK("chosen", answers["q"].(*sdk.ElicitResult).Content)
		})
}

// A client learns that a server needs a capability that it does not have.
func TestMissingCapability(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addServers(t, "", rich("one", ""))
	each(t, func(t *testing.T, w way) {
		_, said := call(t, s.connect(t, w, "able", (&fullClient{}).options()), "mcp_one.needy", `{}`)
		if !strings.HasPrefix(said, "fine") {
			t.Errorf("with a model: %s", said)
		}
		c := s.connect(t, w, "plain", nil)
		res, err := raw(t, c, "mcp_one.needy", nil, "")
		if w.version == old { // which has no such error
			ok(t, err)
			if !res.IsError || !strings.Contains(texts(res), "lend me your model") {
				t.Errorf("the result is %s", texts(res))
			}
			return
		}
		var e *jsonrpc.Error
		if !errors.As(err, &e) || e.Code != sdk.CodeMissingRequiredClientCapabilities ||
			e.Message != "lend me your model" || !strings.Contains(string(e.Data), "sampling") {
			t.Errorf("the error is %+v of %v", e, err)
		}
		// Through another tool as well.
		_, err = c.CallTool(t.Context(), &sdk.CallToolParams{
			Name: "execute_tool", Arguments: json.RawMessage(`{"name":"mcp_one.needy","params":{}}`),
		})
		if !errors.As(err, &e) {
			t.Errorf("through another tool: %v", err)
		}
	})
}

// TestLogs passes logs of servers on, from the level on that the client wants.
func TestLogs(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addServers(t, "", rich("one", ""), rich("old", `, protocol: "2025-11-25"`))
	for _, w := range []way{ways[0], ways[2]} {
		t.Run(w.name, func(t *testing.T) {
			l, silent := &fullClient{}, &fullClient{}
			c, other := s.connect(t, w, "tester", l.options()), s.connect(t, w, "other", silent.options())
			ok(t, c.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "info"}))
			for _, name := range []string{"mcp_one.log", "mcp_old.log"} {
				call(t, c, name, `{}`)
				call(t, other, name, `{}`)
			}
			eventually(t, "the logs", func() bool { l.mu.Lock(); defer l.mu.Unlock(); return len(l.logs) >= 4 })
			if diff := cmp.Diff([]string{"one: at info", "one: at error", "old: at info", "old: at error"}, l.logs); diff != "" {
				t.Error(diff)
			}
			if len(silent.logs) != 0 {
				t.Errorf("a client that wants no logs got %v", silent.logs)
			}
		})
	}
}

// M2: what is read beside tools may ask, too.
func TestReadingsAsk(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addServers(t, "", rich("one", ""), rich("old", `, protocol: "2025-11-25"`))
	each(t, func(t *testing.T, w way) {
		for _, server := range []string{"one", "old"} {
			h := &human{answers: []sdk.ElicitResult{says("accept", "it", "Ada"), says("accept", "it", "Bea")}}
			c := s.connect(t, w, "tester", h.options())
			prompt, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: server + "__asks"})
			if err != nil || prompt.Messages[0].Content.(*sdk.TextContent).Text != "told Ada" {
				t.Errorf("%s: prompt %+v, %v", server, prompt, err)
			}
			forms := 1
			if server == "one" { // the SDK knows no resources that ask in the old protocol
				read, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "callgate://mcp/one/asks://one"})
				if err != nil || read.Contents[0].Text != "told Bea" {
					t.Errorf("resource %+v, %v", read, err)
				}
				forms++
			}
			if len(h.saw) != forms || !strings.Contains(h.saw[0].Message, "The MCP server "+server+" asks: name?") {
				t.Errorf("%s: saw %+v", server, h.saw)
			}
		}
	})
}

// A client that subscribed to a resource is notified of its changes until it leaves,
// and no other client is.
func TestSubscribe(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addServers(t, "", rich("one", ""), rich("old", `, protocol: "2025-11-25"`))
	each(t, func(t *testing.T, w way) {
		for _, server := range []string{"one", "old"} {
			uri := "callgate://mcp/" + server + "/watch://both"
			l, other := &fullClient{}, &fullClient{}
			c, _ := s.connect(t, w, "tester", l.options()), s.connect(t, w, "other", other.options())
			ok(t, c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}))
			change := func() { call(t, c, "mcp_"+server+".change", `{}`) }
			eventually(t, "the notification", func() bool { change(); return len(l.updated) > 0 })
			if got := <-l.updated; got != uri || len(other.updated) != 0 {
				t.Errorf("notified of %s, and the other client %d times", got, len(other.updated))
			}
			ok(t, c.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: uri}))
			watched := func() int { return s.watched(t, server) }
			eventually(t, "the end of the subscription", func() bool { return watched() == 0 })
			// A client that goes takes its wishes along.
			ok(t, c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}))
			eventually(t, "the subscription", func() bool { return watched() == 1 })
			ok(t, c.Close())
			eventually(t, "the end with the client", func() bool { return watched() == 0 })
		}
		c := s.connect(t, ways[0], "tester", nil)
		const accepted = "callgate://mcp/one/nothing://here/at/all" // a server accepts what it likes
		for _, uri := range []string{"callgate://journal/recent", accepted, "watch://both"} {
			err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri})
			if err == nil && uri != accepted {
				t.Errorf("%s can be watched", uri)
			}
		}
	})
}

// watched is how many subscriptions a server has.
func (s *fixture) watched(t testing.TB, server string) int {
	t.Helper()
	own, err := s.kernel.OpenSession(t.Context(), s.opt.Session)
	ok(t, err)
	defer own.Close()
	r := own.Call(t.Context(), session.CallRequest{Name: "mcp_" + server + ".watched", Args: nil})
	n, err := strconv.Atoi(r.Summary)
	ok(t, err)
	return n
}

// What is read of servers beside tools is on record, and what the rules refuse.
func TestReadingsAreOnRecord(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addServers(t, "    deny: [{module: mcp_two}]\n", rich("one", ""), rich("two", ""))
	c := s.connect(t, ways[0], "tester", nil)
	_, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "callgate://mcp/one/watch://both"})
	ok(t, err)
	if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "callgate://mcp/one/x://none"}); err == nil {
		t.Error("what is not there was read")
	}
	_, err = c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "two__shared"})
	if err == nil || !strings.Contains(err.Error(), "offers no prompts here") {
		t.Errorf("a denied prompt: %v", err)
	}
	ok(t, s.kernel.Journal.Flush(t.Context()))
	records, err := s.kernel.Journal.Read(t.Context(), journal.Query{})
	ok(t, err)
	var got []string
	for _, r := range records {
		if strings.HasSuffix(r.Name, ".resources") || strings.HasSuffix(r.Name, ".prompts") {
			how := string(r.Ask.Verdict)
			if r.End != nil {
				how += " " + string(r.End.Status)
			}
			got = append(got, strings.Join([]string{string(r.Kind), r.Principal.Agent, r.Name, how, string(r.Ask.Args)}, " "))
		}
	}
	if diff := cmp.Diff([]string{
		`ended tester mcp_one.resources allow success {"uri":"watch://both"}`,
		`ended tester mcp_one.resources allow error {"uri":"x://none"}`,
		`asked tester mcp_two.prompts refuse {"name":"shared"}`,
	}, got); diff != "" {
		t.Error(diff)
	}
	// At the command line, where there is no client.
	own, err := s.kernel.OpenSession(t.Context(), s.opt.Session)
	ok(t, err)
	defer own.Close()
	read := own.Call(t.Context(), session.CallRequest{Name: "mcp_one.prompts", Args: json.RawMessage(`{"name":"shared"}`)})
	ok(t, read.Err())
	ok(t, s.kernel.Journal.Flush(t.Context()))
	records, err = s.kernel.Journal.Read(t.Context(), journal.Query{Newest: true, Limit: 1})
	ok(t, err)
	if r := records[0]; r.Tool != "mcp_one:prompts@1.0.0" || r.End == nil || r.End.Status != "success" ||
		r.Principal == nil || r.Call == "" {
		t.Errorf("the last record is %+v", r)
	}
}

// Each count of a server is sent, from the first on, also when it counts faster than
// the client reads.
func TestCountsAreSentOneByOne(t *testing.T) {
	reads := tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}
	s := newFixture(t, kernel.Config{}, define("demo.count", reads, `{"type":"object"}`,
		func(_ context.Context, _ tool.Call, g tool.Grant) (*tool.Result, error) {
			for _, line := range []string{"0/2 a\n", "1/2 b\n", "1/2 again\n", "2/2 c\n"} {
				g.Output("progress", []byte(line))
			}
			return tool.OK("counted", nil)
		}))
	each(t, func(t *testing.T, w way) {
		sent := make(chan *sdk.ProgressNotificationParams, 8)
		c := s.connect(t, w, "tester", progressTo(sent))
		params := &sdk.CallToolParams{Name: "demo.count"}
		params.SetProgressToken("p")
		_, err := c.CallTool(t.Context(), params)
		ok(t, err)
		last := -1.0
		for _, want := range []struct {
			at    float64
			words string
		}{{0, "a"}, {1, "b"}, {1, "again"}, {2, "c"}} {
			got := <-sent
			if got.Progress <= last || got.Progress-want.at > 0.001 || got.Total != 2 || got.Message != want.words {
				t.Errorf("got %+v after %v, want %+v", got, last, want)
			}
			last = got.Progress
		}
	})
}
