package questions_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/questions"
	"callgate/internal/question"
	"callgate/llm"
)

// askingVariable asks the test program to be a kernel whose agent asks; it says where.
const askingVariable = "CALLGATE_TEST_ASKING"

type askingPart struct{ State, Workspace string }

// askAndWait runs a turn in which the agent asks, and prints the conversation and the
// question. Nobody answers: the process is killed.
func askAndWait(value string) {
	var part askingPart
	must(json.Unmarshal([]byte(value), &part))
	ctx := context.Background()
	k, err := kernel.Open(ctx, kernel.Config{State: part.State})
	must(err)
	c, err := k.Conversations.Open(ctx, conversation.Spec{Workspace: part.Workspace})
	must(err)
	go func() { _, _ = c.Send(ctx, llm.TextMessage(llm.User, "go"), conversation.Watch{}) }()
	for r, err := range k.Questions.Watch(ctx) {
		must(err)
		fmt.Println(c.ID(), r.ID)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// A kernel is killed while its agent waits for an answer. The question is there at the
// next one; it is answered, and the resumed turn gets that answer, once.
func TestKilledBetweenQuestionAndAnswer(t *testing.T) {
	t.Parallel()
	model := kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{`ask_user {"question":"Which way?","choices":["left","right"]}`}},
		kerneltest.Answer{Text: "so be it"})
	folder, err := filepath.EvalSymlinks(t.TempDir())
	kerneltest.OK(t, err)
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"),
		"agents: [{id: a, brain: "+model.Brain("openai", "gpt-4o")+"}]\n")
	state := kerneltest.StateDir(t)
	first := kerneltest.Open(t, state) // accepts the app
	kerneltest.OpenConversation(t, first, folder).Close()
	kerneltest.OK(t, first.Close())

	value, err := json.Marshal(askingPart{state, folder})
	kerneltest.OK(t, err)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), askingVariable+"="+string(value), "CALLGATE_KEYRING=off")
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	kerneltest.OK(t, err)
	kerneltest.OK(t, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	kerneltest.OK(t, child.Process.Kill())
	_ = child.Wait()
	kerneltest.OK(t, err)
	talk, id, _ := strings.Cut(strings.TrimSpace(line), " ")

	k := kerneltest.Open(t, state)
	pending, err := k.Questions.List(t.Context(), questions.Pending)
	kerneltest.OK(t, err)
	if len(pending) != 1 || pending[0].ID != id {
		t.Fatalf("after the kill %+v waits, want %s", pending, id)
	}
	_, err = k.Questions.AnswerVouched(t.Context(), approval.Voucher{By: "ann"}, id,
		question.Reply{Approve: true, Choices: []string{"right"}})
	kerneltest.OK(t, err)
	c := kerneltest.Resume(t, k, talk)
	end, err := c.Resume(t.Context(), conversation.Watch{})
	kerneltest.OK(t, err)
	if last := model.Last(); end.Reason != history.Done || len(model.Asked()) != 2 || strings.Count(last, `user_response`) != 1 ||
		!strings.Contains(last, "right") {
		t.Errorf("the turn ended with %+v after %d requests; the last is %s", end, len(model.Asked()), last)
	}
	if all, err := k.Questions.List(t.Context(), ""); err != nil || len(all) != 1 {
		t.Errorf("%d questions were asked, %v", len(all), err)
	}
	if made := kerneltest.CallsMade(t, k, talk); len(made) != 1 {
		t.Errorf("the calls are %q", made)
	}
}

// A kernel is closed in order while its agent waits for an answer: the question stays, is answered
// at the next kernel, and the resumed turn gets that answer.
func TestClosedBetweenQuestionAndAnswer(t *testing.T) {
	t.Parallel()
	model := kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{`ask_user {"question":"Which way?","choices":["left","right"]}`}},
		kerneltest.Answer{Text: "so be it"})
	folder, err := filepath.EvalSymlinks(t.TempDir())
	kerneltest.OK(t, err)
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"),
		"agents: [{id: a, brain: "+model.Brain("openai", "gpt-4o")+"}]\n")
	state := kerneltest.StateDir(t)
	first := kerneltest.Open(t, state)
	talk := kerneltest.OpenConversation(t, first, folder)
	ended := make(chan history.End, 1)
	go func() {
		end, _ := talk.Send(t.Context(), llm.TextMessage(llm.User, "go"), conversation.Watch{})
		ended <- end
	}()
	var id string
	for r, err := range first.Questions.Watch(t.Context()) {
		kerneltest.OK(t, err)
		id = r.ID
		break
	}
	kerneltest.OK(t, first.Close())
	if end := <-ended; end.Reason != history.Interrupted {
		t.Fatalf("the turn ended with %+v", end)
	}

	k := kerneltest.Open(t, state)
	_, err = k.Questions.AnswerVouched(t.Context(), approval.Voucher{By: "ann"}, id,
		question.Reply{Approve: true, Choices: []string{"right"}})
	kerneltest.OK(t, err)
	end, err := kerneltest.Resume(t, k, talk.ID()).Resume(t.Context(), conversation.Watch{})
	kerneltest.OK(t, err)
	if last := model.Last(); end.Reason != history.Done || len(model.Asked()) != 2 || strings.Count(last, `user_response`) != 1 ||
		!strings.Contains(last, "right") {
		t.Errorf("the turn ended with %+v after %d requests; the last is %s", end, len(model.Asked()), last)
	}
	if all, err := k.Questions.List(t.Context(), ""); err != nil || len(all) != 1 {
		t.Errorf("%d questions were asked, %v", len(all), err)
	}
}
