package acp

import (
	"context"
	"strconv"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"callgate/internal/protocol"
	"callgate/internal/question"
	"callgate/internal/visible"
	"callgate/tool"
)

// optionChoice is followed by the number of a question's choice.
const optionChoice = "choice-"

// question puts what the agent asks before the human at the editor: as options where it is
// a yes or a choice, which is all that the protocol can show. Otherwise it says how it is
// answered.
func (t *turn) question(q protocol.Question) {
	if q.State != protocol.QuestionPending {
		t.takeBack(q.ID)
		return
	}
	options := questionOptions(q.Question)
	if options == nil {
		t.say("The agent asks: " + visible.Clip(q.Question.Text, maxQuestion) +
			"\n\nIt waits for an answer: callgate questions answer " + q.ID)
		return
	}
	ctx, cancel := context.WithCancel(t.ctx)
	t.askedMu.Lock()
	t.asked[q.ID] = cancel
	t.askedMu.Unlock()
	text := visible.Clip(q.Question.Text, maxQuestion)
	content := text
	if q.Question.Content != "" {
		content += "\n\n" + visible.Text(q.Question.Content)
	}
	shown := sdk.ToolCallUpdate{
		ToolCallId: sdk.ToolCallId(q.Call), Title: sdk.Ptr(text), Kind: sdk.Ptr(sdk.ToolKindOther),
		Status: sdk.Ptr(sdk.ToolCallStatusPending), Content: textContent(content),
	}
	t.asking.Go(func() {
		defer cancel()
		answer, err := t.agent.editor.RequestPermission(ctx, sdk.RequestPermissionRequest{
			SessionId: t.id, Options: options, ToolCall: shown,
		})
		if ctx.Err() != nil {
			return // it was answered elsewhere, or the turn has ended
		}
		if err != nil {
			t.say("The editor did not ask: " + err.Error() + ". It waits: callgate questions answer " + q.ID)
			return
		}
		t.reply(ctx, q, answer.Outcome)
	})
}

// maxQuestion bounds the words of a question.
const maxQuestion = 2000

// reply tells the kernel what the human said.
func (t *turn) reply(ctx context.Context, q protocol.Question, o sdk.RequestPermissionOutcome) {
	if o.Selected == nil { // the editor was told to stop, or closed the question
		return
	}
	reply := &question.Reply{Approve: o.Selected.OptionId != optionNo}
	if number, ok := strings.CutPrefix(string(o.Selected.OptionId), optionChoice); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > len(q.Question.Choices) {
			return
		}
		reply.Choices = []string{q.Question.Choices[n-1]}
	}
	err := t.conversation.AnswerForm(ctx, protocol.FormAnswer{Client: t.agent.human(), Question: q.ID, Reply: reply})
	if err != nil && tool.KindOf(err) != tool.Conflict && ctx.Err() == nil {
		t.say("The answer did not count: " + err.Error())
	}
}

// questionOptions are how a question may be answered; nil: not with options.
func questionOptions(q question.Question) []sdk.PermissionOption {
	no := sdk.PermissionOption{Kind: sdk.PermissionOptionKindRejectOnce, Name: "No", OptionId: optionNo}
	switch {
	case len(q.Form) > 0 || q.AllowMultiple:
		return nil
	case len(q.Choices) > 0:
		var options []sdk.PermissionOption
		for i, c := range q.Choices {
			options = append(options, sdk.PermissionOption{
				Kind: sdk.PermissionOptionKindAllowOnce, Name: visible.Text(c),
				OptionId: sdk.PermissionOptionId(optionChoice + strconv.Itoa(i+1)),
			})
		}
		return append(options, no)
	case q.ResponseType == question.Approval || q.Content != "":
		return []sdk.PermissionOption{{Kind: sdk.PermissionOptionKindAllowOnce, Name: "Yes", OptionId: optionOnce}, no}
	}
	return nil
}
