package backgroundcalls_test

import (
	"strings"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/conversation/owed"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/task"
	"callgate/tool"
)

// A task that ends while its turn goes on is told before the next request, fenced, and
// once; one that ends afterwards wakes the idle conversation, once.
func TestConversationIsTold(t *testing.T) {
	t.Parallel()
	work := newGated()
	k := kerneltest.Open(t, kerneltest.StateDir(t), work.tool(t, writes))
	second, goOn := make(chan struct{}), make(chan struct{})
	model := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`background_run {"name":"demo.work","settle":0}`}},
		kerneltest.Answer{Calls: []string{`filesystem__list {}`}, Reached: second, After: goOn},
		kerneltest.Answer{Calls: []string{`background_run {"name":"demo.work","settle":0}`}},
		kerneltest.Answer{Text: "begun"}, kerneltest.Answer{Text: "well"})
	c := kerneltest.OpenConversation(t, k, inFolder(t, "agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\n"+
		"runtime: {tool_injection: direct}\ntools: {modules: {filesystem: {}}, capabilities: {default_policy: auto}}\n"))
	go func() {
		<-second
		work.leave <- struct{}{}
		for _, one := range listed(t, k) {
			ended(t, k, one.ID)
		}
		close(goOn)
	}()
	kerneltest.Send(t, c, "work")
	asked := model.Asked()
	for i, want := range []int{0, 0, 1, 1} {
		if n := strings.Count(string(asked[i]), "BACKGROUND TASK COMPLETED"); n != want {
			t.Errorf("request %d tells it %d times", i, n)
		}
	}
	if !strings.Contains(string(asked[2]), `\u003cdata\u003e`) && !strings.Contains(string(asked[2]), "<data>") {
		t.Errorf("what it brought is not fenced: %s", asked[2])
	}
	woken := make(chan struct{})
	go func() {
		defer close(woken)
		_ = c.Attend(t.Context(), func(owed.News) bool { return false })
	}()
	work.leave <- struct{}{}
	<-woken
	_, err := c.Wake(t.Context(), conversation.Watch{})
	ok(t, err)
	if n := strings.Count(model.Last(), "BACKGROUND TASK COMPLETED"); n != 2 || len(model.Asked()) != 5 {
		t.Errorf("it was told %d times, and the model asked %d times", n, len(model.Asked()))
	}
	left, err := k.Tasks.Store().List(t.Context(), task.Query{Parent: c.ID(), Owed: true})
	ok(t, err)
	if end, err := c.Wake(t.Context(), conversation.Watch{}); err != nil || end.Reason != "" || len(left) != 0 {
		t.Errorf("nothing is owed: %+v, %v, %d", end, err, len(left))
	}
}

// The end that a call of background_run shows is not told again.
func TestSeenIsTold(t *testing.T) {
	t.Parallel()
	work := newGated()
	k := kerneltest.Open(t, kerneltest.StateDir(t), work.tool(t, writes))
	c := kerneltest.OpenConversation(t, k, inFolder(t, free))
	_, begun := run(t, c.Session(), `{"name":"demo.work"}`)
	close(work.leave)
	if r, at := run(t, c.Session(), of(begun.TaskID, `"wait":true`)); r.Status != tool.Success || at.Status != "completed" {
		t.Fatalf("%+v", r)
	}
	if one := stored(t, k, begun.TaskID); one.Owed() {
		t.Error("it is owed")
	}
}
