package stdio

import (
	"sync/atomic"
	"time"
)

// patience is how long a reading goroutine may do something else before another one reads. What comes meanwhile waits
// so long at most.
const patience = time.Millisecond

// relief lets a goroutine that reads do something else in between. To hand that to another goroutine, and to be woken
// by the next line, would cost more than most of it takes.
//
// Its timer is not set anew for each: a timer that is set to an earlier time wakes a thread. It looks, while there is
// something, how long that takes.
type relief struct {
	read  func() // what another goroutine does in its place
	timer *time.Timer
	state atomic.Int32
	began atomic.Int64 // what it does
	set   atomic.Bool  // the timer is
}

const (
	reads    = iota
	works    // on something else
	relieved // another goroutine reads
)

func newRelief(read func()) *relief {
	r := &relief{read: read}
	r.timer = stoppedTimer(r.look)
	return r
}

// during has the goroutine do something. It reports whether it is to go on reading; else another one does.
func (r *relief) during(do func()) (goOn bool) {
	r.began.Store(clock())
	r.state.Store(works)
	r.setTimer(patience)
	do()
	return r.state.CompareAndSwap(works, reads)
}

func (r *relief) setTimer(after time.Duration) {
	if r.set.CompareAndSwap(false, true) {
		r.timer.Reset(after)
	}
}

func (r *relief) look() {
	r.set.Store(false)
	if r.state.Load() != works {
		return // whatever is begun from now on sets it again
	}
	if left := patience - time.Duration(clock()-r.began.Load()); left > 0 {
		r.setTimer(left)
		return
	}
	if r.state.CompareAndSwap(works, relieved) {
		r.read()
	}
}

// stoppedTimer is a timer that is not set yet.
func stoppedTimer(f func()) *time.Timer {
	t := time.AfterFunc(time.Hour, f)
	t.Stop()
	return t
}

var start = time.Now()

// clock is the time since the program began, in nanoseconds, and never 0.
func clock() int64 { return int64(time.Since(start)) + 1 }
