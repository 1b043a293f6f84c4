package callgate_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate"
	"callgate/llm"
	"callgate/tool"
)

func openQuestioner(t *testing.T) (*callgate.Kernel, string) {
	t.Helper()
	kernel, err := callgate.Open(t.Context(), callgate.Config{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kernel.Close() })
	return kernel, t.TempDir()
}

const formQuestion = `{"question":"How is it served?","form":[
	{"name":"port","type":"int","required":true,"min":1,"max":65535},
	{"name":"tls","label":"Use TLS?","type":"checkbox","default":false},
	{"name":"pass","type":"password"}]}`

// A program that embeds the kernel is shown what is asked, and answers it once.
func TestProgramAnswersAQuestion(t *testing.T) {
	t.Parallel()
	kernel, workspace := openQuestioner(t)
	session, err := kernel.OpenSession(t.Context(), callgate.SessionConfig{Workspace: workspace})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan *tool.Result, 1)
	go func() { ended <- session.Call(t.Context(), "ask_user", json.RawMessage(formQuestion)) }()
	var q callgate.Question
	for asked, err := range kernel.Questions().Watch(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		q = asked
		break
	}
	if q.State != callgate.QuestionAsked || q.Text != "How is it served?" || len(q.Form) != 3 || q.Workspace != session.Workspace() {
		t.Fatalf("%+v", q)
	}
	if f := q.Form[0]; f.Type != "integer" || !f.Required || *f.Max != 65535 || q.Form[1].Label != "Use TLS?" {
		t.Errorf("%+v", q.Form)
	}
	answer := func(r callgate.Reply) error { return kernel.Questions().Answer(t.Context(), q.ID, r) }
	if err := answer(callgate.Reply{Fields: map[string]any{"port": 1}}); tool.KindOf(err) != tool.Invalid {
		t.Errorf("an answer of nobody: %v", err)
	}
	err = answer(callgate.Reply{Fields: map[string]any{"port": 70000}, By: "ada"})
	if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), "65535") {
		t.Errorf("an answer that does not fit: %v", err)
	}
	fits := callgate.Reply{Fields: map[string]any{"port": 8080, "tls": "yes", "pass": "correct-horse"}, By: "ada"}
	if err := answer(fits); err != nil {
		t.Fatal(err)
	}
	result := <-ended
	for _, want := range []string{`"port":8080`, `"tls":true`, "kept as the secret"} {
		if !strings.Contains(string(result.Data), want) {
			t.Errorf("%s is not in %s", want, result.Data)
		}
	}
	if err := answer(fits); tool.KindOf(err) != tool.Conflict {
		t.Errorf("a second answer: %v", err)
	}
	settled, err := kernel.Questions().Get(t.Context(), q.ID)
	if err != nil || settled.State != callgate.QuestionAnswered || settled.By != "ada" {
		t.Errorf("%v: %+v", err, settled)
	}
	if !strings.Contains(settled.Answer, "8080") || strings.Contains(settled.Answer, "correct-horse") {
		t.Errorf("answered with %q", settled.Answer)
	}
	waiting, err := kernel.Questions().List(t.Context(), callgate.QuestionAsked)
	if err != nil || len(waiting) != 0 {
		t.Errorf("%v: %+v", err, waiting)
	}
}

// questioner is a model that asks, and then says what it was told.
type questioner struct{}

func (questioner) Generate(_ context.Context, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	for _, part := range r.Messages[len(r.Messages)-1].Parts {
		if part.Result != nil {
			return &llm.Response{Message: llm.TextMessage(llm.Assistant, part.Result.Text()), Stop: llm.StopEnd}, nil
		}
	}
	call := llm.ToolCall{ID: "1", Name: "context_builder__ask_user", Args: json.RawMessage(`{"question":"Which one?"}`)}
	return &llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &call}}}, Stop: llm.StopTools}, nil
}

// What an agent asks comes in the stream of its turn, and in no other's.
func TestQuestionsComeWithTheTurn(t *testing.T) {
	t.Parallel()
	kernel, workspace := openQuestioner(t)
	app := filepath.Join(workspace, "callgate.yaml")
	if err := os.WriteFile(app, []byte("app: {app_id: desk}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	session, err := kernel.OpenSession(t.Context(), callgate.SessionConfig{Workspace: workspace})
	if err != nil {
		t.Fatal(err)
	}
	go session.Call(t.Context(), "ask_user", json.RawMessage(`{"question":"Somebody else's?"}`))
	for q, err := range kernel.Questions().Watch(t.Context()) {
		if err != nil || q.Text == "Somebody else's?" {
			break
		}
	}
	conversation, err := kernel.OpenConversation(t.Context(), callgate.ConversationConfig{Workspace: workspace, Model: questioner{}})
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	var said string
	for event, err := range conversation.Send(t.Context(), "find out") {
		if err != nil {
			t.Fatal(err)
		}
		switch event.Kind {
		case callgate.EventQuestion:
			asked = append(asked, event.Question.Text)
			if err := kernel.Questions().Answer(t.Context(), event.Question.ID, callgate.Reply{Deny: true, Feedback: "neither", By: "ada"}); err != nil {
				t.Fatal(err)
			}
		case callgate.EventEnd:
			said = event.End.Answer
		}
	}
	if len(asked) != 1 || asked[0] != "Which one?" || !strings.Contains(said, `"user_feedback":"neither"`) {
		t.Errorf("asked %q, said %q", asked, said)
	}
}
