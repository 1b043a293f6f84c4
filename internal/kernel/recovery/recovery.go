// Package recovery finishes what an earlier process left. Law: before anything
// is served, each call that began and never ended is in doubt, once; it is
// repeated only if twice is once and policy still allows it, and else its
// principal learns of it. A call that was approved and never begun runs, unless
// the approval is too old. A call that was answered and cannot run ends with the
// reason.
package recovery

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// Gate is what recovery does with calls.
type Gate interface {
	LoadDoubtful(ctx context.Context, doubted journal.Record) (gate.DoubtfulCall, error)
	CanRetry(ctx context.Context, c *gate.Caller, d gate.DoubtfulCall) bool
	Retry(ctx context.Context, c *gate.Caller, d gate.DoubtfulCall) (call string, ok bool)
	NotifyDoubt(d gate.DoubtfulCall)
	Resume(ctx context.Context, c *gate.Caller, r approval.Request) *tool.Result
	EndUnrun(ctx context.Context, r approval.Request, reason error) *tool.Result
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

	detached atomic.Int64
}

// Detached returns how many calls run for which nobody waits.
func (r *Recovery) Detached() int64 { return r.detached.Load() }

// Run finishes what an earlier process left: calls in doubt, and calls that
// were approved and never begun.
func (r *Recovery) Run(ctx context.Context) error {
	fresh, err := r.Journal.Recover(ctx)
	if err != nil {
		return err
	}
	open, err := r.Journal.Doubts(ctx)
	if err != nil {
		return err
	}
	for _, d := range open {
		r.Log.Warn("a call is in doubt: it began, and its end was never recorded", "call", d.Call, "tool", d.Tool)
		doubtful, err := r.Gate.LoadDoubtful(ctx, d)
		if err != nil {
			return err
		}
		isNew := slices.ContainsFunc(fresh, func(f journal.Record) bool { return f.Call == d.Call })
		if !isNew || !r.retry(ctx, doubtful) {
			r.Gate.NotifyDoubt(doubtful)
		}
	}
	return r.resumeApproved(ctx)
}

// retry makes a call in doubt again, in the background, and resolves the doubt
// when that went well. It reports whether the call may be made again.
func (r *Recovery) retry(ctx context.Context, d gate.DoubtfulCall) bool {
	s, err := r.Sessions.Build(ctx, session.Spec{
		ID: d.Principal.Session, Workspace: d.Workspace, AppFile: d.AppFile,
		Agent: d.Principal.Agent, Lane: d.Principal.Lane, Again: true,
	})
	if err != nil { // its workspace is gone
		return false
	}
	if !r.Gate.CanRetry(ctx, s.Caller(), d) {
		s.Close()
		return false
	}
	started := r.Go(func(ctx context.Context) {
		defer s.Close()
		again, ok := r.Gate.Retry(ctx, s.Caller(), d)
		if !ok {
			r.Gate.NotifyDoubt(d)
			return
		}
		resolution := journal.Resolution{Happened: true, By: "the kernel", Retry: again}
		if err := r.Journal.Resolve(ctx, d.ID, resolution); err != nil {
			r.Log.Error("a doubt cannot be resolved", "call", d.ID, "error", err)
		}
	})
	if !started {
		s.Close()
	}
	return started
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
