package conversation_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/owed"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/task"
	"callgate/internal/token"
	"callgate/llm"
	"callgate/tool"
)

// backgroundApp is an app that needs no client, accepted by a human at a kernel.
func backgroundApp(t *testing.T, state string, script ...kerneltest.Answer) (*kerneltest.Model, string) {
	t.Helper()
	model, folder := kerneltest.NewModel(t, script...), t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), "app: {app_id: quiet}\nruntime: {mode: background, tool_injection: direct}\n"+
		"agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\n"+
		"tools: {modules: {filesystem: {}}, capabilities: {default_policy: auto, approve: [{module: filesystem, actions: [write]}]}}\n")
	k := kerneltest.Open(t, state)
	kerneltest.OpenAccepted(t, k, folder).Close()
	ok(t, k.Close())
	return model, folder
}

func words(id, folder, text string) conversation.Headless {
	return conversation.Headless{
		Spec: conversation.Spec{Workspace: folder}, ID: id, By: "trigger orders", Message: llm.TextMessage(llm.User, text),
	}
}

func idle(t *testing.T, k *kernel.Kernel) {
	t.Helper()
	kerneltest.Eventually(t, func() bool { return k.Sessions.Len() == 0 })
}

// A turn runs without a client, once for its ID, and says who began it. What its
// conversation is owed later wakes it, and nothing stays open.
func TestRunWithoutAClient(t *testing.T) {
	t.Parallel()
	state := kerneltest.StateDir(t)
	model, folder := backgroundApp(t, state, kerneltest.Answer{Text: "noted"}, kerneltest.Answer{Text: "I see"}, kerneltest.Answer{Text: "again"})
	k := kerneltest.Open(t, state)
	for range 2 {
		id, end, err := k.Conversations.Run(t.Context(), words("d1", folder, "an order came"))
		if err != nil || id != "d1" || end.Reason != history.Done {
			t.Fatalf("%s, %+v, %v", id, end, err)
		}
	}
	tell(t, k, "d1", "n1", "it was paid")
	kerneltest.Eventually(t, func() bool { return owes(t, k, "d1") == 0 })
	idle(t, k)
	next := words("d2", folder, "another order")
	next.Spec = conversation.Spec{Resume: "d1"}
	if id, end, err := k.Conversations.Run(t.Context(), next); err != nil || id != "d1" || end.Reason != history.Done {
		t.Fatalf("%s, %+v, %v", id, end, err)
	}
	want := []string{"user", "assistant", "turn_ended", "woken", "note", "assistant", "turn_ended", "user", "assistant", "turn_ended"}
	events := kerneltest.History(t, k, "d1")
	if got := types(events); !slices.Equal(got, want) {
		t.Errorf("the history is %q", got)
	}
	if events[0].By != "trigger orders" || events[0].Task != "d1" || len(model.Asked()) != 3 {
		t.Errorf("%+v, after %d requests", events[0], len(model.Asked()))
	}
	if idle(t, k); k.InUse() {
		t.Error("the kernel counts as used")
	}
	if _, _, err := k.Conversations.Run(t.Context(), conversation.Headless{}); tool.KindOf(err) != tool.Invalid {
		t.Errorf("without an ID: %v", err)
	}
}

// A kernel closes in the middle of a turn without a client: the next one resumes it by
// itself, and what is owed meanwhile is told. A kernel that ends with its command does not.
func TestHeadlessTurnOutlivesItsKernel(t *testing.T) {
	t.Parallel()
	state := kerneltest.StateDir(t)
	model, folder := backgroundApp(t, state, kerneltest.Answer{Text: "noted"})
	reached := model.StopAt(2)
	k := kerneltest.Open(t, state)
	_, _, err := k.Conversations.Run(t.Context(), words("d1", folder, "an order came"))
	ok(t, err)
	tell(t, k, "d1", "n1", "it was paid")
	<-reached
	tell(t, k, "d1", "n2", "it was sent")
	ok(t, k.Close())

	model.Play(kerneltest.Answer{Text: "I see both"})
	k = kerneltest.OpenWith(t, kernel.Config{State: state, ShortLived: true})
	if info, err := k.Conversations.Store.Get(t.Context(), "d1"); err != nil || info.Last != history.Interrupted || len(model.Asked()) != 2 {
		t.Errorf("%+v, %v, after %d requests", info, err, len(model.Asked()))
	}
	ok(t, k.Close())
	k = kerneltest.Open(t, state)
	kerneltest.Eventually(t, func() bool { return owes(t, k, "d1") == 0 && k.Sessions.Len() == 0 })
	info, err := k.Conversations.Store.Get(t.Context(), "d1")
	if err != nil || info.Last != history.Done {
		t.Errorf("%+v, %v", info, err)
	}
	if last := model.Last(); strings.Count(last, "it was paid") != 1 || strings.Count(last, "it was sent") != 1 {
		t.Errorf("the model was asked %s", last)
	}
}

