package daemon

import (
	"context"
	"net/http"
	"time"

	"callgate/internal/kernel"
	"callgate/internal/observe"
)

// StartTransient is StartBackground for a kernel that ends with its last client: as
// soon as one says that it needs the kernel no more (protocol.RouteRelease), and nobody
// else does. Clients that were killed say nothing: for them there is WaitIdle.
func StartTransient(ctx context.Context, cfg kernel.Config) (*Daemon, error) {
	d, err := start(ctx, cfg, true)
	if err == nil {
		d.transient.Store(true)
	}
	return d, err
}

// leaveTime is how long a client that leaves may take to be gone: its streams, and the
// requests that were just answered, are still counted for a moment.
const leaveTime = time.Second

// release has a transient kernel stop if nobody but the client that asks needs it. It
// waits for the requests alone: a session, a turn or a call is somebody's use.
func (d *Daemon) release() bool {
	if !d.transient.Load() {
		return false
	}
	for end := time.Now().Add(leaveTime); d.inUse(1); {
		if d.mcpClients.Load() > 0 || d.Kernel.InUse() || time.Now().After(end) {
			return false
		}
		time.Sleep(2 * time.Millisecond)
	}
	d.stop()
	return true
}

// inUse reports whether more requests are served than some, or the kernel has a client,
// a turn, a call or a task.
func (d *Daemon) inUse(requests int64) bool {
	return d.requests.Load() > requests || d.mcpClients.Load() > 0 || d.Kernel.InUse()
}

// counted counts the requests that are served, and has them recorded, within the trace of their client.
func (d *Daemon) counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.requests.Add(1)
		defer d.requests.Add(-1)
		if d.recorder != nil {
			r = r.WithContext(observe.Within(observe.With(r.Context(), d.recorder), r.Header.Get("Traceparent")))
		}
		h.ServeHTTP(w, r)
	})
}
