// Package window keeps the last of what a running call prints. Law: writing never
// waits. What a pattern is looked for in is all that was printed since the pattern
// was given, and what the window held then; what was printed before that and is no
// longer in the window is gone.
package window

import (
	"bytes"
	"sync"
	"unicode/utf8"
)

// Size is how many bytes are kept.
const Size = 64 << 10

// maxCarry is how much of what came before is looked at again with the next piece:
// a pattern that is longer may be missed where it is cut in two.
const maxCarry = 4 << 10

// Window holds the last bytes of one call's output. The zero value is empty. It is
// safe for concurrent use.
type Window struct {
	mu      sync.Mutex
	kept    []byte // at most 2*Size; the last Size of it count
	total   int64
	waiters []*waiter
}

// waiter looks for a pattern in what comes.
type waiter struct {
	pattern Pattern
	carry   []byte
	found   chan struct{}
}

// Write adds output.
func (w *Window) Write(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total += int64(len(p))
	if w.kept = append(w.kept, p[max(0, len(p)-Size):]...); len(w.kept) > 2*Size {
		w.kept = append(w.kept[:0], w.kept[len(w.kept)-Size:]...)
	}
	left := w.waiters[:0]
	for _, one := range w.waiters {
		if one.sees(p) {
			close(one.found)
			continue
		}
		left = append(left, one)
	}
	clear(w.waiters[len(left):])
	w.waiters = left
}

// sees reports whether the pattern is in what came, with the end of what came before.
func (o *waiter) sees(p []byte) bool {
	text := append(o.carry, p...)
	if o.pattern.In(text) {
		return true
	}
	o.carry = append(o.carry[:0], text[max(0, len(text)-maxCarry):]...)
	return false
}

// Tail returns the last lines, or all that is kept if lines is 0, as valid text, and
// how many bytes were printed in all.
func (w *Window) Tail(lines int) (text string, total int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.last()
	if lines > 0 {
		kept = lastLines(kept, lines)
	}
	return string(bytes.ToValidUTF8(kept, []byte("\uFFFD"))), w.total
}

// last is what counts, from the beginning of a character.
func (w *Window) last() []byte {
	kept := w.kept[max(0, len(w.kept)-Size):]
	for i := 0; i < min(len(kept), utf8.UTFMax) && int64(len(kept)) < w.total; i++ {
		if utf8.RuneStart(kept[i]) {
			return kept[i:]
		}
	}
	return kept
}

// lastLines returns the last n lines of a text.
func lastLines(text []byte, n int) []byte {
	end := len(text)
	if end > 0 && text[end-1] == '\n' {
		end--
	}
	for range n {
		i := bytes.LastIndexByte(text[:end], '\n')
		if i < 0 {
			return text
		}
		end = i
	}
	return text[end+1:]
}

// Find returns a channel that is closed when the output has a pattern, and what ends
// the search.
func (w *Window) Find(p Pattern) (found <-chan struct{}, stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := &waiter{pattern: p, found: make(chan struct{})}
	if one.sees(w.last()) {
		close(one.found)
		return one.found, func() {}
	}
	w.waiters = append(w.waiters, one)
	return one.found, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for i, other := range w.waiters {
			if other == one {
				w.waiters = append(w.waiters[:i:i], w.waiters[i+1:]...)
				return
			}
		}
	}
}
