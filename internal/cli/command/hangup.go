package command

import (
	"os"
	"sync"
)

// Hangups gives SIGHUP to a command that wants it. The signal says two things: that the terminal was closed, which
// ends a command, and, to a program that runs for long, that its files are to be read again. It is the first when
// the process had a terminal and has it no more.
type Hangups struct {
	mu   sync.Mutex
	take func() bool
}

// Take has the signal call a function, until end is called. The function must not wait.
func (h *Hangups) Take(do func()) (end func()) {
	if h == nil {
		return func() {}
	}
	had := hasTerminal()
	set := func(take func() bool) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.take = take
	}
	set(func() bool {
		if had && !hasTerminal() {
			return false
		}
		do()
		return true
	})
	return func() { set(nil) }
}

// Taken has a command take a signal, and reports whether one did.
func (h *Hangups) Taken() bool {
	h.mu.Lock()
	take := h.take
	h.mu.Unlock()
	return take != nil && take()
}

// hasTerminal reports whether the process has a terminal that controls it.
func hasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}
