package conversation_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/agent"
	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/toolview"
	"callgate/llm"
)

// toolServer plays a server on this machine. It answers what is asked of it beside a
// conversation as a handler says, and everything else with ok, or with a call.
type toolServer struct {
	*httptest.Server

	mu       sync.Mutex
	probe    http.HandlerFunc
	refuses  string   // with which it refuses a request that carries tools; "": it takes them
	answers  []string // texts of answers to come; then ok
	probes   []string // paths and bodies
	requests []string // of conversations
}

// probed says that a request is no conversation's: it has no system text.
func probed(r *http.Request, body string) bool {
	return !strings.HasSuffix(r.URL.Path, "/chat/completions") || !strings.Contains(body, `"role":"system"`)
}

func newToolServer(t *testing.T, probe http.HandlerFunc) *toolServer {
	s := &toolServer{probe: probe}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		body := string(data)
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case probed(r, body):
			s.probes = append(s.probes, r.Method+" "+r.URL.Path+" "+body)
			s.probe(w, r)
		case s.refuses != "" && strings.Contains(body, `"tools":`):
			s.requests = append(s.requests, body)
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, s.refuses)
		default:
			s.requests = append(s.requests, body)
			text := "ok"
			if len(s.answers) > 0 {
				text, s.answers = s.answers[0], s.answers[1:]
			}
			says(text)(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// says answers a chat completion with a text.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", text)
	}
}

// fails answers with a status and a body.
func fails(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// atPath answers a path with JSON, and everything else by another handler.
func atPath(path, body string, otherwise http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			otherwise(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

func (s *toolServer) seen() (probes, requests []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.probes...), append([]string(nil), s.requests...)
}

// app writes an app whose model is at the server.
func (s *toolServer) app(t *testing.T, provider string, more ...string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	fields := append([]string{
		"provider: " + provider, "model: some-model", "context: {max_tokens: 100000}",
		fmt.Sprintf("config: {base_url: %q, api_key: key-of-the-test}", s.URL+"/v1"),
	}, more...)
	write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: {"+strings.Join(fields, ", ")+"}}]\n"+
		"runtime: {tool_injection: direct}\ntools: {modules: {filesystem: {}}, capabilities: {default_policy: auto}}\n")
	return folder
}

func preview(t *testing.T, k *kernel.Kernel, folder string) *conversation.Presentation {
	t.Helper()
	made, err := k.Conversations.Preview(t.Context(), conversation.Spec{Workspace: folder}, toolview.SurfaceConfig{})
	ok(t, err)
	return made
}

const (
	noParser = `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}`
	noJinja  = `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`
	noTools  = `{"error":{"message":"some-model does not support tools","type":"api_error"}}`
)

