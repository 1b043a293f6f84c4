package hooks_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/llm"
	"callgate/tool"
)

// talk is a conversation with a scripted model, in a folder with hooks.
type talk struct {
	*place
	*conversation.Conversation
	model *kerneltest.Model
}

// speak opens a conversation whose app has hooks.
func speak(t testing.TB, k *kernel.Kernel, hooks string, script ...kerneltest.Answer) *talk {
	t.Helper()
	model := kerneltest.NewModel(t, script...)
	folder, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	write(t, filepath.Join(folder, "callgate.yaml"), free+"agents:\n- id: main\n  brain: "+model.Brain("openai", "gpt-4o")+
		"\nruntime:\n  hooks:\n"+hooks)
	c := kerneltest.OpenConversation(t, k, folder)
	return &talk{&place{k, folder, c.Session()}, c, model}
}

// The hooks of turns add to what the model is told, and refuse what the user says.
func TestTurns(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	c := speak(t, k, `
  - id: hello
    on: session_start
    action: {type: inject_message, message: "it is {{source}}"}
  - id: rude
    on: turn_start
    condition: {type: content_contains, keyword: damn}
    action: {type: block, reason: "mind your words, {{agent}}"}
  - id: second
    on: turn_start
    condition: {type: expression, expr: turn == 2 and messages > 0}
    action: {type: inject_message, message: "turn {{turn}} begins with {{prompt}}"}
  - id: over
    on: turn_end
    action: {type: log, message: "it said {{answer}} ({{source}}) after {{tools}} calls"}
`, kerneltest.Answer{Text: "one"}, kerneltest.Answer{Calls: []string{`filesystem__list {"path":"."}`}}, kerneltest.Answer{Text: "two"})
	if end := kerneltest.Send(t, c.Conversation, "hi"); end.Reason != history.Done {
		t.Fatalf("%+v", end)
	}
	if asked := c.model.Last(); !strings.Contains(asked, "hook hello: it is startup") {
		t.Errorf("the model was asked %s", asked)
	}
	_, err := c.Send(t.Context(), llm.TextMessage(llm.User, "Damn it"), conversation.Watch{})
	if tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), "the hook rude refuses this turn: mind your words, main") {
		t.Errorf("%v", err)
	}
	kerneltest.Send(t, c.Conversation, "again")
	last := c.model.Last()
	if !strings.Contains(last, "hook second: turn 2 begins with again") || strings.Contains(last, "Damn") {
		t.Errorf("the model was asked %s", last)
	}
	notes := c.notes(t, "")
	for _, want := range []string{
		"hook hello on session_start: told the model: it is startup", "hook rude on turn_start: refused",
		"hook over on turn_end: it said one (done) after 0 calls", "it said two (done) after 1 calls",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q on record:\n%s", want, notes)
		}
	}
}

// A conversation that is made shorter, and one that ends, meet their hooks: the model is
// told what the one says, and the other is on record.
func TestShortenedAndEnded(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	long := strings.Repeat("a long story ", 2000)
	script := make([]kerneltest.Answer, 12)
	for i := range script {
		script[i].Text = long
	}
	c := speak(t, k, `
  - id: short
    on: pre_compact
    action: {type: inject_message, message: "{{source}}: keep the names"}
  - id: bye
    on: session_end
    action: {type: log, message: "bye after {{turn}}"}
`, script...)
	if done, err := c.Compact(t.Context()); done != nil || err != nil {
		t.Fatalf("%+v, %v: there is nothing to leave out", done, err)
	}
	if notes := c.notes(t, ""); strings.Contains(notes, "pre_compact") {
		t.Errorf("nothing is left out, and a hook saw it:\n%s", notes)
	}
	for range 10 {
		kerneltest.Send(t, c.Conversation, "go on")
	}
	if done, err := c.Compact(t.Context()); done == nil || err != nil {
		t.Fatalf("%+v, %v", done, err)
	}
	kerneltest.Send(t, c.Conversation, "and then?")
	if asked := c.model.Last(); !strings.Contains(asked, "hook short: manual: keep the names") {
		t.Error("the model was not told")
	}
	c.Close()
	notes := c.notes(t, "")
	for _, want := range []string{"hook short on pre_compact: told the model", "hook bye on session_end: bye after 11"} {
		if strings.Count(notes, want) != 1 {
			t.Errorf("%q is not on record once:\n%s", want, notes)
		}
	}
}

