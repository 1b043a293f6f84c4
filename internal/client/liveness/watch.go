package liveness

import (
	"context"
	"io"
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
// no short request waits longer than ShortLimit for the next part of its answer, even if
// the kernel answers every probe: something inside it is stuck.

const (
	patience     = 3 * time.Second  // how long nothing may arrive before the first probe
	maxInterval  = 30 * time.Second // between the probes of a kernel that answers them
	silenceLimit = 30 * time.Second // after which a short request to a silent kernel ends
	ShortLimit   = 2 * time.Minute  // after which a short request ends although the kernel gives signs of life
)

// AnswersAgain is said when a kernel that was silent answers.
const AnswersAgain = "the kernel answers again"

// Watcher watches one request.
type Watcher struct {
	kernel  Process
	say     func(string)
	long    bool
	limit   time.Duration // how long a kernel that lives is waited for; 0: for ever
	arrived atomic.Int64  // when something last arrived
	cancel  context.CancelCauseFunc
}

// Request is what a watcher knows of its request.
type Request struct {
	Long  bool          // it waits for work that has no bound of its own
	Limit time.Duration // how long a kernel that lives is waited for; 0: for ever
}

// Watch returns the context of a request, which ends if the kernel is silent for too
// long, and its watcher, whose Stop must be called.
func Watch(ctx context.Context, kernel Process, say func(string), r Request) (context.Context, *Watcher) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &Watcher{kernel: kernel, say: say, long: r.Long, limit: r.Limit, cancel: cancel}
	w.Progress()
	if kernel.Socket != nil {
		go w.run(ctx)
	}
	return ctx, w
}

// Stop ends the request and its watcher.
func (w *Watcher) Stop() { w.cancel(nil) }

// Progress notes that something arrived.
func (w *Watcher) Progress() { w.arrived.Store(time.Now().UnixNano()) }

func (w *Watcher) run(ctx context.Context) {
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
			w.tell(AnswersAgain)
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

func (w *Watcher) tell(text string) {
	if w.say != nil {
		w.say(text)
	}
}

// Body is the body of the answer to a watched request; ctx is what Watch gave.
func (w *Watcher) Body(ctx context.Context, body io.ReadCloser) io.ReadCloser {
	return &watchedBody{body, ctx, w}
}

// watchedBody is the body of a watched answer.
type watchedBody struct {
	io.ReadCloser
	ctx     context.Context
	watcher *Watcher
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watcher.Progress()
	}
	if cause := context.Cause(b.ctx); err != nil && IsNoAnswer(cause) {
		err = cause
	}
	return n, err
}

// Close ends the request.
func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.watcher.Stop()
	return err
}
