package gate

import (
	"context"
	"slices"
	"sync"

	"callgate/internal/gate/lock"
	"callgate/internal/journal"
	"callgate/tool"
)

// CallAll carries the calls of one batch, side by side, and returns their
// answers in the batch's order. Calls that need no human take their places in
// the lock queue in that order before any of them starts, so that of two that
// touch the same thing the first comes first. One that waits for a human joins
// the queue when it is approved: nobody waits behind a person. done, unless it
// is nil, is given each answer as it comes, from several goroutines.
func (d *Gate) CallAll(ctx context.Context, s *Caller, asks []CallRequest, done func(int, *tool.Result)) []*tool.Result {
	results := make([]*tool.Result, len(asks))
	passages := make([]*callState, len(asks))
	answer := func(i int, r *tool.Result) {
		results[i] = r
		if done != nil {
			done(i, r)
		}
	}
	var running sync.WaitGroup
	for i, ask := range asks {
		p := newCallState(s, ask)
		if err := d.prepare(ctx, p); err != nil {
			answer(i, d.refuse(p, err))
			continue
		}
		if !p.tool.Runtime.Control || p.tool.Runtime.Idempotent {
			passages[i] = p
			continue
		}
		// What a control tool calls takes its place when it gets there: the next
		// of the batch waits for that, and no longer.
		placed := make(chan struct{})
		told := sync.OnceFunc(func() { close(placed) })
		running.Go(func() {
			defer told()
			answer(i, d.run(context.WithValue(ctx, queuedKey{}, told), p, d.steps[d.stepsBeforeApproval:]))
		})
		<-placed
	}
	for i, p := range passages {
		if p != nil {
			running.Go(func() { answer(i, d.run(ctx, p, d.steps[d.stepsBeforeApproval:])) })
		}
	}
	running.Wait()
	return results
}

// queuedKey is where a call made by a control tool finds whom to tell that it
// has taken its place: at the locks, or before a human.
type queuedKey struct{}

func signalQueued(ctx context.Context) {
	if tell, ok := ctx.Value(queuedKey{}).(func()); ok {
		tell()
	}
}

// prepare walks a passage as far as the question for a human and, where there is
// none, takes its place in the lock queue.
func (d *Gate) prepare(ctx context.Context, p *callState) error {
	for _, step := range d.steps[:d.stepsBeforeApproval] {
		if err := step(ctx, p); err != nil {
			return err
		}
	}
	if p.request != nil || len(p.claims) == 0 {
		return nil
	}
	var err error
	p.ticket, err = d.Locks.Enqueue(d.lockRequest(p))
	return err
}

func (d *Gate) lockRequest(p *callState) lock.Request {
	want := lock.Request{Claims: p.claims, Wait: d.Limits.LockWait}
	if len(p.claims) > 0 {
		want.Holder = lock.Holder{Call: p.call.ID, Tool: p.tool.ID.Dotted(), Principal: p.call.Principal.String()}
	}
	return want
}

// ChildID is the ID of the call that a control tool makes in another's place.
func ChildID(parent string) string { return parent + ".1" }

// Outcome is what became of a call that somebody lost sight of.
type Outcome uint8

// The fates.
const (
	NotStarted Outcome = iota // it has not touched anything: it may be made
	Pending                   // a human has been asked, or it runs: Collect waits for its end
	Ended                     // its result is known
	InDoubt                   // it began, in another life of the kernel, and may or may not have happened
)

// Fate tells what became of a call, from the journal, with its result where it
// has one. It is for whoever makes calls under IDs of its own choice and comes
// back after a crash.
func (d *Gate) Fate(ctx context.Context, call string) (Outcome, *tool.Result, error) {
	story, err := d.Journal.Read(ctx, journal.Query{Call: call})
	if err != nil {
		return NotStarted, nil, err
	}
	if !slices.ContainsFunc(story, func(r journal.Record) bool { return r.Kind == journal.Ended }) {
		// A control tool leaves no trace before its end, but what it called does.
		child, err := d.Journal.Read(ctx, journal.Query{Call: ChildID(call), Limit: 1})
		if err != nil {
			return NotStarted, nil, err
		}
		if len(child) > 0 {
			return d.Fate(ctx, ChildID(call))
		}
	}
	fate, approval := NotStarted, ""
	for _, r := range story {
		switch r.Kind {
		case journal.Asked:
			if r.Ask != nil && r.Ask.Verdict != journal.Refuse {
				approval = r.Ask.Approval
			}
		case journal.Begun:
			fate = Pending
		case journal.Ended:
			result, err := d.resultFromRecord(ctx, r)
			return Ended, result, err
		}
	}
	if fate == NotStarted && approval != "" {
		if _, err := d.Approvals.Get(ctx, approval); err == nil {
			return Pending, nil, nil
		}
	}
	if fate == Pending {
		open, err := d.Journal.Doubts(ctx)
		if err != nil {
			return fate, nil, err
		}
		for _, r := range open {
			if r.Call == call {
				return InDoubt, nil, nil
			}
		}
	}
	return fate, nil, nil
}
