package lockqueue

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

// Retries are the calls that an earlier kernel left in doubt and that are being made again. Their places in the queue
// keep away who touches the same files and says so. A call that changes something and does not say what ([IsOpaque])
// may write these files too, with newer data that a retry would then put its old data over: it begins when no retry
// holds its locks, or waits for them. The zero value is ready.
type Retries struct {
	mu      sync.Mutex
	running map[string]chan struct{} // closed when the retry has ended; by the ID of its call
}

// Begin takes note of a retry that has this place in the queue. It ends with the place: when that is cancelled, or the
// lease is released that it gave, which is when the handler has stopped.
func (r *Retries) Begin(call string, place Ticket) Ticket {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil {
		r.running = map[string]chan struct{}{}
	}
	ended := make(chan struct{})
	r.running[call] = ended
	return &retryPlace{Ticket: place, end: sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.running, call)
		close(ended)
	})}
}

type retryPlace struct {
	Ticket
	end    func()
	leased atomic.Bool
}

func (p *retryPlace) Wait(ctx context.Context) (Lease, error) {
	lease, err := p.Ticket.Wait(ctx)
	if err != nil {
		return nil, err
	}
	p.leased.Store(true)
	return retryLease{lease, p.end}, nil
}

func (p *retryPlace) Cancel() {
	p.Ticket.Cancel()
	if !p.leased.Load() {
		p.end()
	}
}

type retryLease struct {
	Lease
	end func()
}

func (l retryLease) Release() {
	l.Lease.Release()
	l.end()
}

// Fence is that of the lease: see [lock.FenceOf].
func (l retryLease) Fence() uint64 { return lock.FenceOf(l.Lease) }

// Running names a retry that has not ended; "" for none.
func (r *Retries) Running() (call string) {
	call, _ = r.one()
	return call
}

func (r *Retries) one() (call string, ended <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for call, ended := range r.running {
		return call, ended
	}
	return "", nil
}

// Wait blocks until no retry runs.
func (r *Retries) Wait(ctx context.Context, patience time.Duration) error {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		call, ended := r.one()
		if call == "" {
			return nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return lock.CancelledError(ctx)
		case <-timeout.C:
			return tool.Errorf("lock.Wait", tool.Busy, "call %s, which an earlier kernel left in doubt, has been made again "+
				"for %v and has not ended; this call does not say what it touches, which may be the same", call, patience).
				WithHint("try again when that call has ended, or let the tool say what it touches (effects)")
		}
	}
}

// IsOpaque reports whether a call with these claims does not say what it touches: it claims its server alone (package
// serverlock), or its module for want of anything else (package binding). The kernel's own tools, which claim nothing,
// touch nothing themselves.
func IsOpaque(of *tool.Tool, claims []tool.Claim) bool {
	for _, c := range claims {
		module := len(of.Runtime.Effects) == 0 && strings.HasPrefix(c.Resource, "module:")
		if !module && !strings.HasPrefix(c.Resource, "server:") {
			return false
		}
	}
	return len(claims) > 0
}
