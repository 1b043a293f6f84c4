// Package nowait reads and writes pipes and connections with system calls that never wait.
//
// # Law
//
// A write takes what is taken at once; what is left over the caller has another goroutine write, or [Writer] waits.
// A read waits in the runtime's poller, and asks the system only for what is there. So on Linux both ask it directly:
// Go's scheduler need not be told of a system call that returns at once, and its watcher (sysmon), which looks for
// those that do not, sleeps on. That is a tenth of the processor time of a call that is passed on.
//
// Where that cannot be promised, for a file or for a pipe that is not polled, [To] has no function, and [Reader] and
// [Writer] return what they were given.
package nowait

import (
	"io"
	"sync"
)

// Write writes as much of data as is taken at once, which may be nothing. An error means that no more will be taken.
type Write func(data []byte) (written int, err error)

// maxOnce bounds what one system call reads or writes: it keeps its thread from all other work.
const maxOnce = 64 << 10

// Writer returns a writer of all that it is given: at once where that is taken, else through w, which waits. What one
// Write is given stays together. Nobody may write to w itself meanwhile.
func Writer(w io.Writer) io.Writer {
	if write := To(w); write != nil {
		return &writer{atOnce: write, rest: w}
	}
	return w
}

type writer struct {
	mu     sync.Mutex
	atOnce Write
	rest   io.Writer
}

func (w *writer) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.atOnce(data)
	if err != nil || n == len(data) {
		return n, err
	}
	more, err := w.rest.Write(data[n:])
	return n + more, err
}
