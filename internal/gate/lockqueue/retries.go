package lockqueue

import (
	"context"
	"strings"
	"sync"
	"time"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

// Retries are the calls that an earlier kernel left in doubt and that are being made again. Their places in the queue
// keep away who touches the same files and says so. A call that changes something and does not say what ([IsOpaque])
// may write these files too, with newer data that a retry would then put its old data over: it begins when no retry
// runs. The zero value is ready.
type Retries struct {
	mu      sync.Mutex
	running map[string]chan struct{} // closed when the retry has ended; by the ID of its call
}

// Begin takes note of a retry that has this place in the queue. It ends when the place that is returned is cancelled:
// that must happen when the call has ended, however it did.
func (r *Retries) Begin(call string, place Ticket) Ticket {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil {
		r.running = map[string]chan struct{}{}
	}
	ended := make(chan struct{})
	r.running[call] = ended
	return retryPlace{place, sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.running, call)
		close(ended)
	})}
}

type retryPlace struct {
	Ticket
	end func()
}

func (p retryPlace) Cancel() {
	p.Ticket.Cancel()
	p.end()
}

// Ahead names a retry that a call waits for; "" for none. A call that a retry itself makes waits for no other.
func (r *Retries) Ahead(parent string) (call string) {
	call, _ = r.ahead(parent)
	return call
}

func (r *Retries) ahead(parent string) (call string, ended <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[parent] != nil {
		return "", nil
	}
	for call, ended := range r.running {
		return call, ended
	}
	return "", nil
}

// Wait blocks until no retry runs.
func (r *Retries) Wait(ctx context.Context, parent string, patience time.Duration) error {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		call, ended := r.ahead(parent)
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

// IsOpaque reports whether these are the claims of a call that does not say what it touches: its module or its server
// alone (packages binding and serverlock). The kernel's own tools, which claim nothing, touch nothing themselves.
func IsOpaque(claims []tool.Claim) bool {
	for _, c := range claims {
		if !strings.HasPrefix(c.Resource, "server:") && !strings.HasPrefix(c.Resource, "module:") {
			return false
		}
	}
	return len(claims) > 0
}
