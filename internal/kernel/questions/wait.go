package questions

import (
	"context"
	"slices"

	"callgate/tool"
)

// Wait returns a question once it is settled, or ctx's error.
func (q *Queue) Wait(ctx context.Context, id string) (Request, error) {
	ch := make(chan Request, 1)
	q.mu.Lock()
	q.waiters[id] = append(q.waiters[id], ch)
	q.mu.Unlock()
	r, err := q.Get(ctx, id) // it may have been settled before the channel was there
	if err != nil || r.State != Pending {
		q.forget(id, ch)
		return r, err
	}
	select {
	case r = <-ch:
		return r, nil
	case <-ctx.Done():
		q.forget(id, ch)
		return r, &tool.Error{
			Op: "questions.Wait", Kind: tool.Cancelled, Message: "stopped waiting for the question " + id,
			Err: context.Cause(ctx),
		}
	}
}

func (q *Queue) forget(id string, ch chan Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiters[id] = slices.DeleteFunc(q.waiters[id], func(other chan Request) bool { return other == ch })
	if len(q.waiters[id]) == 0 {
		delete(q.waiters, id)
	}
}

// Withdraw settles a question whose answer nobody wants any more.
func (q *Queue) Withdraw(ctx context.Context, id string) error {
	r, err := q.pending(ctx, id)
	if err != nil {
		return err
	}
	_, err = q.settle(ctx, r, Withdrawn, nil, "")
	return err
}

// WithdrawToken withdraws what was asked with a token that does not count any more.
func (q *Queue) WithdrawToken(id string) {
	ctx := context.Background()
	pending, err := q.list(ctx, open)
	if err != nil {
		q.opt.Log.Warn("questions of a revoked token stay open until their deadlines", "error", err)
	}
	for _, r := range pending {
		if r.Asker.Token == id {
			_, _ = q.settle(ctx, r, Withdrawn, nil, "the token was revoked")
		}
	}
}
