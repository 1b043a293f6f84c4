package conversation_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/agent"
	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/gate"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/modeluse"
	"callgate/llm"
	"callgate/tool"
)

// compactApp is a folder with an app whose agent has a small window, and two
// models: the agent's, and another one.
func compactApp(t *testing.T, how string) (own, other *kerneltest.Model, folder string) {
	t.Helper()
	own, other = kerneltest.NewModel(t), kerneltest.NewModel(t)
	folder = t.TempDir()
	if strings.Contains(how, "summary_brain") {
		how = strings.Replace(how, "OTHER", other.Brain("anthropic", "claude-sonnet-4-5"), 1)
	}
	write(t, filepath.Join(folder, "callgate.yaml"), `
runtime:
  tool_injection: direct
  context: {`+how+`}
agents:
- {id: main, brain: `+own.Brain("openai", "gpt-4o")+`}
tools:
  modules: {filesystem: {}}
  capabilities: {default_policy: auto}
`)
	write(t, filepath.Join(folder, "big.txt"), strings.Repeat("some words of a long file\n", 300)) // 2,000 tokens
	return own, other, folder
}

// readings are answers that read a file, each from a line further on, and an end.
func readings(n int) (lines []kerneltest.Answer) {
	for i := range n {
		call := fmt.Sprintf(`filesystem__read {"path":"big.txt","offset":%d}`, i+1)
		lines = append(lines, kerneltest.Answer{Text: fmt.Sprint("step ", i), Calls: []string{call}})
	}
	return append(lines, kerneltest.Answer{Text: "done"})
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
	t.Parallel()
	const window = 16_000
	own, other, folder := compactApp(t, fmt.Sprintf("max_tokens: %d, output_reserved: 2000, keep_recent: 4, summary_brain: OTHER", window))
	own.Play(readings(30)...)
	other.Play(slices.Repeat([]kerneltest.Answer{{Text: "Goal: read it. SUMMED."}}, 30)...)
	state := kerneltest.StateDir(t)
	k := kerneltest.Open(t, state)
	talk := kerneltest.OpenConversation(t, k, folder)
	if end := kerneltest.Send(t, talk, "read big.txt THIRTY times"); end.Reason != history.Done {
		t.Fatalf("%+v", end)
	}
	for i, body := range own.Asked() {
		if n := len(body) / 4; n > window {
			t.Errorf("request %d has about %d tokens", i, n)
		}
		if !strings.Contains(string(body), "THIRTY") {
			t.Errorf("request %d does not say what the user wants", i)
		}
	}
	made := compactions(t, k, talk.ID())
	if len(made) < 3 || len(made) != len(other.Asked()) {
		t.Fatalf("%d compactions, %d summaries", len(made), len(other.Asked()))
	}
	if c := made[1]; !strings.Contains(c.Summary, "SUMMED") || c.Usage == nil || c.Model == "" || c.After >= c.Before || c.Dropped == 0 {
		t.Errorf("%+v", c)
	}
	if second := string(other.Asked()[1]); !strings.Contains(second, "SUMMED") || strings.Contains(second, `"tools"`) {
		t.Error("a later summary is not made from the earlier one, or with tools")
	}
	if n := talk.Info().Usage.Input; n != 100*(31+len(made)) {
		t.Errorf("%d tokens are counted, of %d answers and %d summaries", n, 31, len(made))
	}
	ok(t, k.Close())

	k = kerneltest.Open(t, state)
	again, err := k.Conversations.Open(t.Context(), conversation.Spec{Resume: talk.ID()})
	ok(t, err)
	own.Play(kerneltest.Answer{Text: "yes"})
	kerneltest.Send(t, again, "all of it?")
	if last := own.Last(); !strings.Contains(last, "SUMMED") || len(last)/4 > window {
		t.Errorf("taken up, it is asked %d bytes", len(last))
	}
}

