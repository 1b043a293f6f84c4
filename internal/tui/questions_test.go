package tui

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/protocol"
	"callgate/internal/question"
)

// asks is the event of a question.
func asks(q question.Question) protocol.TurnEvent {
	return protocol.TurnEvent{Question: &protocol.Question{
		ID: "q1", State: protocol.QuestionPending, Question: q, Call: "c1", Deadline: time.Now().Add(time.Hour),
	}}
}

func TestQuestionsAreAnswered(t *testing.T) {
	t.Parallel()
	edited := "one plan"
	form := []question.Field{
		{Name: "port", Label: "Port", Type: question.Integer, Required: true}, {Name: "tls", Label: "TLS", Type: question.Boolean},
		{Name: "db", Label: "Database", Type: question.Select, Options: []string{"pg", "lite"}},
		{Name: "tags", Label: "Tags", Type: question.MultiSelect, Options: []string{"a", "b"}},
		{Name: "pw", Label: "Password", Type: question.Password},
	}
	for _, c := range []struct {
		name string
		asks question.Question
		do   func(*harness)
		want *question.Reply
	}{
		{"words", question.Question{Text: "Who?"}, func(h *harness) { h.typeText("Ada\n") }, &question.Reply{Approve: true, Text: "Ada"}},
		{"a choice", question.Question{Text: "Which?", Choices: []string{"x", "y"}}, func(h *harness) {
			h.wantShown("Which?", "( ) x", "( ) y")
			h.press("enter")
			h.wantShown("choose with the arrows first")
			h.press("down", "down", "enter")
		}, &question.Reply{Approve: true, Choices: []string{"y"}}},
		{"several", question.Question{Text: "Which?", Choices: []string{"x", "y"}, AllowMultiple: true}, func(h *harness) {
			h.typeText(" ")
			h.press("down")
			h.typeText(" ")
			h.press("enter")
		}, &question.Reply{Approve: true, Choices: []string{"x", "y"}}},
		{"a no", question.Question{Text: "Who?"}, func(h *harness) {
			h.press("ctrl+x")
			h.typeText("not now\n")
		}, &question.Reply{Feedback: "not now"}},
		{"edited", question.Question{Text: "This?", Content: "plan"}, func(h *harness) {
			h.press("ctrl+e", "home")
			h.typeText("one ")
			h.press("ctrl+s")
			h.wantShown("as you edited it:", "one plan")
			h.press("enter")
		}, &question.Reply{Approve: true, Content: &edited}},
		{"a form", question.Question{Text: "Where?", Form: form}, func(h *harness) {
			h.typeText("80\n")
			h.press("right", "down", "right", "right", "down", "down")
			h.typeText(" ")
			h.press("down")
			h.typeText("geheim")
			h.wantShown("Port *: 80", "TLS: ‹ yes ›", "Database: ‹ lite ›", "[x] b", "••••••")
			h.press("enter")
		}, &question.Reply{Approve: true, Fields: map[string]any{
			"port": "80", "tls": "yes", "db": "lite", "tags": []string{"b"}, "pw": "geheim",
		}}},
		{"left", question.Question{Text: "Who?"}, func(h *harness) {
			h.press("esc")
			h.wantShown("the agent asks: tab answers it: Who?")
			h.press("tab")
			h.wantShown("The agent asks")
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got *question.Reply
			runChat(t, func(_ *scriptedKernel, o *Options) {
				o.AnswerQuestion = func(_ context.Context, _ string, a protocol.AnswerQuestion) (protocol.Question, error) {
					got = &a.Reply
					return protocol.Question{}, nil
				}
			}, func(h *harness) {
				h.typeText("go\n")
				h.emit(callEvent(agentCall("c1", "ask_user", `{}`)), asks(c.asks))
				c.do(h)
			})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
