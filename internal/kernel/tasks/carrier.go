package tasks

import (
	"context"

	"callgate/internal/task"
)

// Carrier tells a runner of the tasks that are due, whoever made them so.
type Carrier interface {
	// Carry calls begin with the ID of each task whose time has come, until ctx ends. It
	// tells again, a moment later, what begin returned an error for.
	Carry(ctx context.Context, begin func(ctx context.Context, id string) error)
	// Pause has it tell of nothing, or go on.
	Pause(ctx context.Context, is bool) error
}

// leaseTold leases and runs a task that is said to be due. One that is not, or that does
// not run by itself, is left alone.
func (r *Runner) leaseTold(ctx context.Context, id string) error {
	if err := r.held(); err != nil {
		return err
	}
	kinds := r.kinds()
	if len(kinds) == 0 {
		return nil
	}
	return r.lease(ctx, task.Request{ID: id, Kinds: kinds})
}

// held says why nothing runs by itself now; nil: all does.
func (r *Runner) held() error {
	if r.opt.Hold == nil {
		return nil
	}
	return r.opt.Hold()
}

// pause has the carrier tell of nothing while nothing is to run, unless that is known.
func (r *Runner) pause(ctx context.Context, is bool) {
	if r.opt.Carrier == nil || r.paused == is {
		return
	}
	if err := r.opt.Carrier.Pause(ctx, is); err != nil {
		r.opt.Log.Debug("the queue of tasks cannot be paused, or go on", "error", err)
		return
	}
	r.paused = is
}