// TestCompactionIsOnRecord: what compaction asks of models is in the journal as what LLM-backed tools ask is, with
// what it took, and the budget has paid for it.
func TestCompactionIsOnRecord(t *testing.T) {
	t.Parallel()
	own, other, folder := compactApp(t, "keep_recent: 2, remember_facts: true, summary_brain: OTHER")
	path := filepath.Join(folder, "callgate.yaml")
	text, err := os.ReadFile(path)
	ok(t, err)
	write(t, path, string(text)+"budget: {tokens_per_day: 1000000}\n")
	for i := range 6 {
		own.Play(kerneltest.Answer{Text: fmt.Sprint("answer ", i)})
	}
	other.Play(kerneltest.Answer{Text: "They spoke.", Usage: kerneltest.Usage{Input: 999_900, Output: 40}},
		kerneltest.Answer{Text: `{"facts":[]}`})
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	kerneltest.OpenAccepted(t, k, folder)
	talk := kerneltest.OpenConversation(t, k, folder)
	for i := range 6 {
		kerneltest.Send(t, talk, fmt.Sprint("question ", i))
	}
	made, err := talk.Compact(t.Context())
	if err != nil || made == nil || made.Summary == "" {
		t.Fatalf("%+v, %v", made, err)
	}
	ok(t, k.Journal.Flush(t.Context()))
	rows, err := modeluse.Collect(t.Context(), k.Journal, modeluse.Query{})
	ok(t, err)
	const model = "anthropic/claude-sonnet-4-5"
	if len(rows) != 2 || rows[0].Tool != "callgate:fact-extract@1.0.0" || rows[0].Outcomes["over_budget"] != 1 ||
		rows[1].Tool != "callgate:summarize-conversation@1.0.0" || rows[1].Model != model || rows[1].Calls != 1 ||
		rows[1].Input != 999_900 || rows[1].Output != 40 || rows[1].Cost == 0 || !rows[1].Priced {
		t.Errorf("on record is %+v", rows)
	}
	records, err := k.Journal.Read(t.Context(), journal.Query{Kind: journal.Ended})
	ok(t, err)
	for _, r := range records {
		if p := r.Principal; !p.Daemon || p.Session != talk.ID() || r.Ask == nil || len(r.End.Attempts) != 1 {
			t.Errorf("the record is %+v", r)
		}
	}
}

// TestFactsOfASummaryAreRemembered: where the app says so, the model of the summaries also finds facts,
// and they are in the memory, by calls that are judged. Where the rules want a human they are not.
func TestFactsOfASummaryAreRemembered(t *testing.T) {
	t.Parallel()
	facts := `{"facts":[{"key":"the port","value":"4711","category":"number"}]}`
	for name, rules := range map[string]string{
		"remembered": "capabilities: {default_policy: auto}",
		"refused":    "capabilities: {default_policy: auto, approve: [{module: memory, actions: [remember]}]}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own, other, folder := compactApp(t, "keep_recent: 2, remember_facts: true, summary_brain: OTHER")
			path := filepath.Join(folder, "callgate.yaml")
			text, err := os.ReadFile(path)
			ok(t, err)
			app := strings.Replace(string(text), "filesystem: {}}\n  capabilities: {default_policy: auto}",
				"filesystem: {}, memory: {}}\n  "+rules, 1)
			write(t, path, app)
			own.Play(append(readings(6), kerneltest.Answer{Refusal: tooLong}, kerneltest.Answer{Text: "still here"})...)
			other.Play(kerneltest.Answer{Text: "The user wants big.txt READ."}, kerneltest.Answer{Text: facts})
			k := kerneltest.Open(t, kerneltest.StateDir(t))
			talk := kerneltest.OpenConversation(t, k, folder)
			kerneltest.Send(t, talk, "read it")
			if end := kerneltest.Send(t, talk, "and NOW?"); end.Reason != history.Done {
				t.Fatalf("%+v", end)
			}
			made := compactions(t, k, talk.ID())
			if len(made) != 1 || len(other.Asked()) != 2 || made[0].Usage == nil || made[0].Usage.Input != 200 {
				t.Fatalf("%d requests for %+v", len(other.Asked()), made)
			}
			r := talk.Session().Call(t.Context(), gate.CallRequest{Name: "memory.query", Args: json.RawMessage(`{"query":"port"}`)})
			if kept := strings.Contains(string(r.Data)+r.Summary+fmt.Sprint(r.Content), "4711"); kept != (name == "remembered") {
				t.Errorf("the memory has %s %s", r.Data, r.Summary)
			}
		})
	}
}

// tooLong is how a provider refuses a conversation that is too long for it.
const tooLong = `{"error":{"message":"This model's maximum context length is 9000 tokens.",` +
	`"type":"invalid_request_error","code":"context_length_exceeded"}}`

// A provider that finds a conversation too long, against what is known of its
// window, is sent a shorter one.
func TestConversationThatAProviderFindsTooLongIsShortened(t *testing.T) {
	t.Parallel()
	own, _, folder := compactApp(t, "keep_recent: 2")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	own.Play(append(readings(6), kerneltest.Answer{Refusal: tooLong},
		kerneltest.Answer{Text: "The user wants big.txt READ."}, kerneltest.Answer{Text: "still here"})...)
	kerneltest.Send(t, talk, "read it")
	if end := kerneltest.Send(t, talk, "and NOW?"); end.Reason != history.Done {
		t.Fatalf("%+v", end)
	}
	last, asked := own.Last(), own.Asked()
	refused := len(asked[len(asked)-3])
	if made := compactions(t, k, talk.ID()); len(made) != 1 || !strings.Contains(last, "The user wants big.txt READ.") ||
		!strings.Contains(last, "NOW") ||
		len(last) > refused*3/4 {
		t.Errorf("%d compactions; %d bytes became %d", len(made), refused, len(last))
	}
	if summary := string(asked[len(asked)-2]); strings.Contains(summary, `"tools"`) || !strings.Contains(summary, "[user] read it") {
		t.Errorf("the summary is asked for with %.300s", summary)
	}
}

