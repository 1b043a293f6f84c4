package process

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// tail keeps the end of what the browser prints, for the words of a failure.
type tail struct {
	from *os.File
	mu   sync.Mutex
	kept []byte
	over chan struct{}
}

const maxKept = 2 << 10

func newTail() *tail { return &tail{over: make(chan struct{})} }

// read keeps reading, so that the browser never waits for us to.
func (t *tail) read() {
	defer close(t.over)
	_, _ = io.Copy(t, t.from)
	_ = t.from.Close()
}

// Write keeps the end.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if n := len(t.kept) - maxKept; n > 0 {
		t.kept = append(t.kept[:0], t.kept[n:]...)
	}
	return len(p), nil
}

// ended is closed when everything was read. A child that outlives the browser
// may hold the pipe open, so the waiting has an end.
func (t *tail) ended(within time.Duration) <-chan struct{} {
	select {
	case <-t.over:
	case <-time.After(within):
		_ = t.from.Close()
	}
	return t.over
}

// String is the last lines it printed, in one line.
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
	said := strings.Join(lines, "; ")
	if !utf8.ValidString(said) {
		said = strings.ToValidUTF8(said, "�")
	}
	return said
}
