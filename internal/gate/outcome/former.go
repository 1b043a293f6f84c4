package outcome

import (
	"context"
	"slices"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/tool"
)

// # Calls of a kernel that does not live any more
//
// A kernel that goes on with what another has left reads the other's journal, which is not added to any more. A call
// that is not in its own has what the other's records say: its end; that it began, and then it is in doubt, here too
// and on record; or nothing, and then it is made here. What waits for a human there was put on record here when its
// approval was taken over.

// ReadFormers has calls that are not in the kernel's journal looked for in those of kernels that have ended.
func (o *Reader) ReadFormers(stores []journal.Store) { o.formers.Store(&stores) }

// former returns the furthest that a call came at a kernel that has ended, and whose journal says so.
func (o *Reader) former(ctx context.Context, call string) (of journal.Store, s State, r *tool.Result, err error) {
	stores := o.formers.Load()
	if stores == nil {
		return nil, NotStarted, nil, nil
	}
	rank := []State{NotStarted, Pending, InDoubt, Ended}
	for _, store := range *stores {
		state, result, err := Elsewhere(ctx, store, o.artifacts, call)
		if err != nil {
			return nil, NotStarted, nil, err
		}
		if of == nil || slices.Index(rank, state) > slices.Index(rank, s) {
			of, s, r = store, state, result
		}
	}
	return of, s, r, nil
}

// before is what became of a call before this kernel went on with it. One that began is in doubt from here on, and its
// asker is told now.
func (o *Reader) before(ctx context.Context, call string) (State, *tool.Result, error) {
	of, state, result, err := o.former(ctx, call)
	switch {
	case err != nil:
		return NotStarted, nil, err
	case state == Ended:
		return Ended, result, nil
	case state == InDoubt:
		return InDoubt, nil, o.doubtHere(ctx, of, call)
	}
	return NotStarted, nil, nil
}

// collectBefore is Collect for a call that is not in the journal.
func (o *Reader) collectBefore(ctx context.Context, call string) (*tool.Result, error) {
	const op = "gate.Collect"
	switch _, state, result, err := o.former(ctx, call); {
	case err != nil:
		return nil, err
	case state == Ended:
		return result, nil
	case state == InDoubt:
		return nil, tool.Errorf(op, tool.InDoubt,
			"call %s began at a node that does not live any more; it may or may not have happened", call).
			WithHint("look before you repeat it")
	}
	return nil, tool.Errorf(op, tool.NotFound, "call %s is not in the journal", call)
}

// doubtHere puts a call in doubt in this kernel's journal that began at another.
func (o *Reader) doubtHere(ctx context.Context, of journal.Store, call string) error {
	records, err := recordsOf(ctx, of, call)
	if err == nil && !slices.ContainsFunc(records, isBegun) {
		records, err = recordsOf(ctx, of, ChildID(call))
	}
	if err != nil {
		return err
	}
	var facts doubt.Facts
	for i := range records {
		r := &records[i]
		switch {
		case r.Ask != nil:
			facts.Claims, facts.Workspace, facts.AppFile = r.Ask.Claims, r.Ask.Workspace, r.Ask.AppFile
		case r.Kind == journal.Begun:
			facts.Begun = r.Time
		}
	}
	i := slices.IndexFunc(records, isBegun)
	if i < 0 {
		return nil // it was in doubt there already, and told
	}
	doubted := records[i].About(journal.Doubted)
	doubted.End = &journal.End{Status: tool.Failure, Error: tool.InDoubt, Summary: "it may or may not have happened"}
	doubted.Note = "begun at a node that does not live any more, and never ended there"
	doubted.Doubt = &facts
	told := doubted.About(journal.Told)
	told.Note = "told when it was asked for again"
	if err := o.journal.Append(doubted); err != nil {
		return err
	}
	_ = o.journal.Append(told)
	return nil
}

func isBegun(r journal.Record) bool { return r.Kind == journal.Begun }

// TakeOver puts on record here that a call waits for a human which was asked for at a kernel that has ended, and
// reports whether it does. One that has begun, or ended, has what the other's records say.
func (o *Reader) TakeOver(ctx context.Context, from journal.Store, call string) (bool, error) {
	if own, err := o.journal.Read(ctx, journal.Query{Call: call, Limit: 1}); err != nil || len(own) > 0 {
		return len(own) > 0, err
	}
	records, err := recordsOf(ctx, from, call)
	if err != nil {
		return false, err
	}
	var asked []journal.Record
	for _, r := range records {
		switch {
		case r.Kind == journal.Begun || r.Kind == journal.Ended || r.Kind == journal.Doubted:
			return false, nil
		case r.Kind == journal.Asked:
			again := r.About(journal.Asked)
			again.Ask, again.ModelChoice = r.Ask, r.ModelChoice
			again.Note = "asked for at a node that does not live any more"
			asked = append(asked, again)
		}
	}
	for _, r := range asked {
		if err := o.journal.Append(r); err != nil {
			return false, err
		}
	}
	return len(asked) > 0, o.journal.Flush(ctx)
}
