package tasks

import (
	"context"
	"time"

	"callgate/internal/task"
)

// heartbeat renews all leases while something runs.
type heartbeat struct {
	stop    context.CancelFunc
	stopped chan struct{}
}

// wait waits until a heartbeat that was told to stop has stopped. A nil one has.
func (h *heartbeat) wait() {
	if h != nil {
		<-h.stopped
	}
}

// startBeat starts the heartbeat, unless it beats. r.mu is held.
func (r *Runner) startBeat() {
	if r.beat != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	beat := &heartbeat{stop: stop, stopped: make(chan struct{})}
	r.beat = beat
	go func() {
		defer close(beat.stopped)
		r.renewAll(ctx)
	}()
}

// stopBeat stops the heartbeat when nothing runs, and returns it then. r.mu is held.
func (r *Runner) stopBeat() *heartbeat {
	if len(r.running) > 0 || r.beat == nil {
		return nil
	}
	beat := r.beat
	r.beat = nil
	beat.stop()
	return beat
}

// renewAll keeps the leases of the tasks that run, and cancels the contexts of those
// that are cancelled or whose lease is lost.
func (r *Runner) renewAll(ctx context.Context) {
	tick := time.NewTicker(r.opt.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		runs := r.runs()
		leases := make([]task.Renewal, 0, len(runs))
		for _, one := range runs {
			leases = append(leases, one.renewal())
		}
		found, err := r.opt.Queue.Renew(ctx, leases, r.opt.Lease)
		if err != nil && ctx.Err() == nil { // they may still be renewed in time
			r.opt.Log.Error("the leases of tasks cannot be renewed", "tasks", len(leases), "error", err)
		}
		for _, id := range found.Cancelled {
			runs[id].cancel(errCancelled)
		}
		for _, id := range found.Lost {
			runs[id].cancel(errLost)
		}
	}
}

// runs returns the tasks that run, by their IDs.
func (r *Runner) runs() map[string]*Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[string]*Run, len(r.running))
	for id, one := range r.running {
		all[id] = one
	}
	return all
}

// renewal is the lease of a task, with what is to be noted of its progress.
func (r *Run) renewal() task.Renewal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return task.Renewal{ID: r.ID, Fence: r.Lease.Fence, Progress: r.progress}
}
