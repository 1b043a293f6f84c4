// Package outcome tells from the journal what a call asked for and what became of
// it, also in another process and after a crash.
//
// Law: the records decide. A call with an ended record has that end; one that began
// and has none runs, or is in doubt; one that was only asked for has touched nothing, and
// neither has one that only read, whose result is not kept.
package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"

	"callgate/internal/artifact"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/tool"
)

// State is the state of a call after a restart.
type State uint8

// The states.
const (
	NotStarted State = iota // it has not touched anything: it may be made
	Pending                 // a human has been asked, or it runs: Collect waits for its end
	Ended                   // its result is known
	InDoubt                 // it began, in another process, and may or may not have happened
)

// ChildID is the ID of the call that a control tool makes in another's place.
func ChildID(parent string) string { return parent + ".1" }

// Reader reads what became of calls. Make one with NewReader.
type Reader struct {
	journal   *journal.Journal
	artifacts *artifact.Store
	approvals *approval.Queue
	told      func(call string)
	formers   atomic.Pointer[[]journal.Store]
}

// NewReader makes a reader of a journal, of the artifacts that its records name, and of
// what waits for a human. told is called when an asker is told that its call is in doubt.
func NewReader(j *journal.Journal, a *artifact.Store, q *approval.Queue, told func(call string)) *Reader {
	return &Reader{journal: j, artifacts: a, approvals: q, told: told}
}

// Outcome returns the state of a call, from the journal, with its result where
// it has one. It is for callers that choose their own call IDs and come back
// after a crash. A call that only reads keeps no result: it touched nothing, and counts as
// one that has not started, to be made again.
func (o *Reader) Outcome(ctx context.Context, call string) (State, *tool.Result, error) {
	records, err := o.journal.Read(ctx, journal.Query{Call: call})
	if err != nil {
		return NotStarted, nil, err
	}
	switch made, err := o.madeAnother(ctx, call, records); {
	case err != nil:
		return NotStarted, nil, err
	case made:
		return o.Outcome(ctx, ChildID(call))
	}
	state, asked := NotStarted, ""
	for _, r := range records {
		switch r.Kind {
		case journal.Asked:
			if r.Ask != nil && r.Ask.Verdict != journal.Refuse {
				asked = r.Ask.Approval
			}
		case journal.Begun, journal.Doubted: // of one that began elsewhere there is only the doubt
			state = Pending
		case journal.Ended:
			if state == NotStarted && !hasResult(r) {
				continue
			}
			result, err := o.result(ctx, r)
			return Ended, result, err
		}
	}
	if state == NotStarted && asked != "" {
		request, err := o.approvals.Get(ctx, asked)
		switch {
		case tool.KindOf(err) == tool.NotFound: // the human was never asked
		case err != nil:
			return Pending, nil, err
		case request.State == approval.Denied || request.State == approval.Expired:
			// The answer is on disk before the end that follows from it.
			return Ended, Failure(call, request.RefusedError()), nil
		default:
			return Pending, nil, nil
		}
	}
	if state == Pending {
		return o.doubtful(ctx, records)
	}
	if len(records) == 0 {
		return o.before(ctx, call)
	}
	return state, nil, nil
}

// madeAnother reports whether a call made another in its place, which tells what became of
// it: a control tool leaves no trace before its end, and no result with it, but the call
// that it made does.
func (o *Reader) madeAnother(ctx context.Context, call string, records []journal.Record) (bool, error) {
	if slices.ContainsFunc(records, hasResult) {
		return false, nil
	}
	child, err := o.journal.Read(ctx, journal.Query{Call: ChildID(call), Limit: 1})
	return len(child) > 0, err
}

// hasResult reports whether a record is a call's end, with what came of it. The one record
// of a call that only reads has none.
func hasResult(r journal.Record) bool {
	return r.Kind == journal.Ended && (len(r.End.Result) > 0 || r.End.ResultRef != "")
}

// Collect returns the result of a call that was left waiting, once it has
// ended. It reads the journal, so it works after a restart too.
func (o *Reader) Collect(ctx context.Context, call string) (*tool.Result, error) {
	const op = "gate.Collect"
	records, err := o.journal.Read(ctx, journal.Query{Call: call})
	if err != nil {
		return nil, err
	}
	made, err := o.madeAnother(ctx, call, records)
	switch {
	case err != nil:
		return nil, err
	case made:
		return o.Collect(ctx, ChildID(call))
	case len(records) == 0:
		return o.collectBefore(ctx, call)
	}
	for _, r := range records {
		if r.Kind == journal.Ended {
			return o.result(ctx, r)
		}
	}
	for r, err := range o.journal.Follow(ctx, records[len(records)-1].Seq) {
		if err != nil {
			return nil, err
		}
		if r.Call == call && r.Kind == journal.Ended {
			return o.result(ctx, r)
		}
	}
	return nil, &tool.Error{
		Op: op, Kind: tool.Cancelled, Message: "stopped waiting for call " + call, Err: context.Cause(ctx),
	}
}

// result makes a result of an ended record.
func (o *Reader) result(ctx context.Context, r journal.Record) (*tool.Result, error) {
	data := r.End.Result
	if r.End.ResultRef != "" {
		var err error
		if data, err = o.artifacts.Get(ctx, r.End.ResultRef); err != nil {
			return nil, err
		}
	}
	result := &tool.Result{
		Status: r.End.Status, Summary: r.End.Summary, Call: r.Call,
		ArtifactRef: r.End.ArtifactRef, Warnings: r.End.Warnings,
	}
	if len(data) > 0 && json.Unmarshal(data, result) != nil {
		result.Warnings = append(result.Warnings, "the full result could not be read back; this is its summary")
	}
	return result, nil
}

// Failure is the answer to a call that a step ended, or whose handler failed.
func Failure(call string, e *tool.Error) *tool.Result {
	status := tool.Failure
	if e.Kind == tool.Denied || e.Kind == tool.Limited {
		status = tool.Refused
	}
	return &tool.Result{Status: status, Summary: e.Error(), Error: e, Call: call}
}

// Stopped says why a handler's context ended.
func Stopped(ctx context.Context) *tool.Error {
	const op = "gate.runHandler"
	cause := context.Cause(ctx)
	if kind := tool.KindOf(cause); kind == tool.Timeout {
		return tool.Errorf(op, tool.Timeout, "%s", cause)
	}
	if cause == context.DeadlineExceeded {
		return tool.Errorf(op, tool.Timeout, "the caller's time for this call ran out")
	}
	var stopped *tool.Error
	if errors.As(cause, &stopped) && stopped.Kind == tool.Unavailable { // the kernel may not act any more
		e := tool.Errorf(op, tool.Cancelled, "the call was stopped: %s", stopped.Message)
		e.Hint = stopped.Hint
		return e
	}
	return tool.Errorf(op, tool.Cancelled, "the call was cancelled")
}

// AsError makes any error one that can be answered.
func AsError(op string, err error) *tool.Error {
	var e *tool.Error
	if errors.As(err, &e) {
		return e
	}
	return &tool.Error{Op: op, Kind: tool.Failed, Message: err.Error(), Err: err}
}
