package tools

import (
	"context"
	"slices"
	"time"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// asking makes one call, and has a human answer where one must. The request to
// the kernel stays open all the while, so ending the command cancels the call,
// also one that was approved and runs.
type asking struct {
	*command.Env
	kernel  *command.Kernel
	session *client.Session
	tool    protocol.Tool
}

// pendingCall is a call without a result yet. When done is closed, result and
// err are set.
type pendingCall struct {
	done   chan struct{}
	result *tool.Result
	err    error
}

// call makes the call. When ctx ends, its result says what became of the call.
func (a *asking) call(ctx context.Context, request protocol.CallRequest) (*tool.Result, error) {
	result, err := a.ask(ctx, request)
	if ctx.Err() != nil {
		return a.resultAfterCancel(ctx), nil
	}
	return result, err
}

// ask makes the call. An approval is put to the person here, or else the
// command prints how it can be answered elsewhere.
func (a *asking) ask(ctx context.Context, request protocol.CallRequest) (*tool.Result, error) {
	if request.NoWait {
		return a.session.Call(ctx, request)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pending := &pendingCall{done: make(chan struct{})}
	go func() {
		defer close(pending.done)
		pending.result, pending.err = a.session.Call(ctx, request)
	}()
	var asked []string // a call whose effects changed after an approval asks again
	for {
		approval := a.awaitApproval(ctx, pending, asked)
		if approval == nil {
			return pending.result, pending.err
		}
		asked = append(asked, approval.ID)
		left, err := a.answer(ctx, pending, *approval)
		if err != nil {
			return nil, err
		}
		if left {
			cancel()
			<-pending.done
			return &tool.Result{
				Status: tool.Waiting, Call: approval.Call.ID, Approval: approval.ID,
				Summary: approval.Call.Tool.Dotted() + " was left waiting for a human",
			}, nil
		}
	}
}

// awaitApproval returns the approval that the session's call waits for, other
// than those it asked for before, or nil when the call ended without one. The
// kernel reports approvals only in its list, so the list is read, often at first.
// A list that cannot be read says nothing about the call, which may have happened:
// only the call's own answer does.
func (a *asking) awaitApproval(ctx context.Context, pending *pendingCall, asked []string) *protocol.Approval {
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		select {
		case <-pending.done:
			return nil
		case <-time.After(pause):
		}
		list, _ := a.kernel.Approvals(ctx, protocol.ApprovalPending)
		for _, r := range list {
			if r.Call.Principal.Session == a.session.ID && !slices.Contains(asked, r.ID) {
				return &r
			}
		}
	}
}

// answer has an approval answered, here or elsewhere; left says that the person
// here left it waiting.
func (a *asking) answer(ctx context.Context, pending *pendingCall, r protocol.Approval) (left bool, err error) {
	if !a.session.Human {
		a.Status("callgate: %s waits for a human: %s", r.Call.Tool.Dotted(), r.Reason)
		a.HowToAnswer(r.ID)
		return false, nil
	}
	open, answered := context.WithCancel(ctx)
	defer answered()
	go func() {
		<-pending.done
		answered()
	}()
	left, err = a.Dialog(ctx, a.kernel, r.ID, r.Call.Principal.Session).Run(open, r)
	switch {
	case err == nil || ctx.Err() != nil:
		return left, nil
	case open.Err() != nil:
		a.Status("\nanswered elsewhere")
		return false, nil
	case tool.KindOf(err) == tool.Conflict:
		a.Status("%s", err)
		return false, nil
	case tool.KindOf(err) == tool.Unavailable: // the call itself says what became of it
		a.Status("callgate: %s", err)
		return false, nil
	case tool.KindOf(err) == tool.Denied:
		a.Status("callgate: %s", err)
		a.HowToAnswer(r.ID)
		return false, nil
	}
	return false, err
}

// resultAfterCancel finds out what became of the session's call after the
// command was cancelled: the request was cancelled, and the session ends with
// its calls.
func (a *asking) resultAfterCancel(ctx context.Context) *tool.Result {
	if a.AtTerminal() {
		a.Status("") // after the ^C
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), command.CloseTimeout)
	defer cancel()
	e := &tool.Error{Op: "cli.call", Kind: tool.Cancelled, Message: "cancelled before the call was made"}
	out := &tool.Result{Status: tool.Failure, Error: e}
	if err := a.session.Close(ctx); err != nil {
		e.Message = "cancelled; whether the call has stopped cannot be told: " + err.Error()
	}
	records, _ := a.kernel.Journal(ctx, protocol.JournalQuery{Newest: true, Limit: 100})
	for _, r := range records {
		if r.Principal == nil || r.Principal.Session != a.session.ID {
			continue
		}
		out.Call = r.Call
		switch {
		case r.End != nil:
			e.Message, e.Hint = "cancelled: "+r.End.Summary, "all records: "+a.Self()+" log show "+r.Call
		case r.Ask != nil && r.Ask.Verdict == protocol.VerdictWait:
			out.Approval = r.Ask.Approval
			e.Message = "cancelled; the call still waits for a human"
			e.Hint = "to drop it: " + a.Self() + " approvals deny " + r.Ask.Approval
		case r.Kind == protocol.RecordKindBegun:
			e.Message, e.Hint = "cancelled; the call has not stopped yet", "how it ends: "+a.Self()+" log show "+r.Call
		}
	}
	out.Summary = e.Message
	return out
}