// A model that cannot write the summary does not keep the conversation from going on: what
// was said is listed at once.
func TestConversationWhoseModelCannotSummarizeGoesOn(t *testing.T) {
	t.Parallel()
	own, _, folder := compactApp(t, "keep_recent: 2")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	const refused = `{"error":{"message":"not today","type":"invalid_request_error","code":"x"}}`
	own.Play(append(readings(6), kerneltest.Answer{Refusal: tooLong}, kerneltest.Answer{Refusal: refused},
		kerneltest.Answer{Text: "still here"})...)
	kerneltest.Send(t, talk, "read it")
	if end := kerneltest.Send(t, talk, "and NOW?"); end.Reason != history.Done {
		t.Fatalf("%+v", end)
	}
	made := compactions(t, k, talk.ID())
	if len(made) != 1 || !strings.Contains(made[0].Warning, "not today") || made[0].Model != "" {
		t.Fatalf("%+v", made)
	}
	if last := own.Last(); !strings.Contains(last, "- the user: read it") || !strings.Contains(last, "NOW") {
		t.Errorf("it is asked %s", last)
	}
}

// By hand, and not while somebody speaks. What still works is not forgotten.
func TestUserCompactsAConversation(t *testing.T) {
	t.Parallel()
	edge, core, folder := laneApp(t, "conversation")
	script := []kerneltest.Answer{{Text: "hello"}, {Calls: []string{`core_job {"task":"think for ever"}`}}, {Text: "I am on it."}}
	for i := range 8 {
		script = append(script, kerneltest.Answer{Text: fmt.Sprint("answer ", i)})
	}
	goOn := make(chan struct{})
	edge.Play(append(script, kerneltest.Answer{Text: "They said HI."},
		kerneltest.Answer{Text: "well"}, kerneltest.Answer{Text: "ok", After: goOn})...)
	reached := core.StopAt(1)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	if done, err := talk.Compact(t.Context()); done != nil || err != nil {
		t.Errorf("nothing to do, and did %+v, %v", done, err)
	}
	kerneltest.Send(t, talk, "hi")
	kerneltest.Send(t, talk, "go")
	<-reached
	for i := range 8 {
		kerneltest.Send(t, talk, fmt.Sprint("question ", i))
	}
	done, err := talk.Compact(t.Context())
	if err != nil || done == nil || done.Kept != 10 || len(done.Pinned) != 2 || done.Dropped == 0 ||
		strings.Contains(done.Summary, "core_job") {
		t.Fatalf("%+v, %v", done, err)
	}
	kerneltest.Send(t, talk, "how is it going?")
	if last := edge.Last(); !strings.Contains(last, "think for ever") || !strings.Contains(last, `\"status\":\"running\"`) ||
		!strings.Contains(last, "They said HI.") ||
		strings.Contains(last, "answer 1") {
		t.Errorf("the model is asked %s", last)
	}
	begun := make(chan struct{}, 1)
	ended := make(chan error)
	go func() {
		_, err := talk.Send(
			t.Context(),
			llm.TextMessage(llm.User, "wait"),
			conversation.Watch{Observer: agent.Observer{Event: func(history.Event) {
				select {
				case begun <- struct{}{}:
				default:
				}
			}}, Asked: nil},
		)
		ended <- err
	}()
	<-begun
	if _, err := talk.Compact(t.Context()); tool.KindOf(err) != tool.Conflict {
		t.Errorf("while a turn is under way: %v", err)
	}
	close(goOn)
	ok(t, <-ended)
}

// A stranger's app file does not have conversations sent elsewhere by the way
// of their summaries.
func TestSummaryModelNeedsConsent(t *testing.T) {
	t.Parallel()
	elsewhere := "{provider: mine, model: x, backend: openai_compat, config: {base_url: \"http://127.0.0.1:9/v1\", api_key: k}}"
	for name, text := range map[string]string{
		"of the app":           "runtime: {context: {summary_brain: " + elsewhere + "}}\n",
		"of the app, an agent": "runtime: {context: {summary_brain: " + elsewhere + "}}\nagents: [{id: a}]\n",
		"of a brain":           "agents: [{id: a, brain: {provider: offline, context: {summary_brain: " + elsewhere + "}}}]\n",
	} {
		folder := t.TempDir()
		write(t, filepath.Join(folder, "callgate.yaml"), text)
		k := kerneltest.Open(t, kerneltest.StateDir(t))
		if _, err := k.Conversations.Open(t.Context(), conversation.Spec{Workspace: folder}); tool.KindOf(err) != tool.Denied ||
			!strings.Contains(err.Error(), "127.0.0.1:9") {
			t.Errorf("%s: %v", name, err)
		}
		if list, err := k.Conversations.List(t.Context(), 0); err != nil || len(list) > 0 {
			t.Errorf("%s: %d conversations, %v", name, len(list), err)
		}
		ok(t, k.Close())
	}
}
