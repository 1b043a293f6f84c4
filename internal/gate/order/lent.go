package order

import "sync"

// Lent hands the place of a control tool's call to the call that it makes in its own
// place. The zero value is ready.
type Lent struct {
	mu     sync.Mutex
	places map[string]*Place // by the control tool's call
}

// By returns the place that a call lends, or nil.
func (l *Lent) By(call string) *Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.places[call]
}

// Lend lends the place of a call until end is called.
func (l *Lent) Lend(call string, p *Place) (end func()) {
	if p == nil {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.places == nil {
		l.places = map[string]*Place{}
	}
	l.places[call] = p
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.places, call)
	}
}
