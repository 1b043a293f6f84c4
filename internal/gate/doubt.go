package gate

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"callgate/internal/gate/filestate"
	"callgate/internal/gate/lock"
	"callgate/internal/gate/policy"
	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/tool"
)

// A call in doubt began in an earlier process and never ended. Whether it is made
// again is decided by internal/kernel/recovery; here is how.

// DoubtfulCall is what a call in doubt asked for, as its records tell it.
type DoubtfulCall struct {
	ID        string
	Tool      string
	Args      json.RawMessage
	Workspace string
	AppFile   string
	Principal tool.Principal
	Claims    []tool.Claim
}

// LoadDoubtful reads what a call in doubt asked for.
func (g *Gate) LoadDoubtful(ctx context.Context, doubted journal.Record) (DoubtfulCall, error) {
	records, err := g.Journal.Read(ctx, journal.Query{Call: doubted.Call})
	if err != nil {
		return DoubtfulCall{}, err
	}
	d := DoubtfulCall{ID: doubted.Call, Tool: doubted.Tool}
	if doubted.Principal != nil {
		d.Principal = *doubted.Principal
	}
	for _, r := range records {
		args, ref := json.RawMessage(nil), ""
		switch {
		case r.Ask != nil:
			d.Workspace, d.AppFile, d.Claims = r.Ask.Workspace, r.Ask.AppFile, r.Ask.Claims
			args, ref = r.Ask.Args, r.Ask.ArgsRef
		case r.Answer != nil:
			args, ref = r.Answer.Args, r.Answer.ArgsRef
		}
		if ref != "" {
			if args, err = g.Artifacts.Get(ctx, ref); err != nil {
				return d, err
			}
		}
		if len(args) > 0 {
			d.Args = args
		}
	}
	return d, nil
}

// whole reports whether the records of the call hold all that it asked for: no
// secret was left out of them.
func (d *DoubtfulCall) whole() bool {
	return len(d.Claims) > 0 && !strings.Contains(string(d.Args), "[secret ") &&
		!slices.ContainsFunc(d.Claims, func(c tool.Claim) bool { return strings.Contains(c.Resource, "[secret ") })
}

// Reserve takes the place of a call in doubt in the lock queue, before anybody else
// is served.
func (g *Gate) Reserve(d DoubtfulCall) (Ticket, error) {
	if !d.whole() {
		return nil, tool.Errorf("gate.Reserve", tool.Denied, "what the call asked for is not whole on record")
	}
	return g.locker.locks.Enqueue(lock.Request{
		Claims: d.Claims, Wait: g.locker.wait,
		Holder: lock.Holder{Call: doubt.RetryID(d.ID), Tool: toolName(d.Tool), Principal: d.Principal.String()},
	})
}

// retryPlan is what must hold for a call to be made in the place of one in doubt.
type retryPlan struct {
	claims []tool.Claim                // what it claimed
	law    func(context.Context) error // asked under its locks, before it begins
}

// Retry makes a call in doubt again, once, with the place that was reserved for it.
// law has the last word: it is asked when everything is locked, right before
// the handler runs.
func (g *Gate) Retry(
	ctx context.Context, caller *Caller, d DoubtfulCall, place Ticket, law func(context.Context) error,
) *tool.Result {
	c := g.newCall(caller, CallRequest{ID: doubt.RetryID(d.ID), Name: d.Tool, Args: d.Args, Parent: d.ID})
	c.how.background, c.how.retry = true, &retryPlan{claims: d.Claims, law: law}
	c.ticket = place
	return g.run(ctx, c, g.steps)
}

// checkRetry ends a call in the place of one in doubt that would touch something
// else now, whose tool no longer says that twice is once, or that a human would
// have to approve.
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

// checkLaw asks the law of retries, under the locks of the call.
func checkLaw(ctx context.Context, c *callState) error {
	if c.how.retry == nil {
		return nil
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

// toolName is a tool's name as people know it.
func toolName(id string) string {
	if parsed, ok := tool.TryParseID(id); ok {
		return parsed.Dotted()
	}
	return id
}

// doubtOutcome is what is known of a call that began and has no end on record: it
// runs, it is in doubt, or its doubt was resolved. A call that was made again has
// the result of that one.
func (g *Gate) doubtOutcome(ctx context.Context, records []journal.Record) (Outcome, *tool.Result, error) {
	for _, r := range slices.Backward(records) {
		switch r.Kind {
		case journal.Resolved:
			if r.Resolution != nil && r.Resolution.Retry != "" {
				return g.Outcome(ctx, r.Resolution.Retry)
			}
			return Ended, resolvedResult(r), nil
		case journal.Told:
			return InDoubt, nil, nil
		case journal.Doubted:
			told := r.About(journal.Told) // from here on it is not made again
			told.Note = "told when it was asked for again"
			_ = g.Journal.Append(told)
			return InDoubt, nil, nil
		case journal.Begun:
			if g.Journal.IsEarlier(r.Seq) { // a full disk keeps it from being on record
				return InDoubt, nil, nil
			}
		}
	}
	return Pending, nil, nil
}

// resolvedResult is the answer to a call whose doubt somebody resolved.
func resolvedResult(r journal.Record) *tool.Result {
	summary := "a human looked: the call did not happen"
	status := tool.Failure
	switch {
	case r.Resolution == nil || r.Resolution.Closed != "":
		summary = "the call was in doubt, and nobody looked whether it happened"
	case r.Resolution.Happened:
		summary, status = "a human looked: the call happened; its result is not on record", tool.Success
	}
	result := &tool.Result{Status: status, Summary: summary, Call: r.Call}
	if status == tool.Failure {
		result.Error = tool.Errorf("gate.Outcome", tool.InDoubt, "%s", summary)
	}
	return result
}
