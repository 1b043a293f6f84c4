package journal

import (
	"context"
	"sync"
	"sync/atomic"
)

// Output is a piece of what a running call prints. It is not a record: records
// are delivered to every follower without a gap, output only to whoever
// listens at that moment, and it is lost on a listener that is too slow. The
// call's result holds what counts.
type Output struct {
	Call   string `json:"call"`
	Stream string `json:"stream"` // stdout, stderr
	Text   []byte `json:"text"`
}

// OutputBus passes output from calls to listeners. The zero value is ready to use.
type OutputBus struct {
	listening atomic.Int64
	mu        sync.Mutex
	listeners map[chan Output]bool
}

// listenerRoom is how much output may wait for a listener.
const listenerRoom = 256

// Publish hands a piece of output to everybody who listens. It never waits,
// and keeps no part of text.
func (l *OutputBus) Publish(call, stream string, text []byte) {
	if l.listening.Load() == 0 {
		return
	}
	out := Output{Call: call, Stream: stream, Text: append([]byte(nil), text...)}
	l.mu.Lock()
	defer l.mu.Unlock()
	for ch := range l.listeners {
		select {
		case ch <- out:
		default: // too slow
		}
	}
}

// Subscribe returns a channel of the output that is published until ctx ends.
func (l *OutputBus) Subscribe(ctx context.Context) <-chan Output {
	ch := make(chan Output, listenerRoom)
	l.mu.Lock()
	if l.listeners == nil {
		l.listeners = map[chan Output]bool{}
	}
	l.listeners[ch] = true
	l.mu.Unlock()
	l.listening.Add(1)
	context.AfterFunc(ctx, func() {
		l.mu.Lock()
		delete(l.listeners, ch)
		l.mu.Unlock()
		l.listening.Add(-1)
	})
	return ch
}
