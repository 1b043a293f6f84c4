package undoing_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/undoing"
	"callgate/llm"
	"callgate/tool"
)

// talk opens a conversation with a scripted model in a folder.
func talk(t *testing.T, workspace string, script ...kerneltest.Answer) (*kernel.Kernel, *kerneltest.Model, *conversation.Conversation) {
	t.Helper()
	model := kerneltest.NewModel(t, script...)
	kerneltest.Write(t, filepath.Join(workspace, "callgate.yaml"), "agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\n"+
		"runtime: {tool_injection: direct}\ntools: {capabilities: {default_policy: auto, max_risk_level: high}}\n")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	return k, model, kerneltest.OpenConversation(t, k, workspace)
}

// writes is an answer that writes a file.
func writes(path, text string) kerneltest.Answer {
	return kerneltest.Answer{Calls: []string{fmt.Sprintf(`filesystem__write {"path":%q,"content":%q}`, path, text)}}
}

func says(text string) kerneltest.Answer { return kerneltest.Answer{Text: text} }

// The last turn is undone, then the one before it; the model is told. What was undone is
// done again.
func TestUndoTurnByTurn(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	k, model, c := talk(t, workspace,
		writes("a.txt", "one"), says("first"), says("nothing to do"),
		writes("a.txt", "two"), writes("b.txt", "new"), says("third"))
	for _, words := range []string{"one", "two", "three"} {
		kerneltest.Send(t, c, words)
	}
	target := undoing.Target{Conversation: c.ID()}
	p, err := k.Undo.Preview(t.Context(), kerneltest.Human(t, k), target)
	ok(t, err)
	if len(p.Turns) != 1 || p.Turns[0].Number != 3 || p.Turns[0].Text != "three" || len(p.Files) != 2 || p.Conversation != c.ID() {
		t.Fatalf("the preview is %+v", p)
	}
	if d := p.Files[0].Diff; d.Text != "@@ -1,1 +1,1 @@\n-two\n\\ no newline at the end\n+one\n\\ no newline at the end\n" &&
		(d.Added != 1 || d.Removed != 1) {
		t.Errorf("the difference is %q", d.Text)
	}
	last(t, k, workspace)
	if read(workspace, "a.txt") != "one" || read(workspace, "b.txt") != "" {
		t.Errorf("it is\n%s", tree(t, workspace))
	}
	last(t, k, workspace)
	if read(workspace, "a.txt") != "" {
		t.Errorf("it is\n%s", tree(t, workspace))
	}
	last(t, k, workspace, redo)
	last(t, k, workspace, redo)
	if read(workspace, "a.txt") != "two" || read(workspace, "b.txt") != "new" {
		t.Errorf("done again, it is\n%s", tree(t, workspace))
	}
	model.Play(says("I see"))
	kerneltest.Send(t, c, "four")
	for _, want := range []string{"The user has put files back", "a.txt, b.txt", "The user has taken an undo back", "Read a file again"} {
		if !strings.Contains(model.Last(), want) {
			t.Errorf("the model is not told %q: %s", want, model.Last())
		}
	}
}