// A server of which it is not known whether it takes tools is asked once, when the first
// conversation is opened. A preview before asks nobody, and says so; one after is what
// is sent. What the server did not decide is asked again by the next conversation.
func TestServersAreAskedWhetherTheyTakeTools(t *testing.T) {
	t.Parallel()
	lmstudio := func(entries string) string { return `{"object":"list","data":[` + entries + `]}` }
	for name, c := range map[string]struct {
		provider string
		probe    http.HandlerFunc
		native   bool
		open     bool // nothing was decided
		asked    string
		probes   int
		why      string
	}{
		"ollama, yes": {provider: "ollama", native: true, probes: 1, why: "said it takes them (asked",
			asked: `POST /api/show {"model":"some-model"}`,
			probe: atPath("/api/show", `{"capabilities":["completion","tools"]}`, fails(500, "x"))},
		"ollama, no": {provider: "ollama", probes: 1, why: "said it takes none (asked",
			probe: atPath("/api/show", `{"capabilities":["completion"]}`, says("ok"))},
		"an ollama that does not tell": {provider: "ollama", probes: 2, why: "said it takes none (asked",
			probe: atPath("/api/show", `{"details":{}}`, fails(400, noTools))},
		"an ollama behind a proxy": {provider: "ollama", native: true, probes: 2, why: "said it takes them",
			probe: atPath("/v1/chat/completions", `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`, fails(404, "no"))},
		"ollama without the model": {provider: "ollama", open: true, probes: 2, why: "was not asked yet; the first conversation asks",
			probe: fails(404, `{"error":"model 'some-model' not found"}`)},
		"lmstudio, yes": {provider: "lmstudio", native: true, probes: 1, why: "said it takes them",
			asked: "GET /api/v0/models",
			probe: atPath("/api/v0/models", lmstudio(`{"id":"other","type":"vlm"},{"id":"some-model","type":"llm","capabilities":["tool_use"]}`), fails(500, "x"))},
		"lmstudio, no": {provider: "lmstudio", probes: 1, why: "said it takes none",
			probe: atPath("/api/v0/models", lmstudio(`{"id":"some-model","type":"llm"},{"id":"other","capabilities":["tool_use"]}`), says("ok"))},
		"an older lmstudio": {provider: "lmstudio", native: true, probes: 2, why: "said it takes them",
			probe: atPath("/api/v0/models", lmstudio(`{"id":"some-model","type":"llm"}`), says("ok"))},
		"vllm, yes": {provider: "vllm", native: true, probes: 1, why: "said it takes them", asked: `"tools":[{"type":"function"`,
			probe: says("ok")},
		"vllm, no":            {provider: "vllm", probes: 1, why: "said it takes none", probe: fails(400, noParser)},
		"llama.cpp, yes":      {provider: "llamacpp", native: true, probes: 1, why: "said it takes them", probe: says("ok")},
		"llama.cpp, no":       {provider: "llamacpp", probes: 1, why: "said it takes none", probe: fails(500, noJinja)},
		"a custom one, yes":   {provider: "mine", native: true, probes: 1, why: "said it takes them", probe: says("ok")},
		"a custom one, no":    {provider: "mine", probes: 1, why: "said it takes none", probe: fails(422, noTools)},
		"a broken one":        {provider: "mine", open: true, probes: 1, why: "was not asked yet", probe: fails(500, "out of memory")},
		"one without a key":   {provider: "mine", open: true, probes: 1, why: "was not asked yet", probe: fails(401, `{"error":"no key"}`)},
		"one that hangs up":   {provider: "mine", open: true, probes: 1, why: "was not asked yet", probe: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"one that is strange": {provider: "mine", open: true, probes: 1, why: "was not asked yet", probe: fails(302, "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newToolServer(t, c.probe)
			folder, state := s.app(t, c.provider), kerneltest.StateDir(t)
			k := kerneltest.Open(t, state)
			before := preview(t, k, folder)
			if before.Model.NativeTools || !strings.Contains(before.Model.ToolsWhy, s.URL+"/v1 was not asked yet") {
				t.Errorf("before: %+v", before.Model)
			}
			if probes, _ := s.seen(); len(probes) > 0 {
				t.Fatalf("a preview asks %q", probes)
			}
			talk := kerneltest.OpenConversation(t, k, folder)
			if m := talk.Model(); m.NativeTools != c.native || !strings.Contains(m.ToolsWhy, c.why) {
				t.Errorf("opened: %+v", m)
			}
			planned := preview(t, k, folder)
			kerneltest.Send(t, talk, "one")
			kerneltest.Send(t, talk, "two")
			probes, requests := s.seen()
			if len(probes) != c.probes || !strings.Contains(strings.Join(probes, "\n"), c.asked) {
				t.Errorf("two turns asked %q", probes)
			}
			for i, body := range requests {
				if sent := strings.Contains(body, `"tools":[`); sent != c.native || sent != (planned.Tools != nil) {
					t.Errorf("request %d has tools: %v, planned: %v", i, sent, planned.Tools != nil)
				}
				if got := parseSent(t, []byte(body)); systemText(t, got.system) != planned.System.Text() {
					t.Errorf("request %d: another system text than planned", i)
				}
			}
			if len(requests) != 2 {
				t.Errorf("%d requests", len(requests))
			}
			id := talk.ID()
			ok(t, k.Close())
			k = kerneltest.Open(t, state)
			if made := preview(t, k, folder); made.Model != planned.Model {
				t.Errorf("a restarted kernel plans %+v", made.Model)
			}
			kerneltest.Send(t, kerneltest.Resume(t, k, id), "three")
			again, _ := s.seen()
			if asked := len(again) > c.probes; asked != c.open {
				t.Errorf("a restarted kernel asked again: %v", asked)
			}
		})
	}
}

// A server that hangs is waited for a few seconds, and decides nothing.
func TestSlowServerDecidesNothing(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	s := newToolServer(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-done:
		}
	})
	t.Cleanup(func() { close(done) })
	folder := s.app(t, "vllm")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	began := time.Now()
	talk := kerneltest.OpenConversation(t, k, folder)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the opening took %v", took)
	}
	if m := talk.Model(); m.NativeTools || !strings.Contains(m.ToolsWhy, "not asked yet") {
		t.Errorf("%+v", m)
	}
}

