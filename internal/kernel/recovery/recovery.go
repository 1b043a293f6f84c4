// Package recovery finishes what an earlier process left.
//
// # Calls in doubt
//
// Before anything is served, each call that began and never ended is in doubt,
// once. It is made again only when all of this holds:
//
//   - Its tool says that twice is once, as it began and now.
//   - Everything that it claims is a plain file, or absent, and its Begun record
//     says how each was. A folder, a server or a database cannot be compared, and
//     somebody may have changed it while no kernel ran: a call with such a claim
//     is not made again. (What lies in a folder changes without a trace in the
//     folder's own times.)
//   - Each of these files is as it was. One that differs was changed by the call
//     itself or by somebody else, and nobody can tell which: it is told. Of one that
//     is absent the nearest folder above is compared, since the call may have made it,
//     and somebody may have removed it.
//   - No call that touches the same thing, reading or changing, began, ended or was
//     cut off since, whoever made it. One that changes something and claims
//     nothing touches everything of its source.
//   - No other call in doubt touches the same thing.
//   - Policy allows it without a human, it would touch the same things, and its
//     arguments are whole on record: no secret was left out of them.
//   - It was attempted once. A second attempt is the last, whatever becomes of it;
//     it is a call of its own in the journal (doubt.RetryID), inside the one
//     doubt: cut off, it ends and is no new doubt.
//   - Its asker has not been told that it is in doubt: with a result, or by asking
//     for it again by its ID.
//   - The kernel stays. One that ends with its command makes nothing again.
//
// Its place in the lock queue is taken, in the order of the beginnings, before
// the kernel serves anybody; the rest is looked at under the locks.
//
// Every other call in doubt is told: to its asker with the next result, which is on
// record (journal.Told) so that it is told once, and to a human, in one line of
// the log and with callgate log doubts. Doubts age: one that was told is closed
// after 30 days, one whose asker never came back after 90, and of more than 10,000
// the oldest are. A closed doubt stays in the journal, with a resolution that says
// that nobody looked.
//
// # Approvals
//
// A call that was approved and never begun runs, unless the approval is too old. A
// call that was answered and cannot run ends with the reason.
package recovery

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/notice"
	"callgate/internal/journal"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// Gate is what recovery does with calls.
type Gate interface {
	Retrier
	Teller
	Resume(ctx context.Context, c *gate.Caller, r approval.Request) *tool.Result
	EndUnrun(ctx context.Context, r approval.Request, reason error) *tool.Result
}

// Retrier makes calls in doubt again.
type Retrier interface {
	LoadDoubtful(ctx context.Context, doubted journal.Record) (gate.DoubtfulCall, error)
	Reserve(d gate.DoubtfulCall) (gate.Ticket, error)
	Retry(ctx context.Context, c *gate.Caller, d gate.DoubtfulCall, place gate.Ticket,
		law func(context.Context) error) *tool.Result
}

// Teller tells askers of their earlier calls.
type Teller interface {
	Notify(n notice.Notice)
	ExpectNotices() (loaded func())
}

// Approvals is what recovery does with approvals.
type Approvals interface {
	List(ctx context.Context, state approval.State, limit int) ([]approval.Request, error)
	Reserve(id string) bool
	MarkUsed(ctx context.Context, id string) error
	Withdraw(ctx context.Context, id string) error
}

// Sessions builds sessions that are never published.
type Sessions interface {
	Build(ctx context.Context, spec session.Spec) (*session.Session, error)
}

// Recovery finishes calls that nobody waits for. All fields are required.
type Recovery struct {
	Journal   *journal.Journal
	Gate      Gate
	Approvals Approvals
	Sessions  Sessions
	Log       *slog.Logger
	// Go runs work in the background, unless the kernel closes.
	Go func(func(context.Context)) bool
	// ShortLived says that the kernel ends with the command that started it: it
	// makes no call again, since it may end before that one does.
	ShortLived bool

	detached atomic.Int64
	// retried are the calls whose retries this kernel began: each tells its asker itself.
	// Its channel is closed when the retry has ended.
	retried map[string]chan struct{}
}

// Detached returns how many calls run for which nobody waits.
func (r *Recovery) Detached() int64 { return r.detached.Load() }