// Several turns are undone at once: each file becomes what it was before the first.
func TestUndoOfSeveralTurns(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	kerneltest.Write(t, filepath.Join(workspace, "d", "x"), "old x")
	k, _, c := talk(t, workspace,
		writes("a.txt", "one"), says("first"),
		kerneltest.Answer{Calls: []string{`filesystem__move {"from":"d","to":"e"}`}}, says("second"),
		kerneltest.Answer{Calls: []string{`filesystem__read {"path":"e/x"}`}}, writes("e/x", "new x"), writes("a.txt", "three"), says("third"))
	before := tree(t, workspace)
	for range 3 {
		kerneltest.Send(t, c, "go on")
	}
	after := tree(t, workspace)
	from := func(n int) func(*undoing.Request) {
		return func(r *undoing.Request) { r.Target = undoing.Target{Conversation: c.ID(), Turn: n} }
	}
	last(t, k, workspace, from(1))
	if got := tree(t, workspace); got != before {
		t.Fatalf("it is\n%s\nwant\n%s", got, before)
	}
	last(t, k, workspace, redo)
	if got := tree(t, workspace); got != after {
		t.Fatalf("done again, it is\n%s\nwant\n%s", got, after)
	}
	last(t, k, workspace, from(3))
	if read(workspace, "e/x") != "old x" || read(workspace, "a.txt") != "one" {
		t.Errorf("before the third turn it is\n%s", tree(t, workspace))
	}
	last(t, k, workspace, from(1))
	if got := tree(t, workspace); got != before {
		t.Errorf("it is\n%s\nwant\n%s", got, before)
	}
	_, err := k.Undo.Preview(t.Context(), kerneltest.Human(t, k), undoing.Target{Conversation: c.ID(), Turn: 4})
	if tool.KindOf(err) != tool.NotFound || !strings.Contains(err.Error(), "no turn 4; it has 3") {
		t.Errorf("got %v", err)
	}
}

// A person who wrote a file between two turns keeps what they wrote.
func TestSomebodyElseWroteBetween(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	k, model, c := talk(t, workspace, writes("a.txt", "one"), says("first"))
	kerneltest.Send(t, c, "one")
	kerneltest.Write(t, filepath.Join(workspace, "a.txt"), "by hand")
	model.Play(kerneltest.Answer{Calls: []string{`filesystem__read {"path":"a.txt"}`}}, writes("a.txt", "two"), says("second"))
	kerneltest.Send(t, c, "two")
	r := undoing.Request{Target: undoing.Target{Conversation: c.ID(), Turn: 1}}
	_, err := k.Undo.Undo(t.Context(), kerneltest.Human(t, k), r)
	if tool.KindOf(err) != tool.Conflict || !strings.Contains(err.Error(), "by somebody outside of Callgate, between ") {
		t.Errorf("got %v", err)
	}
	r.Turn = 2
	_, err = k.Undo.Undo(t.Context(), kerneltest.Human(t, k), r)
	if err != nil || read(workspace, "a.txt") != "by hand" {
		t.Errorf("it holds %q, %v", read(workspace, "a.txt"), err)
	}
}

// To go back puts the files back and cuts the conversation: the model no longer sees what
// came after. The history keeps it.
func TestRewind(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	k, model, c := talk(t, workspace,
		writes("a.txt", "one"), says("first answer"), writes("a.txt", "two"), says("second answer"))
	kerneltest.Send(t, c, "the first")
	kerneltest.Send(t, c, "the second")
	target := undoing.Target{Conversation: c.ID(), Turn: 2}
	done, err := k.Undo.Undo(t.Context(), kerneltest.Human(t, k), undoing.Request{Target: target, Rewind: true})
	if err != nil || !done.Rewound || read(workspace, "a.txt") != "one" {
		t.Fatalf("%+v, %v", done, err)
	}
	model.Play(says("third answer"))
	kerneltest.Send(t, c, "the third")
	asked := model.Last()
	if strings.Contains(asked, "the second") || strings.Contains(asked, "second answer") || strings.Contains(asked, "<note>") {
		t.Errorf("the model is shown what was cut: %s", asked)
	}
	if !strings.Contains(asked, "first answer") || !strings.Contains(asked, "the third") {
		t.Errorf("the model is not shown the rest: %s", asked)
	}
	events := kerneltest.History(t, k, c.ID())
	if turns := history.TurnsOf(events); len(turns) != 3 || !turns[1].Cut || turns[2].Cut {
		t.Errorf("%+v", turns)
	}
	c.Close()
	model.Play(says("fourth answer"))
	c = kerneltest.Resume(t, k, c.ID()) // as another kernel reads it
	kerneltest.Send(t, c, "the fourth")
	if asked := model.Last(); strings.Contains(asked, "the second") || !strings.Contains(asked, "third answer") {
		t.Errorf("opened again, the model is shown %s", asked)
	}
}

