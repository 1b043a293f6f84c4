package pool

import (
	"context"
	"time"

	"callgate/internal/module/browser/page"
	"callgate/internal/module/browser/process"
)

// kind tells browsers apart: sessions that want the same kind share one.
type kind struct {
	executable  string
	visible     bool
	unsandboxed bool
}

// instance is a browser, or one that is being started.
type instance struct {
	kind    kind
	ready   chan struct{} // closed when the next three are set
	process *process.Process
	browser *page.Browser
	err     error

	users int         // number of profiles; guarded by the pool's lock
	idle  *time.Timer // ends a browser without users; guarded by the pool's lock
}

const (
	startTimeout = 30 * time.Second // bounds how long a browser may take to respond
	idleTime     = time.Minute      // how long a browser without users is kept
)

// instance returns a browser, with one more user. The caller holds the lock.
func (p *Pool) instance(k kind) *instance {
	b := p.browsers[k]
	if b == nil || b.ended() {
		b = &instance{kind: k, ready: make(chan struct{})}
		p.browsers[k] = b
		p.work.Go(func() { p.start(b) })
	}
	if b.users++; b.idle != nil {
		b.idle.Stop()
		b.idle = nil
	}
	return b
}

// ended reports whether the browser could not be started, or has ended.
func (b *instance) ended() bool {
	return isClosed(b.ready) && (b.err != nil || isClosed(b.browser.Done()))
}

func (p *Pool) start(b *instance) {
	defer close(b.ready)
	started, err := process.Start(process.Options{
		Executable: b.kind.executable, Visible: b.kind.visible, Unsandboxed: b.kind.unsandboxed, Log: p.log,
	})
	if err != nil {
		b.err = err
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	connected, err := page.Open(ctx, started.Pipe(), p.log)
	if err != nil {
		b.err = started.Failed(err)
		_ = started.Close()
		return
	}
	b.process, b.browser = started, connected
}

// retire ends a browser that got no user meanwhile.
func (p *Pool) retire(b *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.users == 0 && !p.closed {
		p.work.Go(func() { p.stop(b) })
		p.forget(b)
	}
}

// stop ends a browser.
func (p *Pool) stop(b *instance) {
	<-b.ready
	if b.err != nil {
		return
	}
	if err := b.process.Close(); err != nil {
		p.log.Warn("what the browser wrote could not be removed", "error", err)
	}
	b.browser.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(b)
}

// forget removes a browser, unless another took its place. The caller holds the lock.
func (p *Pool) forget(b *instance) {
	if p.browsers[b.kind] == b {
		delete(p.browsers, b.kind)
	}
}
