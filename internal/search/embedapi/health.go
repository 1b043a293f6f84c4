package embedapi

import (
	"sync"
	"sync/atomic"
	"time"
)

// How long an endpoint counts as down, at first and at most.
const (
	firstDown = time.Second
	maxDown   = time.Minute
)

// health is when an endpoint may be asked again. Readers load one number and
// never wait. The zero value is up.
type health struct {
	until atomic.Int64 // unix nanoseconds; before it the endpoint is down

	mu   sync.Mutex
	wait time.Duration // of the last failure
}

func (h *health) ready(now time.Time) bool {
	left := h.until.Load() - now.UnixNano()
	return left <= 0 || left > int64(maxDown) // the clock was set back: ask rather than stay down for hours
}

// failed makes it down for twice as long as the last time, and at least for
// as long as the server asked. What fails while it is down already was begun
// before, and adds nothing.
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
