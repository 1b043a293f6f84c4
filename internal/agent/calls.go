package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// What one answer may ask for.
const (
	maxCalls    = 128 // more are not made
	maxParallel = 16  // run at a time
)

// call writes an answer down with its calls, and makes them, side by side.
func (t *turn) call(ctx context.Context, said history.Event, proposed []llm.ToolCall) error {
	info := t.cfg.Log.Info()
	events, calls := []history.Event{said}, make([]history.Call, min(maxCalls, len(proposed)))
	for i := range calls {
		c := proposed[i]
		calls[i] = history.Call{Model: c.ID, ID: callID(info, i), Name: c.Name, Args: c.Args}
		events = append(events, history.Event{Type: history.CallMade, Call: &calls[i]})
	}
	if err := t.write(ctx, events...); err != nil {
		return err
	}
	for _, c := range proposed[len(calls):] {
		e := tool.Errorf("agent.call", tool.Limited, "an answer may make at most %d calls, and this one is beyond that", maxCalls).WithHint("make fewer at a time")
		if err := t.ended(ctx, history.Call{Model: c.ID, Name: c.Name}, &tool.Result{Status: tool.Refused, Summary: e.Error(), Error: e}); err != nil {
			return err
		}
	}
	return t.perform(ctx, calls)
}

// callID is the kernel's ID for the call that is made as the n-th after the
// last event.
func callID(info history.Info, n int) string {
	return fmt.Sprintf("%s-%d-%d", info.ID, info.Events, n+1)
}

// perform makes calls that are written down, so many at a time, and writes
// their ends down as they come.
func (t *turn) perform(ctx context.Context, calls []history.Call) error {
	var mu sync.Mutex
	var broken error
	for some := range slices.Chunk(calls, maxParallel) {
		if t.watch.Call != nil {
			for _, c := range some {
				t.watch.Call(c)
			}
		}
		results := t.cfg.Tools.Call(ctx, some, func(i int, r *tool.Result) {
			mu.Lock()
			defer mu.Unlock()
			if err := t.ended(ctx, some[i], r); err != nil && broken == nil {
				broken = err
			}
		})
		if broken != nil {
			return broken
		}
		for i, r := range results {
			t.guard.observe(some[i], r)
		}
	}
	return t.applyGuard(ctx)
}

// ended writes down how a call ended.
func (t *turn) ended(ctx context.Context, c history.Call, r *tool.Result) error {
	if t.watch.Ended != nil {
		t.watch.Ended(c, r)
	}
	return t.write(ctx, history.Event{
		Type: history.CallEnded, Call: &history.Call{Model: c.Model, ID: c.ID, Name: c.Name},
		Result: &history.Result{Status: r.Status, Summary: tool.TruncateTo(r.Summary, 500), Content: ResultContent(r), Approval: r.Approval},
	})
}

// applyGuard tells the model what the guard noticed, or ends the turn.
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

// kernelNote is what the kernel tells a model: marked, so that it is not taken for
// the user's words.
func kernelNote(text string) llm.Message {
	return llm.TextMessage(llm.User, "<note>\n"+strings.ReplaceAll(text, "</note", "<\u200b/note")+"\n</note>")
}

// resumeCalls gives every call of a broken turn its end: from the kernel's journal
// where it was made, by making it where it was not.
func (t *turn) resumeCalls(ctx context.Context) error {
	var proposed []llm.ToolCall
	var made []*history.Call
	t.cfg.Log.View(func(s *history.State) { proposed, made = s.OpenCalls() })
	var todo []history.Call
	var fresh []history.Event
	info := t.cfg.Log.Info()
	for i, c := range proposed {
		if made[i] == nil {
			call := history.Call{Model: c.ID, ID: callID(info, i), Name: c.Name, Args: c.Args}
			fresh = append(fresh, history.Event{Type: history.CallMade, Call: &call})
			todo = append(todo, call)
			continue
		}
		result, was, err := t.cfg.Tools.CallOutcome(ctx, made[i].ID)
		if err != nil {
			return err
		}
		if !was { // it has touched nothing: it is made now, under its own ID
			todo = append(todo, *made[i])
			continue
		}
		if err := t.ended(ctx, *made[i], result); err != nil {
			return err
		}
	}
	if len(fresh) > 0 {
		if err := t.write(ctx, fresh...); err != nil {
			return err
		}
	}
	return t.perform(ctx, todo)
}

// ResultContent is what a model reads of a result: what went wrong, what the tool says,
// where the whole of it is, and what else there is to know.
func ResultContent(r *tool.Result) []tool.Content {
	var out []tool.Content
	if r.Error != nil {
		out = append(out, tool.Text(r.Error.ModelText()))
	}
	out = append(out, r.Content...)
	switch {
	case len(out) > 0:
	case len(r.Data) > 0:
		out = append(out, tool.Text(string(r.Data)))
	default:
		out = append(out, tool.Text(r.Summary))
	}
	var beside []string
	if r.ArtifactRef != "" {
		beside = append(beside, "the whole result is kept as "+r.ArtifactRef)
	}
	for _, w := range r.Warnings {
		beside = append(beside, "note: "+w)
	}
	if len(beside) > 0 {
		out = append(out, tool.Text(strings.Join(beside, "\n")))
	}
	return out
}