// What the user says while a turn runs meets the same hooks.
func TestQueuedWords(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	reached, after := make(chan struct{}), make(chan struct{})
	c := speak(t, k, `
  - id: rude
    on: turn_start
    condition: {type: content_contains, keyword: damn}
    action: {type: block, reason: no}
`, kerneltest.Answer{Text: "one", Reached: reached, After: after})
	ended := make(chan error, 1)
	go func() {
		_, err := c.Send(context.WithoutCancel(t.Context()), llm.TextMessage(llm.User, "hi"), conversation.Watch{})
		ended <- err
	}()
	<-reached
	if _, err := c.Queue(t.Context(), llm.TextMessage(llm.User, "damn")); tool.KindOf(err) != tool.Denied || len(c.Queued()) != 0 {
		t.Errorf("%v %v", err, c.Queued())
	}
	close(after)
	ok(t, <-ended)
}

// A hook keeps a turn from ending, with the reason told to the model, and not for ever.
func TestStop(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	c := speak(t, k, `
  - id: tests
    on: turn_end
    condition: {type: not, condition: {type: content_contains, keyword: tests pass}}
    action: {type: block, reason: run the tests first}
`, kerneltest.Answer{Text: "done"}, kerneltest.Answer{Text: "now the tests pass"})
	if end := kerneltest.Send(t, c.Conversation, "mend it"); end.Reason != history.Done || len(c.model.Asked()) != 2 {
		t.Fatalf("%+v after %d requests", end, len(c.model.Asked()))
	}
	if last := c.model.Last(); !strings.Contains(last, "hook tests: the turn does not end yet: run the tests first") {
		t.Errorf("%s", last)
	}
	before := len(c.model.Asked())
	c.model.Play(kerneltest.Answer{Text: "a"}, kerneltest.Answer{Text: "b"}, kerneltest.Answer{Text: "c"}, kerneltest.Answer{Text: "d"}, kerneltest.Answer{Text: "e"})
	if end := kerneltest.Send(t, c.Conversation, "more"); end.Reason != history.Done || len(c.model.Asked())-before != 4 {
		t.Errorf("%+v after %d requests", end, len(c.model.Asked())-before)
	}
}

// A failing turn is an error that hooks look at.
func TestErrors(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	c := speak(t, k, `
  - id: wrong
    on: error
    condition: {type: error_type, match: "error|not_found"}
    action: {type: log, message: "{{error.type}}: {{tool.name}}"}
`, kerneltest.Answer{Calls: []string{`filesystem__read {"path":"none.txt"}`}}, kerneltest.Answer{Refusal: `{"error":{"message":"no such model"}}`})
	if end := kerneltest.Send(t, c.Conversation, "hi"); end.Reason != history.Failed {
		t.Fatalf("%+v", end)
	}
	if notes := c.notes(t, ""); !strings.Contains(notes, "hook wrong on error: error:") {
		t.Errorf("%s", notes)
	}
	call := ""
	for _, e := range kerneltest.History(t, k, c.ID()) {
		if e.Type == history.CallMade {
			call = e.Call.ID
		}
	}
	if notes := c.notes(t, call); !strings.Contains(notes, "hook wrong on error: not_found: filesystem.read") {
		t.Errorf("%q", notes)
	}
}

