package visible

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// maxPending is how many bytes of one line a Writer keeps back.
const maxPending = 64 << 10

// Writer writes what it is given as Lines does. It keeps an unfinished line back
// until Flush, since a character may come in two pieces.
type Writer struct {
	W       io.Writer
	pending []byte
}

// Write writes the lines that p completes.
func (w *Writer) Write(p []byte) (int, error) {
	w.pending = append(w.pending, p...)
	whole := bytes.LastIndexByte(w.pending, '\n') + 1
	if whole == 0 && len(w.pending) > maxPending {
		whole = len(w.pending) - utf8.UTFMax
		for !utf8.RuneStart(w.pending[whole]) && whole < len(w.pending)-1 {
			whole++
		}
	}
	if err := w.write(whole); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the rest.
func (w *Writer) Flush() error { return w.write(len(w.pending)) }

func (w *Writer) write(n int) error {
	if n == 0 {
		return nil
	}
	_, err := io.WriteString(w.W, Lines(string(w.pending[:n])))
	w.pending = append(w.pending[:0], w.pending[n:]...)
	return err
}
