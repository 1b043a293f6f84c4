package gate

import (
	"context"
	"slices"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/tool"
)

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
	outcome, asked := NotStarted, ""
	for _, r := range records {
		switch r.Kind {
		case journal.Asked:
			if r.Ask != nil && r.Ask.Verdict != journal.Refuse {
				asked = r.Ask.Approval
			}
		case journal.Begun:
			outcome = Pending
		case journal.Ended:
			result, err := g.records.result(ctx, r)
			return Ended, result, err
		}
	}
	if outcome == NotStarted && asked != "" {
		request, err := g.Approvals.Get(ctx, asked)
		switch {
		case tool.KindOf(err) == tool.NotFound: // the human was never asked
		case err != nil:
			return Pending, nil, err
		case request.State == approval.Denied || request.State == approval.Expired:
			// The answer is on disk before the end that follows from it.
			return Ended, failureResult(call, request.RefusedError()), nil
		default:
			return Pending, nil, nil
		}
	}
	if outcome == Pending {
		return g.doubtOutcome(ctx, records)
	}
	return outcome, nil, nil
}