// Run finishes what an earlier process left: calls in doubt, and calls that
// were approved and never begun. A kernel whose journal cannot be written starts
// all the same, so that what is there can be read; what it could not put on
// record it tries again until it can.
func (r *Recovery) Run(ctx context.Context) error {
	err := r.openDoubts(ctx, r.ShortLived)
	if tool.KindOf(err) == tool.Unavailable {
		r.Log.Error("calls of an earlier kernel cannot be put in doubt: the journal cannot be written; "+
			"what only reads works, and the rest is refused until there is room", "error", err)
		r.Go(r.openDoubtsLater)
		return nil // an approved call could not begin either: it runs at the next start
	}
	if err != nil {
		return err
	}
	if err := r.recordRefusals(ctx); err != nil {
		return err
	}
	return r.resumeApproved(ctx)
}

// lastRefusals is how many refusals a kernel that was killed may have left off the record:
// those of its last moment.
const lastRefusals = 20

// recordRefusals puts the ends of calls on record that a human refused, where the kernel
// was killed between the answer and the record.
func (r *Recovery) recordRefusals(ctx context.Context) error {
	for _, state := range []approval.State{approval.Denied, approval.Expired} {
		refused, err := r.Approvals.List(ctx, state, lastRefusals)
		if err != nil {
			return err
		}
		for _, request := range refused {
			ended, err := r.Journal.Read(ctx, journal.Query{Call: request.Call.ID, Kind: journal.Ended, Limit: 1})
			if err != nil {
				return err
			}
			if len(ended) == 0 {
				r.Gate.EndUnrun(ctx, request, request.RefusedError())
			}
		}
	}
	return nil
}

// resumeApproved runs calls that were approved and never begun. A call that did
// begin is the journal's: it ended, or it is in doubt.
func (r *Recovery) resumeApproved(ctx context.Context) error {
	approved, err := r.Approvals.List(ctx, approval.Approved, 0)
	if err != nil {
		return err
	}
	for _, request := range approved {
		begun, err := r.Journal.Read(ctx, journal.Query{Call: request.Call.ID, Kind: journal.Begun, Limit: 1})
		if err != nil {
			return err
		}
		valid := request.Deadline.Sub(request.AskedAt)
		switch {
		case len(begun) > 0:
			err = r.Approvals.MarkUsed(ctx, request.ID)
		case time.Since(request.Answer.At) > valid: // the yes was to a question of another day
			if err = r.Approvals.Withdraw(ctx, request.ID); err == nil {
				r.Gate.EndUnrun(ctx, request, tool.Errorf("recovery.Run", tool.Denied,
					"%s was approved but never run, and the approval is too old now", request.Call.Tool.Dotted()).
					WithHint("make the call again if it is still wanted"))
			}
		default:
			r.Finish(request)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Finish ends an answered call that nobody waits for: it runs, in a session
// like its own, or its refusal is put on record. An approved call that a closing
// kernel does not start runs at the next start.
func (r *Recovery) Finish(request approval.Request) {
	if !r.Approvals.Reserve(request.ID) {
		return
	}
	r.detached.Add(1)
	started := r.Go(func(ctx context.Context) {
		defer r.detached.Add(-1)
		call := request.Call
		s, err := r.Sessions.Build(ctx, session.Spec{
			ID: call.Principal.Session, Workspace: request.Workspace, AppFile: request.AppFile,
			Agent: call.Principal.Agent, Lane: call.Principal.Lane, Requester: request.Asker, Again: true,
		})
		switch {
		case err != nil && ctx.Err() != nil: // the kernel closes
			return
		case err != nil: // its folder is gone, or its app file is broken
			r.Log.Error("an answered call cannot go on", "call", call.ID, "tool", call.Tool, "error", err)
			r.Gate.EndUnrun(ctx, request, unrun(call, err))
			return
		}
		defer s.Close()
		r.Gate.Resume(ctx, s.Caller(), request)
	})
	if !started {
		r.detached.Add(-1)
	}
}

// unrun is why an answered call did not run.
func unrun(call tool.Call, err error) error {
	return &tool.Error{
		Op: "recovery.Finish", Kind: tool.KindOf(err), Err: err,
		Message: "a human answered, but " + call.Tool.Dotted() + " cannot go on: its session cannot be opened again",
		Hint:    "nothing was run; mend that, and make the call again",
	}
}
