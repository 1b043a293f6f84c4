package webhooks

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// seats are the connections of one address.
//
// # Law
//
// A connection costs memory before its caller has shown the secret, so the number of connections is bounded. A new
// connection is always accepted: if there is no seat, the connection that has held one for the longest time without
// showing the secret is closed. Callers that send slowly, or nothing, do not keep out a caller that sends at once.
type seats struct {
	most int

	mu   sync.Mutex
	open map[string]*seat // by the caller's address and port
}

type seat struct {
	conn  net.Conn
	since time.Time // when it was taken, or its last request was answered
	known bool      // its request is of a caller who knows the secret
}

// state is a http.Server's ConnState.
func (s *seats) state(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := c.RemoteAddr().String()
	switch state {
	case http.StateNew:
		if len(s.open) >= s.most {
			s.makeRoom()
		}
		s.open[from] = &seat{conn: c, since: time.Now()}
	case http.StateIdle:
		if one := s.open[from]; one != nil {
			*one = seat{conn: c, since: time.Now()}
		}
	case http.StateClosed, http.StateHijacked:
		if one := s.open[from]; one != nil && one.conn == c {
			delete(s.open, from)
		}
	}
}

// makeRoom closes the connection that is the longest without a caller that is known. The lock is held.
func (s *seats) makeRoom() {
	oldest := ""
	for from, one := range s.open {
		if !one.known && (oldest == "" || one.since.Before(s.open[oldest].since)) {
			oldest = from
		}
	}
	if oldest != "" { // else all are callers whose events are being stored, which is soon done
		_ = s.open[oldest].conn.Close()
		delete(s.open, oldest)
	}
}

// keep keeps the seat of a request whose caller is known until it is answered.
func (s *seats) keep(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.open[r.RemoteAddr]; one != nil {
		one.known = true
	}
}
