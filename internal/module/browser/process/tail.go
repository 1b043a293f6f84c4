package process

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// tail keeps the end of what the browser prints, to explain a failure.
type tail struct {
	from *os.File
	mu   sync.Mutex
	kept []byte
	done chan struct{} // closed when everything was read
}

const maxKept = 2 << 10

func newTail() *tail { return &tail{done: make(chan struct{})} }

// read reads until the end, so that the browser never blocks on its output.
func (t *tail) read() {
	defer close(t.done)
	_, _ = io.Copy(t, t.from)
	_ = t.from.Close()
}

// Write appends, and drops what is too old.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if n := len(t.kept) - maxKept; n > 0 {
		t.kept = append(t.kept[:0], t.kept[n:]...)
	}
	return len(p), nil
}

// wait waits until everything was read. A child that outlives the browser may keep the
// pipe open, so after the limit the pipe is closed.
func (t *tail) wait(limit time.Duration) {
	select {
	case <-t.done:
	case <-time.After(limit):
		_ = t.from.Close()
	}
	<-t.done
}

// String returns the last lines, joined into one.
func (t *tail) String() string {
	t.mu.Lock()
	text := string(t.kept)
	t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, ":FATAL:") }); i >= 0 {
		lines = lines[i : i+1]
	}
	for len(lines) > 1 && len(strings.Join(lines, "; ")) > 600 {
		lines = lines[1:]
	}
	return strings.ToValidUTF8(strings.Join(lines, "; "), "�")
}
