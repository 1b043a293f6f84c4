// Package condition is a condition variable whose wait ends with a context, unlike
// that of [sync.Cond].
package condition

import (
	"context"
	"sync"
)

// Variable guards a state that many goroutines change and wait for. Whoever changes
// the state holds the lock and then calls Broadcast, so that every waiter looks again.
type Variable struct {
	sync.Mutex
	end     <-chan struct{}
	err     error
	changed chan struct{} // closed and replaced by each Broadcast
}

// New returns a variable. Once end is closed, every wait fails with err.
func New(end <-chan struct{}, err error) *Variable {
	return &Variable{end: end, err: err, changed: make(chan struct{})}
}

// Broadcast wakes all waiters. The caller holds the lock.
func (v *Variable) Broadcast() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// Wait returns when ok reports true or an error. It calls ok with the lock held, at
// first and after each change. It fails when ctx is done or the variable has ended.
func (v *Variable) Wait(ctx context.Context, ok func() (bool, error)) error {
	for {
		v.Lock()
		done, err := ok()
		changed := v.changed
		v.Unlock()
		if done || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-v.end:
			return v.err
		}
	}
}
