package webhooks

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// seats are the connections of one address.
//
// # Law
//
// A connection costs memory before its caller has shown that it knows the secret. So there are only so many, and a new
// one is always taken: if there is no seat, the one is closed that has held its seat for the longest time without
// showing the secret. Callers that send slowly, or nothing, keep out nobody who sends a request at once.
type seats struct {
	most int

	mu   sync.Mutex
	open map[net.Conn]*seat
}

type seat struct {
	since time.Time // when it was taken, or its last request was answered
	known bool      // its request is of a caller who knows the secret
}

// state is a http.Server's ConnState.
func (s *seats) state(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		if len(s.open) >= s.most {
			s.makeRoom()
		}
		s.open[c] = &seat{since: time.Now()}
	case http.StateIdle:
		if one := s.open[c]; one != nil {
			*one = seat{since: time.Now()}
		}
	case http.StateClosed, http.StateHijacked:
		delete(s.open, c)
	}
}

// makeRoom closes the connection that is the longest without a caller that is known. The lock is held.
func (s *seats) makeRoom() {
	var oldest net.Conn
	for c, one := range s.open {
		if !one.known && (oldest == nil || one.since.Before(s.open[oldest].since)) {
			oldest = c
		}
	}
	if oldest != nil { // else all are callers whose events are being stored, which is soon done
		delete(s.open, oldest)
		_ = oldest.Close()
	}
}

type connKey struct{}

// context is a http.Server's ConnContext.
func (s *seats) context(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// keep keeps the seat of a request whose caller is known until it is answered.
func (s *seats) keep(r *http.Request) {
	c, _ := r.Context().Value(connKey{}).(net.Conn)
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.open[c]; one != nil {
		one.known = true
	}
}
