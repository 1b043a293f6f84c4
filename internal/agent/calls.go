package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"callgate/internal/agent/session"
	"callgate/llm"
	"callgate/tool"
)

// What one answer may ask for.
const (
	mostCalls  = 128 // more are not made
	sideBySide = 16  // run at a time
)

// call writes an answer down with its calls, and makes them, side by side.
func (t *turn) call(ctx context.Context, said session.Event, proposed []llm.ToolCall) error {
	info := t.cfg.Log.Info()
	events, calls := []session.Event{said}, make([]session.Call, min(mostCalls, len(proposed)))
	for i := range calls {
		c := proposed[i]
		calls[i] = session.Call{Model: c.ID, ID: callID(info, i), Name: c.Name, Args: c.Args}
		events = append(events, session.Event{Type: session.CallMade, Call: &calls[i]})
	}
	if err := t.write(ctx, events...); err != nil {
		return err
	}
	for _, c := range proposed[len(calls):] {
		e := tool.Errorf("agent.call", tool.Limited, "an answer may make at most %d calls, and this one is beyond that", mostCalls).WithHint("make fewer at a time")
		if err := t.ended(ctx, session.Call{Model: c.ID, Name: c.Name}, &tool.Result{Status: tool.Refused, Summary: e.Error(), Error: e}); err != nil {
			return err
		}
	}
	return t.perform(ctx, calls)
}

// callID is the kernel's ID for the call that is made as the n-th after the
// last event.
func callID(info session.Info, n int) string {
	return fmt.Sprintf("%s-%d-%d", info.ID, info.Events, n+1)
}

// perform makes calls that are written down, so many at a time, and writes
// their ends down as they come.
func (t *turn) perform(ctx context.Context, calls []session.Call) error {
	var mu sync.Mutex
	var broken error
	for some := range slices.Chunk(calls, sideBySide) {
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
			t.guard.saw(some[i], r)
		}
	}
	return t.heed(ctx)
}

// ended writes down how a call ended.
func (t *turn) ended(ctx context.Context, c session.Call, r *tool.Result) error {
	if t.watch.Ended != nil {
		t.watch.Ended(c, r)
	}
	return t.write(ctx, session.Event{
		Type: session.CallEnded, Call: &session.Call{Model: c.Model, ID: c.ID, Name: c.Name},
		Result: &session.Result{Status: r.Status, Summary: tool.ClipTo(r.Summary, 500), Content: Words(r), Approval: r.Approval},
	})
}

// heed tells the model what the guard noticed, or ends the turn.
func (t *turn) heed(ctx context.Context) error {
	note, stop := t.guard.verdict()
	if stop != "" {
		return &errStop{session.End{Reason: session.Stuck, Error: stop}}
	}
	if note == "" {
		return nil
	}
	m := remark(note)
	return t.write(ctx, session.Event{Type: session.Note, Message: &m})
}

// remark is what the kernel tells a model: marked, so that it is not taken for
// the user's words.
func remark(text string) llm.Message {
	return llm.TextMessage(llm.User, "<note>\n"+strings.ReplaceAll(text, "</note", "<\u200b/note")+"\n</note>")
}

// takeUp gives every call of a broken turn its end: from the kernel's journal
// where it was made, by making it where it was not.
func (t *turn) takeUp(ctx context.Context) error {
	var proposed []llm.ToolCall
	var made []*session.Call
	t.cfg.Log.View(func(s *session.State) { proposed, made = s.Open() })
	var todo []session.Call
	var fresh []session.Event
	info := t.cfg.Log.Info()
	for i, c := range proposed {
		if made[i] == nil {
			call := session.Call{Model: c.ID, ID: callID(info, i), Name: c.Name, Args: c.Args}
			fresh = append(fresh, session.Event{Type: session.CallMade, Call: &call})
			todo = append(todo, call)
			continue
		}
		result, was, err := t.cfg.Tools.Fate(ctx, made[i].ID)
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

// Words is what a model reads of a result: what went wrong, what the tool says,
// where the whole of it is, and what else there is to know.
func Words(r *tool.Result) []tool.Content {
	var out []tool.Content
	if r.Error != nil {
		out = append(out, tool.Text(r.Error.Words()))
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
