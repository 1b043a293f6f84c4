package agent

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"callgate/internal/agent/session"
	"callgate/llm"
	"callgate/tool"
)

// call writes an answer down with its calls, and makes them, side by side.
func (t *turn) call(ctx context.Context, said session.Event, proposed []llm.ToolCall) error {
	info := t.cfg.Log.Info()
	calls := make([]session.Call, len(proposed))
	for i, c := range proposed {
		calls[i] = session.Call{Model: c.ID, ID: callID(info, i), Name: c.Name, Args: c.Args}
	}
	return t.make(ctx, calls, said)
}

// callID is the kernel's ID for the call that is made as the n-th after the
// last event.
func callID(info session.Info, n int) string {
	return fmt.Sprintf("%s-%d-%d", info.ID, info.Events, n+1)
}

// make writes calls down after what came before them, makes them, and writes
// their ends down as they come.
func (t *turn) make(ctx context.Context, calls []session.Call, before ...session.Event) error {
	for i := range calls {
		before = append(before, session.Event{Type: session.CallMade, Call: &calls[i]})
	}
	if len(before) == 0 {
		return nil
	}
	if err := t.write(ctx, before...); err != nil {
		return err
	}
	if t.watch.Call != nil {
		for _, c := range calls {
			t.watch.Call(c)
		}
	}
	var mu sync.Mutex
	var broken error
	results := t.cfg.Tools.Call(ctx, calls, func(i int, r *tool.Result) {
		mu.Lock()
		defer mu.Unlock()
		if err := t.ended(ctx, calls[i], r); err != nil && broken == nil {
			broken = err
		}
	})
	if broken != nil {
		return broken
	}
	for i, r := range results {
		t.guard.saw(calls[i], r)
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
		Result: &session.Result{Status: r.Status, Summary: tool.ClipTo(r.Summary, 500), Content: Words(r)},
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
	return llm.Say(llm.User, "<note>\n"+strings.ReplaceAll(text, "</note", "<\u200b/note")+"\n</note>")
}

// takeUp gives every call of a broken turn its end: from the kernel's journal
// where it was made, by making it where it was not.
func (t *turn) takeUp(ctx context.Context) error {
	var proposed []llm.ToolCall
	var made []*session.Call
	t.cfg.Log.View(func(s *session.State) { proposed, made = s.Open() })
	var todo []session.Call
	info := t.cfg.Log.Info()
	for i, c := range proposed {
		again := session.Call{Model: c.ID, ID: callID(info, i), Name: c.Name, Args: c.Args}
		if made[i] == nil {
			todo = append(todo, again)
			continue
		}
		result, was, err := t.cfg.Tools.Fate(ctx, made[i].ID)
		if err != nil {
			return err
		}
		if !was {
			todo = append(todo, again)
			continue
		}
		if err := t.ended(ctx, *made[i], result); err != nil {
			return err
		}
	}
	return t.make(ctx, todo)
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
