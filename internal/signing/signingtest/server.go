// Package signingtest serves signed files to tests, over HTTP on this machine.
package signingtest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/signing"
)

// Server serves files with their signatures. It leaves no connection open: the clock of a bubble would
// wait for it. Make one with New.
type Server struct {
	*httptest.Server
	Key signing.Secret // signs what is put

	mu    sync.Mutex
	files map[string][]byte // by path
	down  bool
	held  chan struct{} // requests wait until it is closed; nil: none waits
	asked int
}

// New makes a server with a key of its own, and nothing to serve.
func New(t testing.TB) *Server {
	t.Helper()
	key, err := signing.NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Key: key, files: map[string][]byte{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.SetKeepAlivesEnabled(false)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-r.Context().Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	isSignature := strings.HasSuffix(r.URL.Path, signing.Suffix)
	if !isSignature {
		s.asked++
	}
	data, ok := s.files[r.URL.Path]
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256(data))
	switch {
	case s.down:
		http.Error(w, "down", http.StatusBadGateway)
	case !ok:
		http.NotFound(w, r)
	case !isSignature && r.Header.Get("If-None-Match") == tag:
		w.WriteHeader(http.StatusNotModified)
	default:
		w.Header().Set("ETag", tag)
		_, _ = w.Write(data)
	}
}

// Put serves a text at a path, signed as of a time.
func (s *Server) Put(t testing.TB, at, text string, seconds int64) {
	t.Helper()
	signature, err := s.Key.Sign([]byte(text), signing.Comment{File: path.Base(at), Time: time.Unix(seconds, 0)})
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[at], s.files[at+signing.Suffix] = []byte(text), signature
}

// SetDown has every request fail, or no longer.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Hold has requests wait until they are released.
func (s *Server) Hold() (release func()) {
	held := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held = nil
		close(held)
	})
}

// Asked is how often a file was asked for; its signature is not counted.
func (s *Server) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Catalog is the text of a catalog of LLM-backed tools, which say the same.
func Catalog(says string, ids ...string) string {
	var list []string
	for _, id := range ids {
		list = append(list, fmt.Sprintf(`{"id": %q, "description": "Says something.", "user_template": %q, `+
			`"model_preference": {"preferred": "offline/offline"}}`, id, says))
	}
	return `{"tools": [` + strings.Join(list, ", ") + `]}`
}
