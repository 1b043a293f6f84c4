//go:build linux

package prefork

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"callgate/internal/sandbox/launcher"
)

// Pool starts helpers. The zero Keeper keeps none waiting.
type Pool struct {
	Idle time.Duration // how long a helper waits for a run before it is given up

	mu      sync.Mutex // held, too, while a helper to wait is started: whoever comes meanwhile gets it soonest by waiting
	waiting *helper
	limit   *time.Timer // of the one that waits
	wanted  bool        // one is about to be started
	leaving []*helper   // their runs are over
}

// Job is what a helper is started for.
type Job struct {
	Ground  launcher.Namespaces    // what the run stands on
	Program func() ([]byte, error) // for the helper; if it cannot be had, nothing runs
	Files   []*os.File             // the command's standard files, in order, as many as the program takes
	Grace   time.Duration          // between asking the command to end and killing it
}

// Run has a helper run a program and returns its status line. When the
// context ends, the command is asked to end, and after the grace killed.
func (k *Pool) Run(ctx context.Context, job Job) (string, error) {
	h, err := k.take(), error(nil)
	waited := h != nil
	if !waited {
		if h, err = start(job.Ground); err != nil {
			return "", helperError(err)
		}
	}
	program, err := job.Program() // beside the start of a helper that did not wait
	if err != nil {
		k.returnUnused(h)
		return "", err
	}
	k.prepare(job.Ground)
	knew := h.run(ctx, program, job)
	k.trackExit(h)
	if waited && !knew && ctx.Err() == nil {
		if h, err = start(job.Ground); err != nil {
			return "", helperError(err)
		}
		h.run(ctx, program, job)
		k.trackExit(h)
	}
	return h.status()
}

// trackExit notes a helper that is about to leave.
func (k *Pool) trackExit(h *helper) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.leaving = append(slices.DeleteFunc(k.leaving, (*helper).left), h)
}

// take gives the helper that waits, if there is one and it lives.
func (k *Pool) take() *helper {
	h := k.release(nil)
	if h != nil && h.over() {
		k.trackExit(h)
		return nil
	}
	return h
}

// release gives the helper that waits, and then none does; if one is named, no
// other.
func (k *Pool) release(only *helper) *helper {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.waiting
	if h == nil || only != nil && only != h {
		return nil
	}
	k.waiting = nil
	k.limit.Stop()
	return h
}

// prepare has a helper started for the next run, unless there is one. Most
// likely that will be a run like this one, so this is the ground it makes.
func (k *Pool) prepare(ground launcher.Namespaces) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.Idle <= 0 || k.waiting != nil || k.wanted {
		return
	}
	k.wanted = true
	go func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		wanted := k.wanted && k.waiting == nil
		k.wanted = false
		if !wanted {
			return
		}
		if h, err := start(ground); err == nil { // if not, the next run finds out by itself
			k.keep(h)
		}
	}()
}

// keep lets a helper wait. The caller holds the lock, and none waits.
func (k *Pool) keep(h *helper) {
	k.waiting = h
	k.limit = time.AfterFunc(k.Idle, func() { k.stopIdle(h) })
}

// returnUnused lets a helper wait that was told nothing after all.
func (k *Pool) returnUnused(h *helper) {
	k.mu.Lock()
	kept := k.Idle > 0 && k.waiting == nil
	if kept {
		k.keep(h)
	}
	k.mu.Unlock()
	if !kept {
		h.stop()
	}
}

// stopIdle has the helper that waits leave; if one is named, no other.
func (k *Pool) stopIdle(only *helper) {
	if h := k.release(only); h != nil {
		k.trackExit(h)
		h.stop()
	}
}

// Close gives up the helper that waits, and returns when it is gone, and so are
// those whose runs are over. The next run starts its own again.
func (k *Pool) Close() {
	k.mu.Lock()
	k.wanted = false
	k.mu.Unlock()
	k.stopIdle(nil)
	k.mu.Lock()
	leaving := k.leaving
	k.leaving = nil
	k.mu.Unlock()
	for _, h := range leaving {
		<-h.gone
	}
}
