package calls

import (
	"context"
	"sync"
)

// Begun is a call that was begun before there is a request that attends it. Either a request attends it ([Call.Begun]),
// or its outcome is asked for, once it has ended.
type Begun struct {
	*pending
	request *Request
	wanted  chan struct{} // closed when there is something to attend to
}

// Begin begins a call. It returns nil if a request has to attend it from the beginning.
func (c *Calls) Begin(ctx context.Context, r *Request, call Call) *Begun {
	if c.attendedAtOnce(r, call) {
		return nil
	}
	b := &Begun{request: r, wanted: make(chan struct{})}
	b.pending = c.newPending(ctx, r, call, sync.OnceFunc(func() { close(b.wanted) }))
	b.bind(b.id)
	c.workers.Go(func() { b.run(call) })
	return b
}

// Ended is closed when the call has ended.
func (b *Begun) Ended() <-chan struct{} { return b.done }

// Wanted is closed when a request must attend the call, though it may have ended.
func (b *Begun) Wanted() <-chan struct{} { return b.wanted }

// Outcome is how the call ended, of which there was nothing to attend to.
func (b *Begun) Outcome(ctx context.Context) Outcome {
	b.link.detach()
	return newAttendance(b.pending, b.request).ended(ctx)
}

// Cancel cancels a call that no request will attend.
func (b *Begun) Cancel() { b.drop() }
