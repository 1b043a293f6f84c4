package mcp

import "time"

// State is where a server stands.
type State string

// The states.
const (
	NotStarted  State = "known"        // its tools may be known; it does not run
	Starting    State = "starting"     // it is being started or connected
	Running     State = "running"      //
	Failed      State = "failed"       // it could not be started, or ended by itself; the next call tries again
	CircuitOpen State = "open-breaker" // it failed too often, and is left alone for a while
	Stopped     State = "stopped"      // for good
)

// Status is what is to be known about a server at a moment.
type Status struct {
	Name         string    `json:"name"`
	State        State     `json:"state"`
	Server       string    `json:"server,omitempty"` // what it calls itself
	Protocol     string    `json:"protocol,omitempty"`
	Instructions string    `json:"instructions,omitempty"`
	Resources    bool      `json:"resources,omitempty"`
	Prompts      bool      `json:"prompts,omitempty"`
	Tools        int       `json:"tools"`
	Fetched      time.Time `json:"fetched,omitzero"` // when its tools were last asked for
	Pid          int       `json:"pid,omitempty"`
	Since        time.Time `json:"since,omitzero"` // of running
	Calls        int       `json:"calls"`
	Failures     int       `json:"failures"` // of the calls
	InFlight     int       `json:"in_flight"`
	Waiting      int       `json:"waiting"` // in line for a place
	LastError    string    `json:"last_error,omitempty"`
	NextTry      time.Time `json:"next_try,omitzero"`
}

// Status tells where the server stands.
func (s *Server) Status() Status {
	st := Status{Name: s.cfg.Name, State: NotStarted}
	if m := s.known(); m != nil {
		st.Server, st.Protocol, st.Instructions = m.Server, m.Protocol, m.Instructions
		st.Resources, st.Prompts, st.Tools, st.Fetched = m.Resources, m.Prompts, len(m.Tools), m.Fetched
	}
	s.calls.mu.Lock()
	st.Calls, st.Failures, st.Waiting, st.InFlight = s.calls.calls, s.calls.failures, s.calls.waiting, len(s.calls.inFlight)
	s.calls.mu.Unlock()
	breaker := s.conn.breaker.State()
	st.NextTry = breaker.Next
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	if s.conn.last != nil {
		st.LastError = s.conn.last.Error()
	}
	switch l := s.conn.current; {
	case s.conn.ctx.Err() != nil:
		st.State = Stopped
	case l != nil:
		st.State, st.Since = Running, l.began
		if l.process != nil {
			st.Pid = l.process.Pid()
		}
	case s.conn.attempt != nil:
		st.State = Starting
	case breaker.Open:
		st.State = CircuitOpen
	case s.conn.last != nil:
		st.State = Failed
	}
	return st
}
