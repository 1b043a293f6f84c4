package web

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"callgate/internal/daemon/httpapi/route"
)

// roundTripper makes requests as somebody who is logged in: they come through the same roles, and no
// connection is made for them.
type roundTripper struct {
	server *Server
	login  route.Login
}

// RoundTrip answers a request when its answer has begun; the rest is a stream.
func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	body, pipe := io.Pipe()
	w := &streamWriter{header: http.Header{}, body: pipe, begun: make(chan struct{})}
	inside := route.WithLogin(r.Clone(r.Context()), t.login)
	inside.Host, inside.RemoteAddr, inside.RequestURI = r.URL.Host, "console", r.URL.RequestURI()
	if inside.Body == nil {
		inside.Body = http.NoBody
	}
	go func() {
		defer func() {
			if p := recover(); p != nil { // as the HTTP server does: the answer breaks off
				w.WriteHeader(http.StatusInternalServerError)
				_ = pipe.CloseWithError(fmt.Errorf("the answer broke off: %v", p))
			}
		}()
		t.server.routes.ServeHTTP(w, inside)
		w.WriteHeader(http.StatusOK)
		_ = pipe.Close()
	}()
	select {
	case <-w.begun:
	case <-r.Context().Done():
		_ = body.Close()
		return nil, r.Context().Err()
	}
	return &http.Response{
		StatusCode: w.status, Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.sent, Body: body, Request: r, ContentLength: -1,
	}, nil
}

// streamWriter hands an answer on while it is written.
type streamWriter struct {
	header http.Header
	body   *io.PipeWriter

	once   sync.Once
	begun  chan struct{}
	status int
	sent   http.Header
}

// Header is the answer's header.
func (w *streamWriter) Header() http.Header { return w.header }

// WriteHeader begins the answer.
func (w *streamWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.begun)
	})
}

// Write writes to whoever reads the answer.
func (w *streamWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// FlushError begins the answer: what was written is there already.
func (w *streamWriter) FlushError() error {
	w.WriteHeader(http.StatusOK)
	return nil
}
