package stdio

import (
	"sync/atomic"
	"time"
)

// patience is how long a reading goroutine may do something else before another one reads. What comes meanwhile waits
// so long at most.
const patience = 500 * time.Microsecond

// relief lets a goroutine that reads do something else in between. To hand that to another goroutine, and to be woken
// by the next line, would cost more than most of it takes.
type relief struct {
	read  func() // what another goroutine does in its place
	timer *time.Timer
	state atomic.Int32
}

const (
	reads    = iota
	works    // on something else
	relieved // another goroutine reads
)

// during has the goroutine do something. It reports whether it is to go on reading; else another one does.
func (r *relief) during(do func()) (goOn bool) {
	r.state.Store(works)
	if r.timer == nil {
		r.timer = time.AfterFunc(patience, r.relieve)
	} else {
		r.timer.Reset(patience)
	}
	do()
	if !r.state.CompareAndSwap(works, reads) {
		return false
	}
	r.timer.Stop() // if it is too late, what is done next is relieved early
	return true
}

func (r *relief) relieve() {
	if r.state.CompareAndSwap(works, relieved) {
		r.read()
	}
}
