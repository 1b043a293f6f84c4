package web

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"time"
)

// Limits are what one client may take of the server. The zero value is for every day.
type Limits struct {
	Connections int           // who is served at once: a connection takes memory before it has shown a token; 0: 8192
	Header      time.Duration // how long the head of a request may take; 0: 10 seconds
	Body        time.Duration // how long its body may take; 0: 2 minutes
	Write       time.Duration // how long a part of an answer may take to be read by the client; 0: 2 minutes
}

func (l Limits) orDefaults() Limits {
	return Limits{
		Connections: cmp.Or(l.Connections, 8192), Header: cmp.Or(l.Header, 10*time.Second),
		Body: cmp.Or(l.Body, 2*time.Minute), Write: cmp.Or(l.Write, 2*time.Minute),
	}
}

// timed is the body of a request, which must be there in time: a client that sends it slowly holds its
// connection no longer. When it was read the limit ends, for the answer may take long.
func (s *Server) timed(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	if r.Body == nil || r.Body == http.NoBody {
		return r.Body
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(s.opt.Limits.Body)) // without it, only slow clients are better off
	return &timedBody{ReadCloser: r.Body, end: func() { _ = control.SetReadDeadline(time.Time{}) }}
}

type timedBody struct {
	io.ReadCloser
	end func()
}

// Read reads the body, and ends its time with it.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.end()
	}
	return n, err
}

// Close closes the body, and ends its time.
func (b *timedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// timedWriter writes an answer to a client that reads it: one that reads nothing holds its connection no longer. A
// stream lasts as long as each of its parts is read.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
}

// Unwrap is for http.ResponseController.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader begins the answer.
func (w *timedWriter) WriteHeader(status int) {
	w.begin()
	w.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the answer.
func (w *timedWriter) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p)
}

func (w *timedWriter) begin() {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.limit)) // without it, only slow clients are better off
}
