//go:build linux

package prefork

import (
	"context"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"callgate/internal/sandbox/launcher"
)

// Pool starts helpers. The zero Pool keeps none waiting. It is safe for
// concurrent use.
type Pool struct {
	Idle time.Duration // how long a helper waits for a run before it is stopped

	// mu is also held while a helper is started ahead: a run that comes meanwhile
	// gets a helper soonest by waiting for that one.
	mu      sync.Mutex
	waiting *helper
	limit   *time.Timer // of the helper that waits
	wanted  bool        // one is about to be started
	leaving []*helper   // their runs have ended
}

// Job is one run.
type Job struct {
	Namespaces launcher.Namespaces
	Program    func() ([]byte, error) // for the helper; if it fails, nothing runs
	Files      []*os.File             // the command's standard files, in order, as many as the program takes
	Grace      time.Duration          // between asking the command to end and killing it
	Sent       func(helper int)       // called, once, when the helper was sent its files and its program; may be nil
	// Listener is given the listening socket that the program sends, before Run
	// returns; nil: it sends none.
	Listener func(net.Listener)
}

// Run has a helper run a program and returns its status line. When the
// context ends, the command is asked to end, and after the grace killed.
func (p *Pool) Run(ctx context.Context, job Job) (string, error) {
	h, err := p.take(), error(nil)
	waited := h != nil
	if !waited {
		if h, err = start(job.Namespaces); err != nil {
			return "", helperError(err)
		}
	}
	program, err := job.Program() // while a helper that did not wait is starting
	if err != nil {
		p.returnUnused(h)
		return "", err
	}
	p.prepare(job.Namespaces)
	read := h.run(ctx, program, job)
	p.trackExit(h)
	if waited && !read && ctx.Err() == nil {
		if h, err = start(job.Namespaces); err != nil {
			return "", helperError(err)
		}
		h.run(ctx, program, job)
		p.trackExit(h)
	}
	return h.status()
}

// trackExit notes a helper that is about to end.
func (p *Pool) trackExit(h *helper) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaving = append(slices.DeleteFunc(p.leaving, (*helper).isGone), h)
}

// take returns the helper that waits, if there is one and it is alive.
func (p *Pool) take() *helper {
	h := p.release(nil)
	if h != nil && h.hasEnded() {
		p.trackExit(h)
		return nil
	}
	return h
}

// release returns the helper that waits, and then none does. If one is named, it
// returns only that one.
func (p *Pool) release(only *helper) *helper {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.waiting
	if h == nil || only != nil && only != h {
		return nil
	}
	p.waiting = nil
	p.limit.Stop()
	return h
}

// prepare starts a helper for the next run, unless there is one. Most likely that
// will be a run like this one, so it makes the same namespaces.
func (p *Pool) prepare(expected launcher.Namespaces) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Idle <= 0 || p.waiting != nil || p.wanted {
		return
	}
	p.wanted = true
	go func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		wanted := p.wanted && p.waiting == nil
		p.wanted = false
		if !wanted {
			return
		}
		if h, err := start(expected); err == nil { // if not, the next run finds out by itself
			p.keep(h)
		}
	}()
}

// keep makes a helper the one that waits. The caller holds the lock, and none
// waits.
func (p *Pool) keep(h *helper) {
	p.waiting = h
	p.limit = time.AfterFunc(p.Idle, func() { p.stopIdle(h) })
}

// returnUnused lets a helper that got no program wait again.
func (p *Pool) returnUnused(h *helper) {
	p.mu.Lock()
	kept := p.Idle > 0 && p.waiting == nil
	if kept {
		p.keep(h)
	}
	p.mu.Unlock()
	if !kept {
		h.stop()
	}
}

// stopIdle stops the helper that waits; if one is named, only that one.
func (p *Pool) stopIdle(only *helper) {
	if h := p.release(only); h != nil {
		p.trackExit(h)
		h.stop()
	}
}

// Close stops the helper that waits, and returns when it has ended, and so have
// those whose runs have ended. A later run starts its own again.
func (p *Pool) Close() {
	p.mu.Lock()
	p.wanted = false
	p.mu.Unlock()
	p.stopIdle(nil)
	p.mu.Lock()
	leaving := p.leaving
	p.leaving = nil
	p.mu.Unlock()
	for _, h := range leaving {
		<-h.gone
	}
}
