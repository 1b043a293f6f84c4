package client

import (
	"cmp"
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// # Waiting
//
// No request waits for a kernel without a word. While nothing arrives, the kernel is
// probed from time to time on a connection of its own. As long as it answers the
// probe, it works on the request. If it does not, a request that may rightly take
// long (a call, a turn, a stream) goes on waiting, and the person is told for whom,
// once, and told again when the kernel is back; any other request ends, at once if
// the process is known to be stopped, else when it gave no sign of life for a while. And
// no short request waits longer than shortLimit for the next part of its answer, even if
// the kernel answers every probe: something inside it is stuck.

const (
	patience     = 3 * time.Second  // how long nothing may arrive before the first probe
	maxInterval  = 30 * time.Second // between the probes of a kernel that answers them
	silenceLimit = 30 * time.Second // after which a short request to a silent kernel ends
	shortLimit   = 2 * time.Minute  // after which a short request ends although the kernel gives signs of life
)

const answersAgain = "the kernel answers again"

// mayTakeLong reports whether a request waits for work that has no bound of its own.
func mayTakeLong(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	for _, end := range []string{
		"/calls", "/messages", "/resume", "/wake", "/attend", "/compact", "/result", "/follow", "/login",
	} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// readsAll reports whether a request goes through everything that there is, or starts a
// server: a kernel that lives is waited for.
func readsAll(path string) bool {
	for _, end := range []string{"/verify", "/export", "/prune", "/refresh", "/restart", "/trust"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// watcher watches one request.
type watcher struct {
	kernel  Process
	say     func(string)
	long    bool
	limit   time.Duration // how long a kernel that lives is waited for; 0: for ever
	arrived atomic.Int64  // when something last arrived
	cancel  context.CancelCauseFunc
}

// watch returns the context of a request, which ends if the kernel is silent for too
// long, and its watcher, whose stop must be called.
func (c *Client) watch(ctx context.Context, path string) (context.Context, *watcher) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watcher{kernel: c.kernel, say: c.say, long: mayTakeLong(path), cancel: cancel}
	if !w.long && !readsAll(path) {
		w.limit = cmp.Or(c.limit, shortLimit)
	}
	w.progress()
	if w.kernel.Socket != nil {
		go w.run(ctx)
	}
	return ctx, w
}

// Watched is the kernel behind a server of clients over HTTP. The zero value is not
// watched.
type Watched struct {
	Kernel Process
	Say    func(string) // takes what is to be said about the kernel; nil: nobody is told
}

// once says what many requests find at the same time once.
type once struct {
	say    func(string)
	mu     sync.Mutex
	silent bool // so it was said of the kernel
}

func (o *once) tell(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	silent := text != answersAgain
	if o.say != nil && silent != o.silent {
		o.say(text)
	}
	o.silent = silent
}

// reset forgets what was said: a request has ended.
func (o *once) reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.silent = false
}

// watchForwarded watches a request of a client over HTTP, which has a bound of its own,
// until the function that is returned is called.
func watchForwarded(ctx context.Context, kernel Process, o *once) (stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watcher{kernel: kernel, say: o.tell, long: true, cancel: cancel}
	w.progress()
	if kernel.Socket != nil {
		go w.run(ctx)
	}
	return func() {
		w.stop()
		o.reset()
	}
}

// stop ends the request and its watcher.
func (w *watcher) stop() { w.cancel(nil) }

func (w *watcher) progress() { w.arrived.Store(time.Now().UnixNano()) }

func (w *watcher) run(ctx context.Context) {
	var silentSince time.Time
	for pause := patience; ; pause = min(2*pause, maxInterval) {
		wait := pause
		if left := w.limit - time.Since(time.Unix(0, w.arrived.Load())); left > 0 {
			wait = min(pause, left)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		arrived := time.Unix(0, w.arrived.Load())
		overdue := w.limit > 0 && time.Since(arrived) >= w.limit
		if time.Since(arrived) < patience && !overdue {
			continue
		}
		err := w.kernel.Probe(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && overdue:
			w.cancel(w.kernel.stuck(w.limit))
			return
		case err == nil && !silentSince.IsZero():
			silentSince = time.Time{}
			w.tell(answersAgain)
		case err == nil:
		case !w.long && (isStopped(err) || !silentSince.IsZero() && time.Since(silentSince) > silenceLimit):
			w.cancel(err)
			return
		default:
			if silentSince.IsZero() {
				silentSince = time.Now()
				w.tell(notice(err))
			}
			pause = patience / 2
		}
	}
}

func (w *watcher) tell(text string) {
	if w.say != nil {
		w.say(text)
	}
}

// watchedBody is the body of a watched answer.
type watchedBody struct {
	io.ReadCloser
	ctx     context.Context
	watcher *watcher
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watcher.progress()
	}
	if cause := context.Cause(b.ctx); err != nil && IsNoAnswer(cause) {
		err = cause
	}
	return n, err
}

// Close ends the request.
func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.watcher.stop()
	return err
}
