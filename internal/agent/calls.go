package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"callgate/internal/conversation/history"
	"callgate/internal/resulttext"
	"callgate/llm"
	"callgate/tool"
)

// The limits of one answer.
const (
	maxCalls    = 128 // calls that are made; the others are refused
	maxParallel = 16  // calls that run at a time
)

// call writes an answer with its calls, and runs them in parallel. The refusals of
// those beyond the limit, and of those that were cut off, are written with it, all or
// none: a call of a turn that was killed is made or refused once the turn is resumed,
// never both.
func (t *turn) call(ctx context.Context, answer history.Event, proposed []llm.ToolCall, cut bool) error {
	info := t.cfg.Log.Info()
	made, refused := []history.Event{answer}, []history.Event{}
	var calls []history.Call
	var refusals []*tool.Result
	for i, c := range proposed {
		if e := refuse(c, i, cut); e != nil {
			r := &tool.Result{Status: tool.Refused, Summary: e.Error(), Error: e}
			refused = append(refused, t.endedEvent(history.Call{Model: c.ID, Name: c.Name}, r))
			refusals = append(refusals, r)
			continue
		}
		call := history.Call{Model: c.ID, ID: callID(info, i), Name: c.Name, Args: c.Args}
		calls = append(calls, call)
		made = append(made, history.Event{Type: history.CallMade, Call: &call})
	}
	if err := t.write(ctx, append(made, refused...)...); err != nil {
		return err
	}
	if t.observer.Ended != nil {
		for i, e := range refused {
			t.observer.Ended(*e.Call, refusals[i])
		}
	}
	return t.perform(ctx, calls)
}

// refuse returns why the i-th call of an answer is not made; nil: it is.
func refuse(c llm.ToolCall, i int, cut bool) *tool.Error {
	const op = "agent.call"
	switch {
	case i >= maxCalls:
		return tool.Errorf(op, tool.Limited,
			"an answer may make at most %d calls, and this one is beyond that", maxCalls).
			WithHint("make fewer at a time")
	case cut && !isObject(c.Args):
		return tool.Errorf(op, tool.Limited, "%s was not called: the limit of tokens cut your answer off in the middle "+
			"of the call's arguments", c.Name).
			WithHint("make a smaller call: write a long text in several calls, one part in each")
	}
	return nil
}

// isObject reports whether the arguments of a call are whole: those that were cut off
// are a JSON string.
func isObject(args json.RawMessage) bool {
	args = bytes.TrimSpace(args)
	return len(args) > 0 && args[0] == '{' && json.Valid(args)
}

// callID returns the kernel's ID of the n-th call after the last event.
func callID(info history.Info, n int) string {
	return fmt.Sprintf("%s-%d-%d", info.ID, info.Events, n+1)
}

// perform runs calls that are in the history, maxParallel at a time, and writes
// their results as they come. The turn's clock stands meanwhile: a call has a limit of
// its own, and a human may be asked.
func (t *turn) perform(ctx context.Context, calls []history.Call) error {
	if len(calls) > 0 {
		defer t.clock.pause()()
	}
	var mu sync.Mutex
	var failed error
	var made []history.Call
	var ended []*tool.Result
	for chunk := range slices.Chunk(calls, maxParallel) {
		begun := time.Now()
		if t.observer.Call != nil {
			for _, c := range chunk {
				t.observer.Call(c)
			}
		}
		results := t.cfg.Tools.Call(ctx, chunk, func(i int, r *tool.Result) {
			mu.Lock()
			defer mu.Unlock()
			if r.Again {
				return // by the turn that is resumed
			}
			if err := t.ended(ctx, chunk[i], t.asStopped(r, begun)); err != nil && failed == nil {
				failed = err
			}
		})
		if failed != nil {
			return failed
		}
		made, ended = append(made, chunk...), append(ended, results...)
	}
	t.guard.observe(made, ended)
	return t.applyGuard(ctx)
}

// ended writes the result of a call.
func (t *turn) ended(ctx context.Context, c history.Call, r *tool.Result) error {
	if t.observer.Ended != nil {
		t.observer.Ended(c, r)
	}
	return t.write(ctx, t.endedEvent(c, r))
}

func (t *turn) endedEvent(c history.Call, r *tool.Result) history.Event {
	return history.Event{
		Type: history.CallEnded, Call: &history.Call{Model: c.Model, ID: c.ID, Name: c.Name},
		Result: &history.Result{
			Status: r.Status, Summary: tool.TruncateTo(r.Summary, 500),
			Content: resulttext.Content(r, t.cfg.Names), Approval: r.Approval,
			Took: r.Took,
		},
	}
}

// applyGuard writes the notes of the loop guard for the model, or ends the turn.
func (t *turn) applyGuard(ctx context.Context) error {
	note, stop := t.guard.action()
	if stop != "" {
		return &errStop{history.End{Reason: history.Stuck, Error: stop}}
	}
	if note == "" {
		return nil
	}
	m := kernelNote(note)
	return t.write(ctx, history.Event{Type: history.Note, Message: &m})
}

// kernelNote returns a message of the kernel to the model.
func kernelNote(text string) llm.Message { return history.KernelNote(text) }

// resumeCalls ends every open call of an interrupted turn: with the result from the
// kernel's journal if the call was made, by making it if not.
func (t *turn) resumeCalls(ctx context.Context) error {
	var proposed []llm.ToolCall
	var made []*history.Call
	t.cfg.Log.View(func(s *history.State) { proposed, made = s.OpenCalls() })
	var pending []history.Call
	var added []history.Event
	info := t.cfg.Log.Info()
	for i, c := range proposed {
		if made[i] == nil {
			call := history.Call{Model: c.ID, ID: callID(info, i), Name: c.Name, Args: c.Args}
			added = append(added, history.Event{Type: history.CallMade, Call: &call})
			pending = append(pending, call)
			continue
		}
		result, wasMade, err := t.cfg.Tools.CallOutcome(ctx, made[i].ID)
		if err != nil {
			return err
		}
		if !wasMade { // it has touched nothing, so it is made now, under the same ID
			pending = append(pending, *made[i])
			continue
		}
		if err := t.ended(ctx, *made[i], result); err != nil {
			return err
		}
	}
	if len(added) > 0 {
		if err := t.write(ctx, added...); err != nil {
			return err
		}
	}
	return t.perform(ctx, pending)
}
