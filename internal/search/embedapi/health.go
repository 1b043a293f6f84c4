package embedapi

import (
	"sync"
	"sync/atomic"
	"time"
)

// The time that an endpoint counts as down, after the first failure and at most.
const (
	firstDown = time.Second
	maxDown   = time.Minute
)

// health says when an endpoint may be asked again. Readers never wait. The zero
// value is an endpoint that is up.
type health struct {
	until atomic.Int64 // unix nanoseconds; before it the endpoint is down

	mu   sync.Mutex
	wait time.Duration // of the last failure
}

func (h *health) ready(now time.Time) bool {
	left := h.until.Load() - now.UnixNano()
	return left <= 0 || left > int64(maxDown) // more than maxDown: the clock was set back
}

// failed marks the endpoint as down, for twice the time of the last failure and at
// least for the time that the server asked for. A failure while it is down comes
// from a call that began before, and changes nothing.
func (h *health) failed(now time.Time, asked time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ready(now) {
		return
	}
	h.wait = min(max(2*h.wait, firstDown), maxDown)
	h.until.Store(now.Add(min(max(h.wait, asked), maxDown)).UnixNano())
}

func (h *health) succeeded() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wait = 0
	h.until.Store(0)
}