// A turn without a client that was interrupted is resumed when it is run again, and its
// words are said once.
func TestInterruptedRunGoesOn(t *testing.T) {
	t.Parallel()
	state := kerneltest.StateDir(t)
	model, folder := backgroundApp(t, state)
	reached := model.StopAt(1)
	k := kerneltest.Open(t, state)
	ended := make(chan history.End, 1)
	go func() {
		_, end, err := k.Conversations.Run(context.WithoutCancel(t.Context()), words("d1", folder, "an order came"))
		if err != nil {
			t.Error(err)
		}
		ended <- end
	}()
	<-reached
	ok(t, k.Close())
	if end := <-ended; end.Reason != history.Interrupted {
		t.Errorf("%+v", end)
	}
	model.Play(kerneltest.Answer{Text: "noted"})
	k = kerneltest.OpenWith(t, kernel.Config{State: state, ShortLived: true}) // it goes on with nothing by itself
	_, end, err := k.Conversations.Run(t.Context(), words("d1", folder, "an order came"))
	if err != nil || end.Reason != history.Done {
		t.Errorf("%+v, %v", end, err)
	}
	if last := model.Last(); strings.Count(last, "an order came") != 1 || len(model.Asked()) != 2 {
		t.Errorf("after %d requests the model was asked %s", len(model.Asked()), last)
	}
}

