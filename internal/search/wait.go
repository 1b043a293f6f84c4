package search

import (
	"context"

	"callgate/tool"
)

// Wait waits until the vectors that an endpoint was asked for are there. The error says why they are not: it could
// not be asked, or ctx has ended. With a static model there is nothing to wait for.
func (x *Index) Wait(ctx context.Context) error {
	v := &x.vectors
	for {
		v.mu.Lock()
		running, idle, failure := v.running, v.idle, v.failure
		v.mu.Unlock()
		if !running {
			return failure
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return &tool.Error{Op: "search.Wait", Kind: tool.Cancelled, Message: "the wait was ended", Err: ctx.Err()}
		}
	}
}
