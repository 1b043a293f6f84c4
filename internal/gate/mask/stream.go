package mask

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
)

const (
	maxHeld = 64 << 10 // bytes that a stream holds back at most
	overlap = 4 << 10  // of a line longer than that, the end that is held back still
)

// Stream masks output while it comes, as [Result] masks the result. It passes on whole
// lines, so that a value that is cut in two by a piece is still found, and a key in
// several lines (-----BEGIN to -----END) when its end has come.
type Stream struct {
	mask func(string) string
	emit func([]byte)

	mu   sync.Mutex
	held []byte
}

// NewStream returns a stream that passes masked text to emit, which must not keep it
// and is called by one writer at a time.
func NewStream(mask func(string) string, emit func([]byte)) *Stream {
	return &Stream{mask: mask, emit: emit}
}

// Write takes the next piece. It never fails.
func (s *Stream) Write(piece []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, piece...)
	s.passOn(s.whole())
	return len(piece), nil
}

// Close passes on what was held back.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passOn(len(s.held))
	return nil
}

// whole is how many of the held bytes can be judged by themselves.
func (s *Stream) whole() int {
	cut := bytes.LastIndexByte(s.held, '\n') + 1
	if begin := bytes.LastIndex(s.held[:cut], []byte("-----BEGIN")); begin >= 0 &&
		!bytes.Contains(s.held[begin:cut], []byte("-----END")) {
		cut = bytes.LastIndexByte(s.held[:begin], '\n') + 1
	}
	if len(s.held)-cut <= maxHeld {
		return cut
	}
	end := len(s.held) - overlap
	if space := bytes.LastIndexAny(s.held[cut:end], " \t\n"); space >= 0 {
		end = cut + space + 1
	}
	return end
}

// passOn masks the first n bytes that are held, and passes them on.
func (s *Stream) passOn(n int) {
	if n == 0 {
		return
	}
	lines := strings.SplitAfter(string(s.held[:n]), "\n")
	for i, line := range lines {
		if text := strings.TrimSpace(line); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			lines[i] = strings.Replace(line, text, string(JSON(json.RawMessage(text), s.mask)), 1)
		}
	}
	s.held = append([]byte(nil), s.held[n:]...)
	s.emit([]byte(s.mask(strings.Join(lines, ""))))
}
