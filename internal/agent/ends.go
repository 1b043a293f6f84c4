package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"callgate/internal/conversation/history"
	"callgate/tool"
)

// interruptedEnd returns the end of a turn whose context ended.
func (t *turn) interruptedEnd() history.End {
	if t.outer.Err() == nil {
		return history.End{Reason: history.TimedOut, Error: fmt.Sprintf(
			"the model took longer than %v in this turn; the time of calls and of questions is not counted", t.cfg.Timeout)}
	}
	if why := t.interruption(); why != "" {
		return history.End{Reason: history.Interrupted, Error: why}
	}
	return history.End{Reason: history.Cancelled}
}

// interruption returns why a turn ended that nobody stopped, or "".
func (t *turn) interruption() string {
	var why history.Interruption
	_ = errors.As(context.Cause(t.outer), &why)
	return string(why)
}

// endNote returns what the model is told of the end of the turn with its next request.
func (t *turn) endNote(end history.End) string {
	unfinished := ""
	if t.partial {
		unfinished = " Your last answer is not complete."
	}
	switch end.Reason {
	case history.Cancelled:
		return "The user stopped you here." + unfinished +
			" What you were doing is not finished; what the user says next goes before it."
	case history.Interrupted:
		if t.partial {
			return "You were interrupted here: " + end.Error + "." + unfinished + " Go on."
		}
	case history.Stuck, history.MaxTurns, history.TimedOut, history.CutOff, history.Cost:
		return "Your turn was ended here: " + end.Error + "." + unfinished
	case history.Failed:
		if t.partial {
			return "Your turn broke off here, because the provider failed." + unfinished
		}
	}
	return ""
}

// asStopped has the result of a call that was stopped with its turn say so: by whom, and
// after how long. What it had printed follows, where its tool gives that.
func (t *turn) asStopped(r *tool.Result, begun time.Time) *tool.Result {
	const cancelled = "the call was cancelled" // the gate's words
	e := r.Error
	if t.outer.Err() == nil || e == nil ||
		e.Kind != tool.Cancelled && !(e.Kind == tool.InDoubt && strings.HasPrefix(e.Message, cancelled)) {
		return r
	}
	took := cmp.Or(r.Took, time.Since(begun)).Round(time.Second)
	words := fmt.Sprintf("stopped by the user after %.0f s", took.Seconds())
	if why := t.interruption(); why != "" {
		words = fmt.Sprintf("stopped after %.0f s: %s", took.Seconds(), why)
	}
	if rest, ok := strings.CutPrefix(e.Message, cancelled); ok {
		words += rest
	}
	if len(r.Content) > 0 {
		words += "; output so far:"
	}
	result, stopped := *r, *e
	stopped.Message = words
	result.Error, result.Summary = &stopped, strings.TrimSuffix(words, "; output so far:")
	return &result
}