// What a turn without a client asks waits for a human elsewhere, who may answer: the
// kernel itself may not.
func TestHeadlessTurnAsksAHuman(t *testing.T) {
	t.Parallel()
	state := kerneltest.StateDir(t)
	_, folder := backgroundApp(t, state, kerneltest.Answer{Calls: []string{`filesystem__write {"path":"a.txt","content":"x"}`}},
		kerneltest.Answer{Text: "written"})
	k := kerneltest.Open(t, state)
	ended := make(chan history.End, 1)
	go func() {
		_, end, err := k.Conversations.Run(t.Context(), words("d1", folder, "write it down"))
		if err != nil {
			t.Error(err)
		}
		ended <- end
	}()
	var pending []approval.Request
	kerneltest.Eventually(t, func() bool {
		var err error
		pending, err = k.Approvals.List(t.Context(), approval.Pending, 0)
		return err == nil && len(pending) == 1
	})
	inside := kerneltest.Human(t, k)
	inside.PID = os.Getpid()
	if err := k.Approvals.Answer(t.Context(), inside, pending[0].ID, approval.Answer{Approve: true}); tool.KindOf(err) != tool.Denied {
		t.Errorf("the kernel answered itself: %v", err)
	}
	kerneltest.Settle(t, k, pending[0].ID, approval.Answer{Approve: true})
	if end := <-ended; end.Reason != history.Done {
		t.Errorf("%+v", end)
	}
	if got, err := os.ReadFile(filepath.Join(folder, "a.txt")); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

// A client that opens a conversation takes over the turn that runs there without one;
// while it has it open nothing else speaks in it, and it is told by whoever attends.
func TestClientTakesOverAHeadlessTurn(t *testing.T) {
	t.Parallel()
	state := kerneltest.StateDir(t)
	model, folder := backgroundApp(t, state)
	reached := model.StopAt(1)
	k := kerneltest.Open(t, state)
	ended := make(chan history.End, 1)
	go func() {
		_, end, err := k.Conversations.Run(t.Context(), words("d1", folder, "an order came"))
		if err != nil {
			t.Error(err)
		}
		ended <- end
	}()
	<-reached
	model.Play(kerneltest.Answer{Text: "noted"})
	talk := kerneltest.Resume(t, k, "d1")
	if end := <-ended; end.Reason != history.Interrupted || end.Error != string(history.TakenOver) {
		t.Errorf("%+v", end)
	}
	if end, err := talk.Resume(t.Context(), conversation.Watch{}); err != nil || end.Reason != history.Done {
		t.Errorf("%+v, %v", end, err)
	}
	next := words("d2", folder, "another order")
	next.Spec = conversation.Spec{Resume: "d1"}
	if _, _, err := k.Conversations.Run(t.Context(), next); tool.KindOf(err) != tool.Conflict {
		t.Errorf("it spoke in a client's conversation: %v", err)
	}
	tell(t, k, "d1", "n1", "it was paid")
	if n := owes(t, k, "d1"); n != 1 {
		t.Errorf("%d are owed before anybody attends", n)
	}
	a := attend(t.Context(), t, talk)
	<-a.ends
}

// A client that opened a conversation, and attends it not, is told nothing; when it has
// left, the conversation goes on without it.
func TestGoesOnWhenItsClientLeaves(t *testing.T) {
	t.Parallel()
	state := kerneltest.StateDir(t)
	model, folder := backgroundApp(t, state, kerneltest.Answer{Text: "noted"}, kerneltest.Answer{Text: "I see"})
	k := kerneltest.Open(t, state)
	_, _, err := k.Conversations.Run(t.Context(), words("d1", folder, "an order came"))
	ok(t, err)
	talk := kerneltest.Resume(t, k, "d1")
	tell(t, k, "d1", "n1", "it was paid")
	if n := owes(t, k, "d1"); n != 1 {
		t.Errorf("%d are owed before anybody attends", n)
	}
	talk.Close()
	kerneltest.Eventually(t, func() bool { return owes(t, k, "d1") == 0 && k.Sessions.Len() == 0 })
	if last := model.Last(); len(model.Asked()) != 2 || !strings.Contains(last, "it was paid") {
		t.Errorf("asked %d times, at last %s", len(model.Asked()), last)
	}
}

// What was said with a token that was revoked is not gone on with by the kernel itself.
func TestRestsWhenItsTokenIsRevoked(t *testing.T) {
	t.Parallel()
	state := kerneltest.StateDir(t)
	model, folder := backgroundApp(t, state, kerneltest.Answer{Text: "noted"}, kerneltest.Answer{Text: "I see"})
	k := kerneltest.Open(t, state)
	_, _, err := k.Conversations.Run(t.Context(), words("d1", folder, "an order came"))
	ok(t, err)
	made, _, err := k.Tokens.Create(t.Context(), kerneltest.Human(t, k), token.Token{Role: token.Operator})
	ok(t, err)
	talk, err := k.Conversations.Open(t.Context(), conversation.Spec{
		Resume: "d1", Requester: approval.Requester{PID: approval.Hidden, Token: made.ID},
	})
	ok(t, err)
	tell(t, k, "d1", "n1", "it was paid")
	_, err = k.Tokens.Revoke(t.Context(), kerneltest.Human(t, k), made.ID)
	ok(t, err)
	talk.Close()
	tell(t, k, "d1", "n2", "it was sent")
	idle(t, k)
	if n, asked := owes(t, k, "d1"), len(model.Asked()); n != 2 || asked != 1 {
		t.Errorf("%d are owed, and the model was asked %d times", n, asked)
	}
	next := words("d2", folder, "another order")
	next.Spec = conversation.Spec{Resume: "d1"}
	_, _, err = k.Conversations.Run(t.Context(), next)
	ok(t, err)
	if n := owes(t, k, "d1"); n != 0 {
		t.Errorf("%d are owed when somebody has spoken", n)
	}
}

// Whoever opens a conversation that is about to go on without a client keeps it.
func TestClientKeepsWhatItOpened(t *testing.T) {
	t.Parallel()
	state := kerneltest.StateDir(t)
	_, folder := backgroundApp(t, state)
	k := kerneltest.Open(t, state)
	_, _, err := k.Conversations.Run(t.Context(), words("d1", folder, "an order came"))
	ok(t, err)
	talk := kerneltest.Resume(t, k, "d1")
	if _, err := conversation.OpenHeadless(t.Context(), k.Conversations, conversation.Spec{Resume: "d1"}); tool.KindOf(err) != tool.Conflict {
		t.Errorf("it was opened without a client: %v", err)
	}
	if end := kerneltest.Send(t, talk, "hi"); end.Reason != history.Done {
		t.Errorf("%+v", end)
	}
}

// A conversation of an app that has clients is not opened without one, and a
// conversation without a client does not go on for ever either.
func TestWhatIsNotOpened(t *testing.T) {
	t.Parallel()
	state := kerneltest.StateDir(t)
	model, folder := backgroundApp(t, state)
	k := kerneltest.Open(t, state)
	with, other := plainApp(t)
	talk := kerneltest.OpenConversation(t, k, other)
	kerneltest.Send(t, talk, "hi")
	talk.Close()
	tell(t, k, talk.ID(), "n0", "nobody is here")

	_, _, err := k.Conversations.Run(t.Context(), words("d1", folder, "an order came"))
	ok(t, err)
	for i := range owed.MaxAlone + 5 {
		tell(t, k, "d1", fmt.Sprint("n1-", i), "more")
		kerneltest.Eventually(t, func() bool { // the session is looked at last: before its turn there is none either
			return (owes(t, k, "d1") == 0 || len(model.Asked()) == owed.MaxAlone+1) && k.Sessions.Len() == 0
		})
	}
	kerneltest.Eventually(t, func() bool { return owes(t, k, "d1") >= 5 && k.Sessions.Len() == 0 })
	if len(model.Asked()) != owed.MaxAlone+1 {
		t.Errorf("the model was asked %d times", len(model.Asked()))
	}
	if n := owes(t, k, talk.ID()); n != 1 || len(with.Asked()) != 1 {
		t.Errorf("%d are owed, after %d requests", n, len(with.Asked()))
	}
	ok(t, k.Conversations.Delete(t.Context(), "d1"))
	list, err := k.Conversations.Tasks.List(t.Context(), task.Query{Owed: true})
	if err != nil || len(list) != 1 {
		t.Errorf("%d are owed, %v", len(list), err)
	}
}
