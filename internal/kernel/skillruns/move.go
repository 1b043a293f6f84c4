package skillruns

import (
	"context"
	"encoding/json"
	"fmt"

	"callgate/internal/document"
	"callgate/internal/journal"
	"callgate/internal/skill"
	"callgate/tool"
)

// Begin begins a skill with states in a session, and returns what the model is told. call
// is the ID of the call that begins it: the same one made again begins nothing.
func (t *Table) Begin(
	ctx context.Context, session, call string, s *skill.Skill, input json.RawMessage,
) (told string, err error) {
	const op = "skillruns.Begin"
	return t.change(ctx, session, call, func(now *Run) (*Run, error) {
		if now.Holds() && now.Ended == "" {
			return nil, tool.Errorf(op, tool.Conflict, "the skill %s is under way, in the state %s", now.Skill, now.State).
				WithHint("end it first: %s", now.limit().Ways())
		}
		if err := s.Machine.CheckInput(input); err != nil {
			return nil, err
		}
		return &Run{
			Skill: s.Name, Digest: s.Digest, Machine: s.Machine, State: s.Machine.Initial, Step: 1, Input: input,
		}, nil
	})
}

// Step moves the skill of a session, and returns what the model is told.
func (t *Table) Step(ctx context.Context, session, call, on string, output json.RawMessage) (string, error) {
	const op = "skillruns.Step"
	var wrong error
	told, err := t.change(ctx, session, call, func(now *Run) (*Run, error) {
		if !now.Holds() {
			return nil, tool.Errorf(op, tool.Conflict, "no skill with states is under way").
				WithHint("use_skill begins one")
		}
		next := *now
		if now.Ended == Forced {
			return &next, nil
		}
		next.Step++
		to, err := now.Machine.Next(now.State, on)
		ends := err == nil && now.Machine.States[to].Terminal
		if ends {
			if err = now.Machine.CheckOutput(output); err != nil {
				to, ends = "", false
			}
		}
		switch {
		case ends:
			next.State, next.Ended, next.Output = to, Done, output
		case next.Step > now.Machine.MaxSteps:
			next.Step, next.Ended = now.Machine.MaxSteps, Forced
		case err != nil:
			wrong = err // a step that leads nowhere counts, or one could go on for ever
		default:
			next.State = to
		}
		return &next, nil
	})
	if err == nil && wrong != nil {
		return "", wrong
	}
	return told, err
}

// Said ends the skill of a session if the user's words do, and reports the one that it
// ended; nil: none.
func (t *Table) Said(ctx context.Context, session string) (*Run, error) {
	ends := func(now *Run) bool { return now.Ended == Forced || now.Machine.Interruptible }
	return t.end(ctx, session, ends, Interrupted)
}

// Stop ends the skill of a session by the user's word.
func (t *Table) Stop(ctx context.Context, session string) (*Run, error) {
	return t.end(ctx, session, func(*Run) bool { return true }, Stopped)
}

func (t *Table) end(ctx context.Context, session string, ends func(*Run) bool, how End) (*Run, error) {
	now := t.Of(session)
	if now == nil || !ends(now) {
		return nil, nil
	}
	_, err := t.change(ctx, session, "", func(now *Run) (*Run, error) {
		if !now.Holds() {
			return nil, tool.Errorf("skillruns.End", tool.Conflict, "no skill is under way")
		}
		next := *now
		next.Ended = how
		return &next, nil
	})
	return now, err
}

// change makes the run of a session another one: it is written, noted, and counts.
func (t *Table) change(
	ctx context.Context, session, call string, change func(now *Run) (*Run, error),
) (told string, err error) {
	t.mu.Lock()
	e := t.open[session]
	t.mu.Unlock()
	if e == nil {
		return "", tool.Errorf("skillruns.Change", tool.NotFound, "there is no open session %s", tool.Truncate(session))
	}
	e.writing.Lock()
	defer e.writing.Unlock()
	t.mu.Lock()
	now := e.run
	t.mu.Unlock()
	if now != nil && call != "" && now.Call == call {
		return now.Told, nil // it was made before a crash
	}
	next, err := change(now)
	if err != nil {
		return "", err
	}
	next.Call, next.Told = call, next.Tell()
	if e.kept {
		next.Past = now.replaced(next, t.position(session))
		if err := t.write(ctx, session, next); err != nil {
			return "", err
		}
	}
	t.set(e, next)
	return next.Told, t.note(session, now, next)
}

func (t *Table) write(ctx context.Context, session string, run *Run) error {
	data, err := json.Marshal(run)
	if err != nil {
		return err
	}
	_, err = document.Update(ctx, t.docs, func() ([]document.Change, error) {
		doc, err := t.docs.Get(ctx, collection, session)
		if err != nil && tool.KindOf(err) != tool.NotFound {
			return nil, err
		}
		return []document.Change{{Collection: collection, Key: session, If: doc.Version, Data: data}}, nil
	})
	return err
}

// note has the journal say how a run went on.
func (t *Table) note(session string, before, now *Run) error {
	text := fmt.Sprintf("in %s: the skill %s (sha256 %.12s) is in the state %s", session, now.Skill, now.Digest, now.State)
	switch {
	case now.Ended != "":
		text = fmt.Sprintf("in %s: the skill %s ended (%s) in the state %s", session, now.Skill, now.Ended, now.State)
	case before.Holds() && before.State == now.State:
		return nil
	}
	return t.journal.Append(journal.Record{Kind: journal.Noted, Note: tool.TruncateTo(text, 1000)})
}
