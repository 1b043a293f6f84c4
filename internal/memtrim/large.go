package memtrim

import (
	"runtime/debug"
	"sync"
	"time"
)

const (
	// largeFrom is the size from which on a message counts as large.
	largeFrom = 1 << 20
	// largeLimit is the memory beyond which garbage is collected at once while a large
	// message is worked on: each of its copies would otherwise stay until the heap has
	// doubled.
	largeLimit = 192 << 20
	// freeAfter is how long after the last large message its memory is returned.
	freeAfter = time.Second
)

// Large keeps the memory of a process small while and after it works on large
// messages. The zero value is ready.
type Large struct {
	mu    sync.Mutex
	open  int
	timer *time.Timer
}

// Begin says that work on a message of a size begins. The caller calls end when it is
// done.
func (l *Large) Begin(size int) (end func()) {
	if size < largeFrom {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open++; l.timer != nil {
		l.timer.Stop()
	}
	if debug.SetMemoryLimit(-1) == usualLimit() { // else GOMEMLIMIT or an embedding program has set it
		debug.SetMemoryLimit(largeLimit)
	}
	return sync.OnceFunc(l.done)
}

func (l *Large) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open--; l.open == 0 {
		l.timer = time.AfterFunc(freeAfter, l.free)
	}
}

func (l *Large) free() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open > 0 {
		return // another one came
	}
	debug.FreeOSMemory()
	if debug.SetMemoryLimit(-1) == largeLimit {
		debug.SetMemoryLimit(usualLimit())
	}
}
