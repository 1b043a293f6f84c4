package owed

import "sync"

// Bell tells its listeners that something may have changed. A listener that has not
// listened since the last time is told once. The zero value is ready.
type Bell struct {
	mu        sync.Mutex
	listeners map[chan struct{}]bool
}

// Listen returns what is sent to when the bell rings, until stop is called.
func (b *Bell) Listen() (ring <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners == nil {
		b.listeners = map[chan struct{}]bool{}
	}
	b.listeners[c] = true
	return c, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, c)
	}
}

// Ring tells the listeners. It does not wait.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.listeners {
		select {
		case c <- struct{}{}:
		default: // it has not listened since the last time
		}
	}
}