// The app file's word goes first, and known providers are not asked; nor is anybody
// where no human accepted the address.
func TestServersThatAreNotAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider, more string
		native         bool
		why            string
	}{
		"the file says yes": {"vllm", "native_tool_use: true", true, "the app file says so"},
		"the file says no":  {"mine", "native_tool_use: false", false, "the app file says so"},
		"a known provider":  {"openai", "max_tokens: 100", true, "openai is known to take them"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newToolServer(t, says("ok"))
			folder := s.app(t, c.provider, c.more)
			k := kerneltest.Open(t, kerneltest.StateDir(t))
			talk := kerneltest.OpenConversation(t, k, folder)
			kerneltest.Send(t, talk, "go")
			if m := talk.Model(); m.NativeTools != c.native || !strings.Contains(m.ToolsWhy, c.why) || preview(t, k, folder).Model != m {
				t.Errorf("%+v", m)
			}
			if probes, _ := s.seen(); len(probes) > 0 {
				t.Errorf("asked %q", probes)
			}
		})
	}
	s := newToolServer(t, says("ok"))
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	if _, err := k.Conversations.Open(t.Context(), conversation.Spec{Workspace: s.app(t, "mine")}); err == nil {
		t.Error("it opens without consent")
	}
	if probes, _ := s.seen(); len(probes) > 0 {
		t.Errorf("without consent it asked %q", probes)
	}
}

// A server that refuses tools in the middle of a turn gets them in the prompt from then
// on: the turn goes on, its user is told, and so is the next plan.
func TestServerRefusesToolsLater(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ provider, refusal string }{
		"llama.cpp":        {"llamacpp", noJinja},
		"a custom one":     {"mine", noParser},
		"a known provider": {"openai", noTools},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newToolServer(t, says("ok"))
			folder, state := s.app(t, c.provider), kerneltest.StateDir(t)
			write(t, filepath.Join(folder, "a.txt"), "forty-two\n")
			k := kerneltest.Open(t, state)
			talk := kerneltest.OpenConversation(t, k, folder)
			kerneltest.Send(t, talk, "one")
			asked, _ := s.seen()
			s.mu.Lock()
			s.refuses = c.refusal
			s.answers = []string{`<tool_call>{"name": "filesystem__read", "arguments": {"path": "a.txt"}}</tool_call>`, "it says forty-two"}
			s.mu.Unlock()
			var notices []string
			end, err := talk.Send(t.Context(), llm.TextMessage(llm.User, "two"), conversation.Watch{
				Observer: agent.Observer{Notice: func(text string) { notices = append(notices, text) }},
			})
			if err != nil || end.Reason != history.Done {
				t.Fatalf("%+v, %v", end, err)
			}
			if len(notices) != 1 || !strings.Contains(notices[0], "refuses tools") {
				t.Errorf("the user is told %q", notices)
			}
			if calls := kerneltest.CallsMade(t, k, talk.ID()); len(calls) != 1 || !strings.Contains(calls[0], "a.txt") {
				t.Errorf("calls %q", calls)
			}
			kerneltest.Send(t, talk, "three")
			planned := preview(t, k, folder)
			if m := talk.Model(); m.NativeTools || !strings.Contains(m.ToolsWhy, "refused them (on ") || planned.Model != m {
				t.Errorf("%+v, planned %+v", m, planned.Model)
			}
			id := talk.ID()
			ok(t, k.Close())
			k = kerneltest.Open(t, state)
			kerneltest.Send(t, kerneltest.Resume(t, k, id), "four")
			probes, requests := s.seen()
			if len(probes) != len(asked) {
				t.Errorf("it was asked again: %q", probes)
			}
			checkRefused(t, requests, planned.System.Text())
		})
	}
}

