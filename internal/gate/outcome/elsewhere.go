package outcome

import (
	"context"
	"encoding/json"
	"slices"

	"callgate/internal/artifact"
	"callgate/internal/journal"
	"callgate/tool"
)

// Elsewhere returns the state of a call in the journal of another kernel, which has ended: nothing of it runs any more.
// So a call that began and has no end is in doubt. One that waits for a human there is Pending: that kernel goes on
// with it when it is started again.
func Elsewhere(
	ctx context.Context, store journal.Store, artifacts *artifact.Store, call string,
) (State, *tool.Result, error) {
	records, err := recordsOf(ctx, store, call)
	if err != nil {
		return NotStarted, nil, err
	}
	if !slices.ContainsFunc(records, hasResult) {
		child, err := store.Rows(ctx, journal.Query{Call: ChildID(call), Limit: 1})
		switch {
		case err != nil:
			return NotStarted, nil, err
		case len(child) > 0: // it tells what became of the call: see madeAnother
			return Elsewhere(ctx, store, artifacts, ChildID(call))
		}
	}
	state := NotStarted
	for _, r := range records {
		switch {
		case r.Kind == journal.Asked && r.Ask != nil && r.Ask.Verdict != journal.Refuse && r.Ask.Approval != "":
			state = Pending
		case r.Kind == journal.Begun || r.Kind == journal.Doubted:
			state = InDoubt
		case r.Kind == journal.Ended && (state == InDoubt || hasResult(r)):
			result, err := (&Reader{artifacts: artifacts}).result(ctx, r)
			return Ended, result, err
		case r.Kind == journal.Ended:
			state = NotStarted // a human said no, or it only read
		}
	}
	return state, nil, nil
}

func recordsOf(ctx context.Context, store journal.Store, call string) ([]journal.Record, error) {
	rows, err := store.Rows(ctx, journal.Query{Call: call})
	if err != nil {
		return nil, err
	}
	records := make([]journal.Record, len(rows))
	for i, row := range rows {
		if err := json.Unmarshal(row.Body, &records[i]); err != nil {
			return nil, &tool.Error{
				Op: "outcome.Elsewhere", Kind: tool.Internal, Message: "a record of call " + call + " cannot be read", Err: err,
				Hint: "run callgate log verify",
			}
		}
	}
	return records, nil
}
