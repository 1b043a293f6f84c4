// Package outputbus carries the output of running calls to listeners. Output is not part
// of the journal: the bus keeps none of it for later listeners.
package outputbus

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Output is a piece of the output of a running call. It is not a record: records reach
// every follower without a gap, while output reaches only current listeners, and a
// listener that reads too slowly loses some. The call's result holds what counts.
type Output struct {
	Call   string `json:"call"`
	Stream string `json:"stream"` // stdout, stderr
	Text   []byte `json:"text"`
	Lost   int    `json:"lost,omitempty"` // the bytes missing at this point of the stream; the piece has no text
}

// Bus passes output from calls to listeners. The zero value is ready to use.
type Bus struct {
	listening atomic.Int64
	mu        sync.Mutex
	listeners map[*Listener]bool
	watchers  map[string][]*watcher // by call
}

// watcher receives all output of one call.
type watcher struct{ see func(text []byte) }

// Publish passes a piece of output to all listeners. It never blocks, and does not
// retain text.
func (b *Bus) Publish(call, stream string, text []byte) {
	if b.listening.Load() == 0 {
		return
	}
	out := Output{Call: call, Stream: stream, Text: append([]byte(nil), text...)}
	b.mu.Lock()
	defer b.mu.Unlock()
	for l := range b.listeners {
		l.add(out)
	}
	for _, w := range b.watchers[call] {
		w.see(out.Text)
	}
}

// Watch calls see with all further output of a call, without a gap, until stop is
// called. The function see must not block, retain the text or publish.
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

// Subscribe returns a listener for the output of all calls. The listener receives output
// until ctx ends.
func (b *Bus) Subscribe(ctx context.Context) *Listener {
	l := &Listener{ready: make(chan struct{}, 1), ended: ctx.Done()}
	b.mu.Lock()
	if b.listeners == nil {
		b.listeners = map[*Listener]bool{}
	}
	b.listeners[l] = true
	b.mu.Unlock()
	b.listening.Add(1)
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		delete(b.listeners, l)
		b.mu.Unlock()
		b.listening.Add(-1)
	})
	return l
}