// How often hooks fired in a conversation is kept when the kernel is started again, and goes with it.
func TestCountersAreKept(t *testing.T) {
	t.Parallel()
	state := kerneltest.StateDir(t)
	k := kerneltest.Open(t, state)
	c := speak(t, k, `
  - id: twice
    on: turn_start
    max_fires: 2
    action: {type: inject_message, message: only twice}
  - id: rarely
    on: turn_start
    cooldown: 1h
    action: {type: inject_message, message: only once}
`)
	id, folder := c.ID(), c.folder
	said := func() (twice, rarely int) {
		return strings.Count(c.model.Last(), "only twice"), strings.Count(c.model.Last(), "only once")
	}
	kerneltest.Send(t, c.Conversation, "a")
	if twice, rarely := said(); twice != 1 || rarely != 1 {
		t.Errorf("%d %d", twice, rarely)
	}
	ok(t, k.Close())
	k = kerneltest.Open(t, state)
	c.Conversation = kerneltest.Resume(t, k, id)
	for range 3 {
		kerneltest.Send(t, c.Conversation, "again")
	}
	if twice, rarely := said(); twice != 2 || rarely != 1 { // what was told before stays in the conversation
		t.Errorf("after a restart: %d %d", twice, rarely)
	}
	other, err := k.Conversations.Open(t.Context(), conversation.Spec{Workspace: folder})
	ok(t, err)
	kerneltest.Send(t, other, "b")
	if twice, rarely := said(); twice != 1 || rarely != 1 {
		t.Errorf("another conversation counts for itself: %d %d", twice, rarely)
	}
	c.Close()
	ok(t, k.Conversations.Delete(t.Context(), id))
}

// Approvals are events; a message goes to a channel; an agent's hooks are its own.
func TestApprovalsAndChannels(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	write(t, filepath.Join(folder, "callgate.yaml"), `
tools:
  capabilities: {default_policy: approve}
  channels: {out: {type: file, path: out.txt, format: text}}
agents:
- id: main
  hooks:
  - id: mine
    on: tool_end
    action: {type: inject_message, message: from main}
- {id: other}
runtime:
  hooks:
  - id: asked
    on: approval_request
    action: {type: notify, channel: out, title: "{{approval.state}}", message: "{{tool.name}} {{tool.params.path}}"}
  - id: answered
    on: approval_answered
    action: {type: notify, channel: out, message: "{{tool.name}} was {{approval.state}}"}
`)
	p := &place{k, folder, kerneltest.OpenAccepted(t, k, folder)}
	if r := p.call(t, "filesystem.write", `{"path":"a.txt","content":"x"}`); r.Status != tool.Waiting || told(r) != "" {
		t.Fatalf("%+v", r)
	}
	has := func(text string) func() bool {
		return func() bool {
			data, _ := os.ReadFile(filepath.Join(folder, "out.txt"))
			return strings.Contains(string(data), text)
		}
	}
	kerneltest.Eventually(t, has("filesystem.write a.txt"))
	ok(t, k.Approvals.Answer(t.Context(), kerneltest.Human(t, k), p.pending(t)[0].ID, approval.Answer{Approve: true}))
	kerneltest.Eventually(t, has("filesystem.write was approved"))
}

// A failing hook that guards nothing is shown to the user, and goes by.
func TestFailuresAreShown(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	c := speak(t, k, `
  - id: broken
    on: tool_end
    action: {type: module_action, tool: filesystem.read, params: {path: none}}
  - id: loud
    on: tool_end
    action: {type: notify, message: "{{tool.name}} ended"}
`, kerneltest.Answer{Calls: []string{`filesystem__list {"path":"."}`}}, kerneltest.Answer{Text: "done"})
	var mu sync.Mutex
	var notices []string
	w := conversation.Watch{}
	w.Notice = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		notices = append(notices, text)
	}
	end, err := c.Send(t.Context(), llm.TextMessage(llm.User, "hi"), w)
	if err != nil || end.Reason != history.Done {
		t.Fatalf("%+v %v", end, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if all := strings.Join(notices, "\n"); !strings.Contains(all, "the hook broken failed") || !strings.Contains(all, "hook loud: filesystem.list ended") {
		t.Errorf("%s", all)
	}
}
