// Package outputbus carries what running calls print to those who watch. It is no
// part of the journal: what nobody listens to is gone.
package outputbus

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Output is a piece of what a running call prints. It is not a record: records
// reach every follower without a gap, output reaches only those who listen at
// that moment, and a listener that is too slow loses some. The call's result
// holds what counts.
type Output struct {
	Call   string `json:"call"`
	Stream string `json:"stream"` // stdout, stderr
	Text   []byte `json:"text"`
}

// Bus passes output from calls to listeners. The zero value works.
type Bus struct {
	listening atomic.Int64
	mu        sync.Mutex
	listeners map[chan Output]bool
	watchers  map[string][]*watcher // by call
}

// watcher is given all that one call prints.
type watcher struct{ see func(text []byte) }

// maxWaiting is how many pieces of output may wait for a listener.
const maxWaiting = 256

// Publish passes a piece of output to all listeners. It never waits, and keeps
// no part of text.
func (b *Bus) Publish(call, stream string, text []byte) {
	if b.listening.Load() == 0 {
		return
	}
	out := Output{Call: call, Stream: stream, Text: append([]byte(nil), text...)}
	b.mu.Lock()
	defer b.mu.Unlock()
	for ch := range b.listeners {
		select {
		case ch <- out:
		default: // too slow
		}
	}
	for _, w := range b.watchers[call] {
		w.see(out.Text)
	}
}

// Watch has see called with all that a call prints from now on, without a gap, until
// stop is called. It must not wait, keep the text or publish.
func (b *Bus) Watch(call string, see func(text []byte)) (stop func()) {
	w := &watcher{see}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watchers == nil {
		b.watchers = map[string][]*watcher{}
	}
	b.watchers[call] = append(b.watchers[call], w)
	b.listening.Add(1)
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		left := slices.DeleteFunc(b.watchers[call], func(o *watcher) bool { return o == w })
		if b.watchers[call] = left; len(left) == 0 {
			delete(b.watchers, call)
		}
		b.listening.Add(-1)
	})
}

// Subscribe returns a channel of the output that is published until ctx ends.
func (b *Bus) Subscribe(ctx context.Context) <-chan Output {
	ch := make(chan Output, maxWaiting)
	b.mu.Lock()
	if b.listeners == nil {
		b.listeners = map[chan Output]bool{}
	}
	b.listeners[ch] = true
	b.mu.Unlock()
	b.listening.Add(1)
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		delete(b.listeners, ch)
		b.mu.Unlock()
		b.listening.Add(-1)
	})
	return ch
}