// checkRefused checks the requests of a conversation whose second turn was refused once:
// one with tools, the refused one, and four in text that each begin as the one before.
func checkRefused(t *testing.T, requests []string, system string) {
	t.Helper()
	if len(requests) != 6 {
		t.Fatalf("%d requests", len(requests))
	}
	first, refused := parseSent(t, []byte(requests[0])), parseSent(t, []byte(requests[1]))
	if first.tools == "" || refused.tools != first.tools || refused.system != first.system {
		t.Error("the first turn and the beginning of the second are not alike")
	}
	before := parseSent(t, []byte(requests[2]))
	if got := systemText(t, before.system); got != system || !strings.Contains(got, "## filesystem__read") {
		t.Errorf("the system text does not have the tools:\n%s", got)
	}
	for i, body := range requests[2:] {
		next := parseSent(t, []byte(body))
		if next.tools != "" || next.system != before.system {
			t.Errorf("request %d has tools, or another system text", i+3)
		}
		for j, m := range before.messages {
			if next.messages[j] != m {
				t.Errorf("request %d changes what was said before:\n%s\n%s", i+3, m, next.messages[j])
			}
		}
		before = next
	}
}

// What a server answered is asked again after a week.
func TestServersAreAskedAgain(t *testing.T) {
	t.Parallel()
	s := newToolServer(t, fails(400, noParser))
	folder := s.app(t, "vllm")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	day := time.Now()
	k.Conversations.Models.Now = func() time.Time { return day }
	kerneltest.OpenConversation(t, k, folder)
	s.mu.Lock()
	s.probe = fails(503, "not now")
	s.mu.Unlock()
	day = day.AddDate(0, 0, 8)
	if m := preview(t, k, folder).Model; m.NativeTools || !strings.Contains(m.ToolsWhy, "the next conversation asks again") {
		t.Errorf("%+v", m)
	}
	if m := kerneltest.OpenConversation(t, k, folder).Model(); m.NativeTools || !strings.Contains(m.ToolsWhy, "said it takes none") {
		t.Errorf("an answer that did not come changes %+v", m)
	}
	s.mu.Lock()
	s.probe = says("ok")
	s.mu.Unlock()
	if m := kerneltest.OpenConversation(t, k, folder).Model(); !m.NativeTools {
		t.Errorf("%+v", m)
	}
	if probes, _ := s.seen(); len(probes) != 3 {
		t.Errorf("asked %d times", len(probes))
	}
}

// A conversation whose server is asked by many at once is asked once.
func TestOneQuestionAtATime(t *testing.T) {
	t.Parallel()
	s := newToolServer(t, says("ok"))
	folder := s.app(t, "vllm")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	kerneltest.OpenAccepted(t, k, folder)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if c, err := k.Conversations.Open(t.Context(), conversation.Spec{Workspace: folder}); err != nil || !c.Model().NativeTools {
				t.Errorf("%v", err)
			}
		})
	}
	all.Wait()
	if probes, _ := s.seen(); len(probes) != 1 {
		t.Errorf("asked %d times", len(probes))
	}
}

// A fallback that takes no tools reads of them in its prompt, though the model before it
// was given them by its API; so does one whose server refuses them only then.
func TestFallbackGetsItsToolsItsOwnWay(t *testing.T) {
	t.Parallel()
	for name, probe := range map[string]http.HandlerFunc{"asked": fails(400, noParser), "refused": says("ok")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := newToolServer(t, says("ok")), newToolServer(t, probe)
			first.refuses = `{"error":{"message":"You are out of credits","code":402}}`
			second.refuses = noParser
			folder := first.app(t, "openai", fmt.Sprintf(
				"fallback: {provider: mine, model: small, config: {base_url: %q, api_key: k}}", second.URL+"/v1"))
			k := kerneltest.Open(t, kerneltest.StateDir(t))
			talk := kerneltest.OpenConversation(t, k, folder)
			if end := kerneltest.Send(t, talk, "go"); end.Reason != history.Done {
				t.Fatalf("%+v", end)
			}
			_, requests := second.seen()
			last := parseSent(t, []byte(requests[len(requests)-1]))
			if got := systemText(t, last.system); last.tools != "" || !strings.Contains(got, "## filesystem__read") {
				t.Errorf("the fallback is told %s", got)
			}
			if m := talk.Model(); !m.NativeTools || m.Provider != "openai" {
				t.Errorf("the agent's own model is %+v", m)
			}
		})
	}
}
