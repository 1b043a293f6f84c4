package relay

import (
	"sync"
	"time"
)

const (
	// quietAfter is how long no message comes before memory is returned. It is longer
	// than what memtrim.Large waits after a large message: collecting garbage maps parts
	// of the program again.
	quietAfter = 2 * time.Second
	// What must have been carried since the last time, so that returning memory again is
	// worth its work: so many messages, or so many bytes.
	worthMessages = 50
	worthBytes    = 1 << 20
)

// quiet returns the memory of a bridge when its client pauses.
//
// A bridge that carries messages uses more memory than one at rest: garbage, and the
// parts of the program that it runs. It is given back in the first pause, and in later
// ones if enough was carried since.
type quiet struct {
	trim func()      // nil: nothing is done
	busy func() bool // a large message is kept until its answer: it is not the time yet

	mu              sync.Mutex
	timer           *time.Timer
	messages, bytes int
	done            bool // once, at least
}

// carried says that a message was carried; 0 bytes: the bridge begins.
func (q *quiet) carried(bytes int) {
	if q.trim == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messages++
	q.bytes += bytes
	if q.timer == nil {
		q.timer = time.AfterFunc(quietAfter, q.rest)
		return
	}
	q.timer.Reset(quietAfter)
}

func (q *quiet) rest() {
	if q.busy() {
		return // the answer comes, and a pause after it
	}
	q.mu.Lock()
	worth := !q.done || q.messages >= worthMessages || q.bytes >= worthBytes
	if worth {
		q.messages, q.bytes, q.done = 0, 0, true
	}
	q.mu.Unlock()
	if worth {
		q.trim()
	}
}

// stop ends it.
func (q *quiet) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timer != nil {
		q.timer.Stop()
	}
}
