package approval

import (
	"context"

	"callgate/tool"
)

// settleAndRecord settles a request and calls the hook that records it. Until both
// are done, no waiter sees the request as settled: a call must not be on record as
// begun before its answer is.
func (q *Queue) settleAndRecord(ctx context.Context, id string, to State, a Answer) (Request, error) {
	defer q.beginSettling(id)()
	won, err := q.store.Settle(ctx, id, Pending, to, &a)
	if err != nil {
		return Request{}, err
	}
	r, err := q.store.Get(ctx, id)
	if err != nil {
		return r, err
	}
	if !won {
		return r, mustBePending(r)
	}
	if q.hooks.Settled != nil {
		q.hooks.Settled(ctx, r)
	}
	return r, nil
}

// mustBePending reports a request that was answered before.
func mustBePending(r Request) error {
	if r.State == Pending {
		return nil
	}
	return tool.Errorf("approval.Answer", tool.Conflict, "approval %s was already %s", r.ID, r.State)
}

// settling is the settling of a request, by one answer or several at once.
type settling struct {
	answers int
	done    chan struct{} // closed when the last has ended
}

// beginSettling registers a settling. It returns the function that ends it.
func (q *Queue) beginSettling(id string) (end func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.settling[id]
	if s == nil {
		s = &settling{done: make(chan struct{})}
		q.settling[id] = s
	}
	s.answers++
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if s.answers--; s.answers == 0 {
			close(s.done)
			delete(q.settling, id)
		}
	}
}

// awaitSettling waits until nothing settles a request.
func (q *Queue) awaitSettling(ctx context.Context, id string) error {
	q.mu.Lock()
	s := q.settling[id]
	q.mu.Unlock()
	if s == nil {
		return nil
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return stoppedWaiting(ctx, id)
	}
}
