package web

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// bodyTime is how long a request's body may take.
const bodyTime = 2 * time.Minute

// timed is the body of a request, which must be there in time: a client that sends it slowly holds its
// connection no longer. When it was read the limit ends, for the answer may take long.
func (s *Server) timed(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	if r.Body == nil || r.Body == http.NoBody {
		return r.Body
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // without it, only slow clients are better off
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

// writeTime is how long a part of an answer may take to be read by the client.
const writeTime = 2 * time.Minute

// timedWriter writes an answer to a client that reads it: one that reads nothing holds its connection no longer. A
// stream lasts as long as each of its parts is read.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
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
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTime)) // without it, only slow clients are better off
}
