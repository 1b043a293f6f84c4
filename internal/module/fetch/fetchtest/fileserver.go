package fetchtest

import (
	"bytes"
	"net/http"
	"sync"
	"time"
)

// FileServer serves one file, and breaks connections as a test wants. Its
// fields may be changed between calls.
type FileServer struct {
	Body         []byte
	ETag         string
	ContentType  string
	Dated        bool  // responses have a Last-Modified of an hour ago
	IgnoreRanges bool  // every response is the whole file
	Breaks       []int // after how many bytes each response breaks off; -1: it is a 503

	mu     sync.Mutex
	ranges []string
}

// ServeHTTP serves the file.
func (s *FileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	limit := len(s.Body)
	if len(s.Breaks) > 0 {
		limit, s.Breaks = s.Breaks[0], s.Breaks[1:]
	}
	if limit < 0 {
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	if s.ETag != "" {
		w.Header().Set("ETag", s.ETag)
	}
	if s.ContentType != "" {
		w.Header().Set("Content-Type", s.ContentType)
	}
	if s.Dated {
		changed := time.Now().Add(-time.Hour).Truncate(time.Hour)
		w.Header().Set("Last-Modified", changed.UTC().Format(http.TimeFormat))
	}
	if s.IgnoreRanges {
		r.Header.Del("Range")
	}
	http.ServeContent(&breakingWriter{w, limit}, r, "file.bin", time.Time{}, bytes.NewReader(s.Body))
}

// Ranges returns the header Range of each request since it was last called.
func (s *FileServer) Ranges() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.ranges
	s.ranges = nil
	return out
}

// breakingWriter breaks the connection after some bytes.
type breakingWriter struct {
	http.ResponseWriter
	left int
}

// Write writes what is left.
func (w *breakingWriter) Write(p []byte) (int, error) {
	if len(p) <= w.left {
		w.left -= len(p)
		return w.ResponseWriter.Write(p)
	}
	_, _ = w.ResponseWriter.Write(p[:w.left])
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// Bytes returns n bytes that do not repeat soon.
func Bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}
