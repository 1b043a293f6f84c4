package kernel_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/agent"
	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/kernel"
	"callgate/internal/provider"
	"callgate/llm"
	"callgate/tool"
)

// compactApp is a folder with an app whose agent has a small window, and two
// models: the agent's, and another one.
func compactApp(t *testing.T, how string) (own, other *scriptedModel, folder string) {
	t.Helper()
	own, other = scripted(t), scripted(t)
	t.Setenv(provider.BaseURLVariable("openai"), own.URL)
	t.Setenv(provider.BaseURLVariable("anthropic"), other.URL)
	t.Setenv("OPENAI_API_KEY", "key-of-the-test")
	t.Setenv("ANTHROPIC_API_KEY", "key-of-the-test")
	folder = t.TempDir()
	writeFile(t, filepath.Join(folder, "callgate.yaml"), `
runtime:
  tool_injection: direct
  context: {`+how+`}
agents:
- {id: main, brain: {provider: openai, model: gpt-4o}}
tools:
  modules: {filesystem: {}}
  capabilities: {default_policy: auto}
`)
	writeFile(t, filepath.Join(folder, "big.txt"), strings.Repeat("some words of a long file\n", 300)) // 2,000 tokens
	return own, other, folder
}

// readings are answers that read a file, one after the other, and an end.
func readings(n int) (lines []line) {
	for i := range n {
		lines = append(lines, line{text: fmt.Sprint("step ", i), calls: []string{`filesystem__read {"path":"big.txt"}`}})
	}
	return append(lines, line{text: "done"})
}

// compactions are those in the log of a conversation.
func compactions(t *testing.T, k *kernel.Kernel, id string) (all []history.Compaction) {
	t.Helper()
	_, events, err := k.Conversations.History(t.Context(), id, 0)
	ok(t, err)
	for _, e := range events {
		if e.Compaction != nil {
			all = append(all, *e.Compaction)
		}
	}
	return all
}

// A turn that reads far more than its model's window is kept within it, by
// another model's summaries, and goes on in another kernel.
func TestConversationIsKeptWithinTheWindow(t *testing.T) {
	const window = 16_000
	own, other, folder := compactApp(t, fmt.Sprintf("max_tokens: %d, output_reserved: 2000, keep_recent: 4, summary_brain: {provider: anthropic, model: claude-sonnet-4-5}", window))
	own.restart(readings(30)...)
	for range 30 {
		other.lines = append(other.lines, line{text: "Goal: read it. SUMMED."})
	}
	state := t.TempDir()
	k := openKernel(t, state)
	talk := talkIn(t, k, folder, "")
	if end := say(t, talk, "read big.txt THIRTY times"); end.Reason != history.Done {
		t.Fatalf("%+v", end)
	}
	for i, body := range own.asked {
		if n := len(body) / 4; n > window {
			t.Errorf("request %d has about %d tokens", i, n)
		}
		if !strings.Contains(string(body), "THIRTY") {
			t.Errorf("request %d does not say what the user wants", i)
		}
	}
	made := compactions(t, k, talk.ID())
	if len(made) < 3 || len(made) != len(other.asked) {
		t.Fatalf("%d compactions, %d summaries", len(made), len(other.asked))
	}
	if c := made[1]; !strings.Contains(c.Summary, "SUMMED") || c.Usage == nil || c.Model == "" || c.After >= c.Before || c.Dropped == 0 {
		t.Errorf("%+v", c)
	}
	if second := string(other.asked[1]); !strings.Contains(second, "SUMMED") || strings.Contains(second, `"tools"`) {
		t.Error("a later summary is not made from the earlier one, or with tools")
	}
	if n := talk.Info().Usage.Input; n != 100*(31+len(made)) {
		t.Errorf("%d tokens are counted, of %d answers and %d summaries", n, 31, len(made))
	}
	ok(t, k.Close())

	k = openKernel(t, state)
	defer func() { ok(t, k.Close()) }()
	again, err := k.Conversations.Open(t.Context(), conversation.Spec{Resume: talk.ID()})
	ok(t, err)
	own.restart(line{text: "yes"})
	say(t, again, "all of it?")
	if last := string(own.last()); !strings.Contains(last, "SUMMED") || len(last)/4 > window {
		t.Errorf("taken up, it is asked %d bytes", len(last))
	}
}

