package http

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"callgate/tool"
)

// transfer ends a transfer in which nothing moves, and tells how far it is.
// Length alone does not make a transfer too long. A request may still be sent
// while its answer is read, so the count has a lock.
type transfer struct {
	grant tool.Grant
	verb  string // what is done, for whoever watches
	limit time.Duration
	timer *time.Timer

	mu    sync.Mutex
	done  int64 // bytes so far
	total int64 // -1: nobody said
	told  time.Time
}

// tellEvery is how often progress is told at most.
const tellEvery = 500 * time.Millisecond

// newTransfer returns a context that ends when nothing moved for limit. stop must
// be called.
func newTransfer(ctx context.Context, grant tool.Grant, verb string, limit time.Duration) (_ context.Context, w *transfer, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w = &transfer{grant: grant, verb: verb, limit: limit, total: -1, told: time.Now()}
	w.timer = time.AfterFunc(limit, func() { cancel(errStill) })
	return ctx, w, func() {
		w.timer.Stop()
		cancel(nil)
	}
}

// moved notes that n more bytes went through.
func (w *transfer) moved(n int) {
	w.timer.Reset(w.limit)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done += int64(n)
	if now := time.Now(); now.Sub(w.told) >= tellEvery {
		w.told = now
		w.tell()
	}
}

// at sets where the transfer stands.
func (w *transfer) at(done, total int64) {
	w.timer.Reset(w.limit)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done, w.total = done, total
}

// tell says how far it is; the lock is held.
func (w *transfer) tell() {
	if w.total > 0 {
		w.grant.Output("progress", fmt.Appendf(nil, "%s %s of %s (%d %%)\n", w.verb, size(w.done), size(w.total), 100*w.done/w.total))
		return
	}
	w.grant.Output("progress", fmt.Appendf(nil, "%s %s\n", w.verb, size(w.done)))
}

// reader watches what is read: counted tells whether it is what is transferred,
// or only shows that the other side is there.
func (w *transfer) reader(r io.Reader, counted bool) io.Reader { return watchedReader{r, w, counted} }

type watchedReader struct {
	io.Reader
	watch   *transfer
	counted bool
}

// Read reads on, and notes it.
func (r watchedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	switch {
	case n > 0 && r.counted:
		r.watch.moved(n)
	case n > 0:
		r.watch.timer.Reset(r.watch.limit)
	}
	return n, err
}
