package gate

import (
	"context"
	"slices"
	"sync"

	"callgate/internal/journal"
	"callgate/tool"
)

// CallAll carries the calls of one batch, side by side, and returns their
// answers in the batch's order. Calls that need no human take their places in
// the lock queue in that order before any of them starts, so that of two that
// touch the same thing the first comes first. A call that waits for a human
// joins the queue when it is approved: nobody waits behind a person. done,
// unless it is nil, is given each answer as it comes, from several goroutines.
func (g *Gate) CallAll(
	ctx context.Context, caller *Caller, requests []CallRequest, done func(int, *tool.Result),
) []*tool.Result {
	results := make([]*tool.Result, len(requests))
	calls := make([]*callState, len(requests))
	answer := func(i int, r *tool.Result) {
		results[i] = r
		if done != nil {
			done(i, r)
		}
	}
	rest := g.steps[g.stepsBeforeApproval:]
	var running sync.WaitGroup
	for i, request := range requests {
		c := g.newCall(caller, request)
		if err := g.prepare(ctx, c); err != nil {
			answer(i, g.records.refuse(c, err))
			continue
		}
		if !c.tool.Runtime.Control || c.tool.Runtime.Idempotent {
			calls[i] = c
			continue
		}
		// The calls that a control tool makes take their places when they get
		// there: the next call of the batch waits for that, and no longer.
		queued := make(chan struct{})
		c.how.queued = sync.OnceFunc(func() { close(queued) })
		running.Go(func() {
			defer c.how.queued()
			answer(i, g.run(ctx, c, rest))
		})
		<-queued
	}
	for i, c := range calls {
		if c != nil {
			running.Go(func() { answer(i, g.run(ctx, c, rest)) })
		}
	}
	running.Wait()
	return results
}

// prepare runs the steps before a human is asked and, where none is, takes the
// call's place in the lock queue.
func (g *Gate) prepare(ctx context.Context, c *callState) error {
	for _, next := range g.steps[:g.stepsBeforeApproval] {
		if err := next(ctx, c); err != nil {
			return err
		}
	}
	if c.request != nil || len(c.claims) == 0 {
		return nil
	}
	return g.locker.enqueue(c)
}

// queueSignals lets the calls that a control tool makes tell the batch of that
// control tool that they wait for their locks or for a human. The zero value is
// ready.
type queueSignals struct {
	mu       sync.Mutex
	byParent map[string]func()
}

// of returns the signal for the children of a call; nil when nobody waits.
func (q *queueSignals) of(parent string) func() {
	if parent == "" {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.byParent[parent]
}

// during hands the signal of a control tool's call to its children while it
// runs. It returns the function that ends that.
func (q *queueSignals) during(call string, signal func()) (end func()) {
	if signal == nil {
		return func() {}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byParent == nil {
		q.byParent = map[string]func(){}
	}
	q.byParent[call] = signal
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.byParent, call)
	}
}

// ChildID is the ID of the call that a control tool makes in another's place.
func ChildID(parent string) string { return parent + ".1" }

// Outcome is the state of a call after a restart.
type Outcome uint8

// The outcomes.
const (
	NotStarted Outcome = iota // it has not touched anything: it may be made
	Pending                   // a human has been asked, or it runs: Collect waits for its end
	Ended                     // its result is known
	InDoubt                   // it began, in another process, and may or may not have happened
)

// Outcome returns the state of a call, from the journal, with its result where
// it has one. It is for callers that choose their own call IDs and come back
// after a crash.
func (g *Gate) Outcome(ctx context.Context, call string) (Outcome, *tool.Result, error) {
	records, err := g.Journal.Read(ctx, journal.Query{Call: call})
	if err != nil {
		return NotStarted, nil, err
	}
	if !slices.ContainsFunc(records, func(r journal.Record) bool { return r.Kind == journal.Ended }) {
		// A control tool leaves no trace before its end, but the call that it made does.
		child, err := g.Journal.Read(ctx, journal.Query{Call: ChildID(call), Limit: 1})
		if err != nil {
			return NotStarted, nil, err
		}
		if len(child) > 0 {
			return g.Outcome(ctx, ChildID(call))
		}
	}
	outcome, approval := NotStarted, ""
	for _, r := range records {
		switch r.Kind {
		case journal.Asked:
			if r.Ask != nil && r.Ask.Verdict != journal.Refuse {
				approval = r.Ask.Approval
			}
		case journal.Begun:
			outcome = Pending
		case journal.Ended:
			result, err := g.records.result(ctx, r)
			return Ended, result, err
		}
	}
	if outcome == NotStarted && approval != "" {
		if _, err := g.Approvals.Get(ctx, approval); err == nil {
			return Pending, nil, nil
		}
	}
	if outcome == Pending {
		return g.doubtOutcome(ctx, call, records)
	}
	return outcome, nil, nil
}
