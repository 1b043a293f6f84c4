package web

import (
	"context"
	"sync"

	"callgate/internal/token"
)

// requests are those under way, by their tokens: a stream ends with the token that it was opened with.
type requests struct {
	mu    sync.Mutex
	open  map[string]*ofToken
	ended map[string]bool // tokens that were revoked: a request may have been let in just before
}

type ofToken struct {
	ctx    context.Context
	cancel context.CancelFunc
	count  int
}

// begin is the context of a request, which ends with its token. The caller calls done at its end.
func (q *requests) begin(ctx context.Context, who token.Token) (_ context.Context, done func()) {
	q.mu.Lock()
	if q.open == nil {
		q.open = map[string]*ofToken{}
	}
	all := q.open[who.ID]
	if all == nil {
		all = &ofToken{}
		all.ctx, all.cancel = context.WithCancel(context.Background())
		q.open[who.ID] = all
	}
	if all.count++; q.ended[who.ID] {
		all.cancel()
	}
	q.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	if !who.Expires.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, who.Expires)
	}
	stop := context.AfterFunc(all.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
		q.mu.Lock()
		defer q.mu.Unlock()
		if all.count--; all.count == 0 && q.open[who.ID] == all {
			all.cancel()
			delete(q.open, who.ID)
		}
	}
}

// end ends the requests of a token.
func (q *requests) end(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended == nil {
		q.ended = map[string]bool{}
	}
	q.ended[id] = true
	if all := q.open[id]; all != nil {
		all.cancel()
		delete(q.open, id)
	}
}
