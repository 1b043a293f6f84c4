package conversation_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/kernel/kerneltest"
	"callgate/llm"
)

// askedFile is there when the model was asked, in the folder of a kernel that is killed.
const askedFile = "asked"

// queueWhenItRuns says something to a turn as soon as its model was asked, in a kernel
// that is killed then.
func queueWhenItRuns(ctx context.Context, talk *conversation.Conversation, words string) {
	for range time.Tick(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(os.Getenv("CALLGATE_TEST_FOLDER"), askedFile)); err != nil {
			continue
		}
		switch q, err := talk.Queue(ctx, llm.TextMessage(llm.User, words)); {
		case err != nil:
			panic(err)
		case q != nil:
			fmt.Println("hanging")
			return
		}
	}
}

// A kernel is killed after it accepted what the user said and before its model was
// told: whoever opens the conversation again sees that it waits, and the turn that
// goes on takes it.
func TestQueuedMessageSurvivesAKill(t *testing.T) {
	t.Parallel()
	state, folder := filepath.Join(kerneltest.StateDir(t), "s"), t.TempDir()
	model := kerneltest.NewModel(t)
	reached := model.StopAt(1)
	write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\n")
	accept(t, state, folder)
	go func() {
		<-reached
		write(t, filepath.Join(folder, askedFile), "")
	}()
	id := killIt(t, state, folder, 0, nil, "CALLGATE_TEST_QUEUE=and tell me why")

	model.Play(kerneltest.Answer{Text: "because"})
	k := kerneltest.Open(t, state, marks(folder))
	talk, err := k.Conversations.Open(t.Context(), conversation.Spec{Resume: id})
	ok(t, err)
	if waiting := talk.Queued(); len(waiting) != 1 || waiting[0].Message.Text() != "and tell me why" {
		t.Errorf("what waits is %+v", waiting)
	}
	end, err := talk.Resume(t.Context(), conversation.Watch{})
	if err != nil || end.Reason != history.Done {
		t.Fatalf("%+v, %v", end, err)
	}
	if last := model.Last(); strings.Count(last, "and tell me why") != 1 {
		t.Errorf("the model was asked %s", last)
	}
	if waiting := talk.Queued(); len(waiting) != 0 {
		t.Errorf("%+v waits still", waiting)
	}
}

// Whatever is said right after a message was sent reaches the turn of that message:
// it does not depend on who is faster.
func TestQueueWaitsForTheTurnToBegin(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	model := kerneltest.NewModel(t)
	reached := model.StopAt(1)
	write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\n")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	if q, err := talk.Queue(t.Context(), llm.TextMessage(llm.User, "nobody works")); q != nil || err != nil {
		t.Errorf("without a turn: %+v, %v", q, err)
	}
	ended := make(chan history.End, 1)
	go func() { ended <- kerneltest.Send(t, talk, "go") }()
	<-reached
	for _, words := range []string{"one", "two"} {
		if q, err := talk.Queue(t.Context(), llm.TextMessage(llm.User, words)); q == nil || err != nil {
			t.Fatalf("%+v, %v", q, err)
		}
	}
	if q, err := talk.Unqueue(t.Context()); err != nil || q == nil || q.Message.Text() != "two" {
		t.Errorf("%+v, %v", q, err)
	}
	talk.Cancel()
	end := <-ended
	if end.Reason != history.Cancelled || len(end.Returned) != 1 || end.Returned[0].Message.Text() != "one" {
		t.Errorf("%+v", end)
	}
}
