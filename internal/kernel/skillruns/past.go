package skillruns

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"callgate/internal/journal"
	"callgate/internal/skill"
	"callgate/tool"
)

// past is what the run of a conversation was before a change of it.
type past struct {
	At  int64 `json:"at"`            // the last event of the conversation when it changed
	Run *Run  `json:"run,omitempty"` // nil: there was none. Its Machine may be that of a later one
}

// maxPast is how many changes can be taken back.
const maxPast = 100

// replaced is the past of the run that comes in the place of r.
func (r *Run) replaced(next *Run, at int64) []past {
	if r == nil {
		return []past{{At: at}}
	}
	was := *r
	if was.Past = nil; was.Digest == next.Digest {
		was.Machine = nil
	}
	list := append(slices.Clone(r.Past), past{at, &was})
	return list[max(0, len(list)-maxPast):]
}

// asOf is the run as it was when an event was the conversation's last: nil is none. It
// reports false if it has not changed since.
func (r *Run) asOf(event int64) (was *Run, changed bool) {
	if r == nil {
		return nil, false
	}
	at := slices.IndexFunc(r.Past, func(p past) bool { return p.At >= event })
	if at < 0 {
		return nil, false
	}
	if r.Past[at].Run == nil {
		return nil, true
	}
	run := *r.Past[at].Run
	run.Past = r.Past[:at:at]
	if run.Machine == nil {
		run.Machine = r.machineOf(run.Digest, at)
	}
	return &run, run.Machine != nil
}

// machineOf is that of the skill with a digest, of the runs since one.
func (r *Run) machineOf(digest string, since int) *skill.Machine {
	for _, p := range r.Past[since:] {
		if p.Run != nil && p.Run.Digest == digest && p.Run.Machine != nil {
			return p.Run.Machine
		}
	}
	if r.Digest == digest {
		return r.Machine
	}
	return nil
}

// Rewind takes back what became of the run of a conversation after an event, for a user
// who goes back in it. Done again it changes nothing.
func (t *Table) Rewind(ctx context.Context, session string, event int64) error {
	t.mu.Lock()
	e := t.open[session]
	t.mu.Unlock()
	if e == nil { // the conversation is not open
		e = &entry{kept: true}
		run, err := t.load(ctx, session)
		if err != nil {
			return err
		}
		e.run = run
	}
	e.writing.Lock()
	defer e.writing.Unlock()
	t.mu.Lock()
	now := e.run
	t.mu.Unlock()
	was, changed := now.asOf(event)
	if !changed || !e.kept {
		return nil
	}
	text := fmt.Sprintf("in %s: the user went back to before the skill %s began", session, now.Skill)
	write := t.Delete
	if was != nil {
		text = fmt.Sprintf("in %s: the user went back: the skill %s is in the state %s again", session, was.Skill, was.State)
		write = func(ctx context.Context, session string) error { return t.write(ctx, session, was) }
	}
	if err := write(ctx, session); err != nil {
		return err
	}
	t.set(e, was)
	return t.journal.Append(journal.Record{Kind: journal.Noted, Note: tool.TruncateTo(text, 1000)})
}

// load reads the run of a conversation; nil: it has none.
func (t *Table) load(ctx context.Context, session string) (*Run, error) {
	doc, err := t.docs.Get(ctx, collection, session)
	if tool.KindOf(err) == tool.NotFound {
		return nil, nil
	}
	var run Run
	if err == nil {
		err = json.Unmarshal(doc.Data, &run)
	}
	if err != nil {
		return nil, &tool.Error{
			Op: "skillruns.Open", Kind: tool.KindOf(err), Err: err,
			Message: "it cannot be read which skill " + session + " is in the middle of",
		}
	}
	return &run, nil
}