// Said again and again, the last turn that the model sees goes, whether it changed files or
// not, until none is left.
func TestRewindTurnByTurn(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	k, _, c := talk(t, workspace, writes("a.txt", "one"), says("first"), says("second"))
	kerneltest.Send(t, c, "a file")
	kerneltest.Send(t, c, "just chatting")
	r := undoing.Request{Target: undoing.Target{Conversation: c.ID(), Turn: undoing.LastTurn}, Rewind: true}
	for _, want := range []struct {
		turn int
		put  string
	}{{2, ""}, {1, "a.txt"}} {
		done, err := k.Undo.Undo(t.Context(), kerneltest.Human(t, k), r)
		if err != nil || !done.Rewound || done.Turns[0].Number != want.turn || strings.Join(done.Put, " ") != want.put {
			t.Fatalf("%+v, %v", done, err)
		}
	}
	_, err := k.Undo.Undo(t.Context(), kerneltest.Human(t, k), r)
	if tool.KindOf(err) != tool.NotFound || !strings.Contains(err.Error(), "no turn that could be taken back") {
		t.Errorf("got %v", err)
	}
}

// A conversation can be cut back although nothing is to be put back; a file that is left
// out is told.
func TestRewindWithoutFiles(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	k, model, c := talk(t, workspace, says("first"), writes("a.txt", "one"), says("second"))
	kerneltest.Send(t, c, "just chatting")
	kerneltest.Send(t, c, "a file")
	kerneltest.Write(t, filepath.Join(workspace, "a.txt"), "by hand")
	c.Close()
	target := undoing.Target{Conversation: c.ID(), Turn: 1}
	done, err := k.Undo.Undo(t.Context(), kerneltest.Human(t, k), undoing.Request{Target: target, Rewind: true, Skip: true})
	if err != nil || !done.Rewound || len(done.Put) != 0 || strings.Join(done.Left, " ") != "a.txt" {
		t.Fatalf("%+v, %v", done, err)
	}
	c = kerneltest.Resume(t, k, c.ID())
	model.Play(says("again"))
	kerneltest.Send(t, c, "from the beginning")
	if asked := model.Last(); strings.Contains(asked, "just chatting") || !strings.Contains(asked, "were not put back: a.txt") {
		t.Errorf("the model is shown %s", asked)
	}
}

// While a turn runs, nothing of its conversation is undone.
func TestUndoDuringATurn(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	reached, goOn := make(chan struct{}), make(chan struct{})
	k, _, c := talk(t, workspace, writes("a.txt", "one"), kerneltest.Answer{Text: "done", Reached: reached, After: goOn})
	ended := make(chan history.End, 1)
	go func() {
		end, _ := c.Send(t.Context(), llm.TextMessage(llm.User, "go"), conversation.Watch{})
		ended <- end
	}()
	<-reached
	r := undoing.Request{Target: undoing.Target{Conversation: c.ID()}}
	_, err := k.Undo.Undo(t.Context(), kerneltest.Human(t, k), r)
	if tool.KindOf(err) != tool.Conflict || !strings.Contains(err.Error(), "has a running turn") || read(workspace, "a.txt") != "one" {
		t.Errorf("got %v", err)
	}
	close(goOn)
	if end := <-ended; end.Reason != history.Done {
		t.Errorf("the turn ended %+v", end)
	}
	_, err = k.Undo.Undo(t.Context(), kerneltest.Human(t, k), r)
	ok(t, err)
}

// What a deleted conversation changed is forgotten.
func TestUndoOfADeletedConversation(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	k, _, c := talk(t, workspace, writes("a.txt", "one"), says("done"))
	kerneltest.Send(t, c, "go")
	ok(t, k.Conversations.Delete(t.Context(), c.ID()))
	_, err := k.Undo.Preview(t.Context(), kerneltest.Human(t, k), undoing.Target{Workspace: workspace})
	if tool.KindOf(err) != tool.NotFound {
		t.Errorf("got %v", err)
	}
}
