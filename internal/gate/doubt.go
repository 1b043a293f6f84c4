package gate

import (
	"context"
	"slices"

	"callgate/internal/gate/filestate"
	"callgate/internal/gate/limits"
	"callgate/internal/gate/lock"
	"callgate/internal/gate/lockqueue"
	"callgate/internal/gate/outcome"
	"callgate/internal/gate/policy"
	"callgate/internal/journal/doubt"
	"callgate/tool"
)

// A call in doubt began in an earlier process and never ended. Whether it is made
// again is decided by internal/kernel/recovery; here is how.

// DoubtfulCall is what a call in doubt asked for: see internal/gate/outcome.
type DoubtfulCall = outcome.Doubtful

// Reserve takes the place of a call in doubt in the lock queue, before anybody else is served. It is cancelled, or
// used, and ends with the locks: until then no call begins that may touch the same without saying so.
func (g *Gate) Reserve(d DoubtfulCall) (lockqueue.Ticket, error) {
	if !d.Whole() {
		return nil, tool.Errorf("gate.Reserve", tool.Denied, "what the call asked for is not whole on record")
	}
	again := doubt.RetryID(d.ID)
	place, err := g.locker.locks.Enqueue(lock.Request{
		Claims: d.Claims, Wait: g.locker.wait,
		Holder: lock.Holder{Call: again, Tool: d.ToolName(), Principal: d.Principal.String()},
	})
	if err != nil {
		return nil, err
	}
	return g.locker.retries.Begin(again, place), nil
}

// retryPlan is what must hold for a call to be made in the place of one in doubt.
type retryPlan struct {
	claims []tool.Claim                // what it claimed
	law    func(context.Context) error // asked under its locks, before it begins
}

// Retry makes a call in doubt again, once, with the place that was reserved for it. law has the last word: it is asked
// when everything is locked, right before the handler runs.
func (g *Gate) Retry(
	ctx context.Context, caller *Caller, d DoubtfulCall, place lockqueue.Ticket, law func(context.Context) error,
) *tool.Result {
	own := *caller
	own.again = true
	c := g.newCall(&own, CallRequest{ID: doubt.RetryID(d.ID), Name: d.Tool, Args: d.Args, Parent: d.ID,
		ModelChoice: d.ModelChoice})
	c.ticket, c.how.background, c.how.retry = place, true, &retryPlan{claims: d.Claims, law: law}
	return g.run(ctx, c, g.steps)
}

// checkRetry ends a call in the place of one in doubt that would touch something else now, whose tool no longer says
// that twice is once, or that a human would have to approve.
func (g *Gate) checkRetry(_ context.Context, c *callState) error {
	const op = "gate.Retry"
	switch plan := c.how.retry; {
	case plan == nil:
		return nil
	case !c.tool.Runtime.Idempotent:
		return tool.Errorf(op, tool.Denied, "%s does not say that twice is once", c.tool.ID.Dotted())
	case !slices.Equal(c.claims, plan.claims):
		return tool.Errorf(op, tool.Conflict, "it would touch something else now")
	case c.decision.Verdict != policy.Allow || c.needsHuman():
		return tool.Errorf(op, tool.Denied, "a human would have to approve it")
	}
	return nil
}

// checkLaw asks the law of retries, under the locks of the call, and when its server runs: who does not heed locks, as
// a person with an editor, may change a file while that starts.
func checkLaw(ctx context.Context, c *callState) error {
	if c.how.retry == nil {
		return nil
	}
	if err := limits.Ready(ctx, c.tool.Handler); err != nil {
		return err
	}
	return c.how.retry.law(ctx)
}

// fileStates is the state of the files that the call claims, for one that may be
// made again after a crash; nil for any other.
func (c *callState) fileStates() []doubt.FileState {
	if !c.tool.Runtime.Idempotent || !c.tool.Runtime.SideEffect.Durable() || len(c.claims) == 0 {
		return nil
	}
	states, ok := filestate.Of(c.claims)
	if !ok {
		return nil
	}
	return states
}
