package agent

import (
	"context"
	"fmt"
	"strings"

	"callgate/internal/conversation/history"
	"callgate/llm"
)

// maxCutOff is how many answers in a row may be cut off by the limit of tokens before
// the turn ends.
const maxCutOff = 4

const goOnNote = "Your answer was cut off at the limit of tokens. " +
	"Go on exactly where you stopped, with the next character, and repeat nothing."

// goOn writes an answer that the limit of tokens cut off, and has the model go on with
// it. It does so with a note, not with the answer's beginning as the last message:
// models that think, and the newest ones, refuse to continue a message, and a note is
// appended like any other. An end is returned where it cannot go on.
func (t *turn) goOn(ctx context.Context, answer history.Event) (*history.End, error) {
	answer.Cut = &history.Cut{Why: history.CutLength}
	switch {
	case strings.TrimSpace(answer.Message.Text()) == "":
		answer.Message = &llm.Message{Role: llm.Assistant} // thoughts that broke off are no use
		t.last = append(t.last, answer)
		return t.model.cutEnd("the limit of tokens%s was used up before the model wrote any answer"), nil
	case t.cutOff >= maxCutOff:
		t.partial = true
		t.last = append(t.last, answer)
		return t.model.cutEnd(fmt.Sprintf("the limit of tokens%%s cut the answer off %d times", t.cutOff)), nil
	}
	answer.Cut.Note = goOnNote
	return nil, t.write(ctx, answer)
}

// cutEnd returns the end of a turn whose answer was cut off.
func (m *ModelConfig) cutEnd(format string) *history.End {
	limit := ""
	if n := m.Settings.MaxTokens; n > 0 {
		limit = fmt.Sprintf(" (max_tokens: %d)", n)
	}
	return &history.End{Reason: history.CutOff, Error: fmt.Sprintf(format, limit) +
		"; give the brain a larger max_tokens, or ask for less at a time"}
}

// refusedEnd returns the end of a turn in which the model declined to answer.
func refusedEnd(answer *llm.Response) *history.End {
	text := "the model declined to answer"
	if len(answer.Warnings) > 0 {
		text += ": " + strings.Join(answer.Warnings, "; ")
	}
	return &history.End{Reason: history.Refused, Error: text}
}