// A provider that finds a conversation too long, against what is known of its
// window, is sent a shorter one.
func TestProviderFindsItTooLong(t *testing.T) {
	own, _, folder := compactApp(t, "keep_recent: 2")
	var refuse atomic.Bool
	var refused atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse.CompareAndSwap(true, false) {
			body, _ := io.ReadAll(r.Body)
			refused.Store(int64(len(body)))
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"This model's maximum context length is 9000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`)
			return
		}
		own.serve(w, r)
	}))
	defer front.Close()
	t.Setenv(provider.BaseURLVariable("openai"), front.URL)
	k := openKernel(t, t.TempDir())
	defer func() { ok(t, k.Close()) }()
	talk := talkIn(t, k, folder, "")
	own.restart(append(readings(6), line{text: "still here"})...)
	say(t, talk, "read it")
	refuse.Store(true)
	if end := say(t, talk, "and NOW?"); end.Reason != history.Done {
		t.Fatalf("%+v", end)
	}
	last := string(own.last())
	if made := compactions(t, k, talk.ID()); len(made) != 1 || !strings.Contains(last, "- the user: read it") || !strings.Contains(last, "NOW") || int64(len(last)) > refused.Load()*3/4 {
		t.Errorf("%d compactions; %d bytes became %d", len(made), refused.Load(), len(last))
	}
}

// By hand, and not while somebody speaks. What still works is not forgotten.
func TestCompactByHand(t *testing.T) {
	edge, core, folder := laneApp(t, "conversation")
	edge.restart(line{text: "hello"}, line{calls: []string{`core_job {"task":"think for ever"}`}}, line{text: "I am on it."})
	for i := range 8 {
		edge.lines = append(edge.lines, line{text: fmt.Sprint("answer ", i)})
	}
	reached := core.stop(1)
	k := openKernel(t, t.TempDir())
	defer func() { ok(t, k.Close()) }()
	talk := talkIn(t, k, folder, "")
	if done, err := talk.Compact(t.Context()); done != nil || err != nil {
		t.Errorf("nothing to do, and did %+v, %v", done, err)
	}
	say(t, talk, "hi")
	say(t, talk, "go")
	<-reached
	for i := range 8 {
		say(t, talk, fmt.Sprint("question ", i))
	}
	done, err := talk.Compact(t.Context())
	if err != nil || done == nil || done.Kept != 10 || len(done.Pinned) != 2 || done.Dropped == 0 || strings.Contains(done.Summary, "core_job") {
		t.Fatalf("%+v, %v", done, err)
	}
	say(t, talk, "how is it going?")
	if last := string(edge.last()); !strings.Contains(last, "think for ever") || !strings.Contains(last, `\"status\":\"running\"`) || !strings.Contains(last, "- the user: hi") || strings.Contains(last, "answer 1") {
		t.Errorf("the model is asked %s", last)
	}
	edge.mu.Lock()
	edge.gate = make(chan struct{})
	edge.mu.Unlock()
	begun := make(chan struct{}, 1)
	ended := make(chan error)
	go func() {
		_, err := talk.Send(t.Context(), llm.TextMessage(llm.User, "wait"), conversation.Watch{Observer: agent.Observer{Event: func(history.Event) {
			select {
			case begun <- struct{}{}:
			default:
			}
		}}, Asked: nil})
		ended <- err
	}()
	<-begun
	if _, err := talk.Compact(t.Context()); tool.KindOf(err) != tool.Conflict {
		t.Errorf("while a turn is under way: %v", err)
	}
	close(edge.gate)
	ok(t, <-ended)
}

// A stranger's app file does not have conversations sent elsewhere by the way
// of their summaries.
func TestSummaryBrainNeedsConsent(t *testing.T) {
	elsewhere := "{provider: mine, model: x, backend: openai_compat, config: {base_url: \"http://127.0.0.1:9/v1\", api_key: k}}"
	for name, text := range map[string]string{
		"of the app":           "runtime: {context: {summary_brain: " + elsewhere + "}}\n",
		"of the app, an agent": "runtime: {context: {summary_brain: " + elsewhere + "}}\nagents: [{id: a}]\n",
		"of a brain":           "agents: [{id: a, brain: {provider: offline, context: {summary_brain: " + elsewhere + "}}}]\n",
	} {
		folder := t.TempDir()
		writeFile(t, filepath.Join(folder, "callgate.yaml"), text)
		k := openKernel(t, t.TempDir())
		if _, err := k.Conversations.Open(t.Context(), conversation.Spec{Workspace: folder}); tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), "127.0.0.1:9") {
			t.Errorf("%s: %v", name, err)
		}
		if list, err := k.Conversations.List(t.Context(), 0); err != nil || len(list) > 0 {
			t.Errorf("%s: %d conversations, %v", name, len(list), err)
		}
		ok(t, k.Close())
	}
}
