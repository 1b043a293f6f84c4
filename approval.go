package callgate

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"callgate/internal/gate/approval"
	"callgate/tool"
)

// Approvals are the calls that wait for a human, and those that did.
type Approvals struct{ q *approval.Queue }

// Approval is one such call.
type Approval struct {
	ID        string
	State     ApprovalState
	Call      tool.Call // its arguments are as the tool would see them
	Workspace string
	AppFile   string
	Risk      tool.Risk
	Reason    string       // why a human is asked
	Claims    []tool.Claim // what it reads and changes
	AskedAt   time.Time
	Deadline  time.Time // silence until then is a no
	Choices   []string  // how a yes may last, as a human is to be shown it; none: it may not
	Answer    *Answer   // nil while it is pending
}

// ApprovalState is how an approval stands.
type ApprovalState string

// The states. Approved becomes Used when the call has begun.
const (
	Pending  ApprovalState = "pending"
	Approved ApprovalState = "approved"
	Denied   ApprovalState = "denied"
	Expired  ApprovalState = "expired"
	Used     ApprovalState = "spent"
)

// Answer is a human's answer.
type Answer struct {
	Approve  bool
	Args     json.RawMessage // the arguments as edited; empty: as they were asked for
	Always   bool            // approve this tool for the rest of the session
	Remember int             // a yes that lasts: the number of a choice, from 1; 0: it does not
	Until    time.Time       // with Remember: when it ends; zero: when it is revoked
	Feedback string          // told to the model when the answer is no
	By       string          // who answers; required
	At       time.Time       // set by the kernel
}

func approvalOf(r approval.Request) Approval {
	a := Approval{
		ID: r.ID, State: ApprovalState(r.State), Call: r.Call, Workspace: r.Workspace, AppFile: r.AppFile,
		Risk: r.Risk, Reason: r.Reason, Claims: r.Claims, AskedAt: r.AskedAt, Deadline: r.Deadline,
		Choices: each(r.Choices, func(c approval.Choice) string { return c.Text }),
	}
	if g := r.Answer; g != nil {
		a.Answer = &Answer{Approve: g.Approve, Args: g.Args, Always: g.Always, Feedback: g.Feedback, By: g.By, At: g.At}
		if g.Remember != nil {
			a.Answer.Remember, a.Answer.Until = g.Remember.Choice, g.Remember.Until
		}
	}
	return a
}

// List returns the last limit approvals in a state, oldest first; an empty state
// is any, and a limit of zero is all.
func (a Approvals) List(ctx context.Context, state ApprovalState, limit int) ([]Approval, error) {
	requests, err := a.q.List(ctx, approval.State(state), limit)
	return each(requests, approvalOf), err
}

// Get returns one approval.
func (a Approvals) Get(ctx context.Context, id string) (Approval, error) {
	r, err := a.q.Get(ctx, id)
	return approvalOf(r), err
}

// Answer answers an approval. A program that holds the kernel has a human's
// authority: it must know that a human gave this answer, and says who.
func (a Approvals) Answer(ctx context.Context, id string, answer Answer) error {
	if answer.By == "" {
		return tool.Errorf("callgate.Answer", tool.Invalid, "an answer needs By: the human who gave it")
	}
	given := approval.Answer{Approve: answer.Approve, Args: answer.Args, Always: answer.Always, Feedback: answer.Feedback}
	if answer.Remember != 0 {
		given.Remember = &approval.Remember{Choice: answer.Remember, Until: answer.Until}
	}
	return a.q.AnswerVouched(ctx, approval.Voucher{By: answer.By}, id, given)
}

// Watch yields the approvals that are pending, and then each one as it is asked
// for and as it is answered, until ctx is done. One that is asked for as the
// watch begins may come twice.
func (a Approvals) Watch(ctx context.Context) iter.Seq2[Approval, error] {
	return func(yield func(Approval, error) bool) {
		for r, err := range a.q.Watch(ctx) {
			if !yield(approvalOf(r), err) {
				return
			}
		}
	}
}
