package mcp

import "time"

// State is the state of a server.
type State string

// The states.
const (
	NotStarted  State = "known"        // its tools may be known; it does not run
	Starting    State = "starting"     // it is being started or connected
	Running     State = "running"      //
	Failed      State = "failed"       // it could not be started, or ended by itself; the next call tries again
	CircuitOpen State = "open-breaker" // it failed too often, and is not tried for a while
	Stopped     State = "stopped"      // for good
)

// Status describes a server at one moment.
type Status struct {
	Name         string    `json:"name"`
	State        State     `json:"state"`
	Server       string    `json:"server,omitempty"` // the name that it gives itself
	Protocol     string    `json:"protocol,omitempty"`
	Instructions string    `json:"instructions,omitempty"`
	Resources    bool      `json:"resources,omitempty"`
	Prompts      bool      `json:"prompts,omitempty"`
	Tools        int       `json:"tools"`
	Fetched      time.Time `json:"fetched,omitzero"` // when it last listed its tools
	Pid          int       `json:"pid,omitempty"`
	Since        time.Time `json:"since,omitzero"` // when it was started or connected
	Calls        int       `json:"calls"`
	Failures     int       `json:"failures"` // of the calls
	InFlight     int       `json:"in_flight"`
	Waiting      int       `json:"waiting"` // calls in line for a slot
	LastError    string    `json:"last_error,omitempty"`
	NextTry      time.Time `json:"next_try,omitzero"`
}

// Status describes the server now.
func (s *Server) Status() Status {
	st := Status{Name: s.cfg.Name, State: NotStarted}
	if l := s.catalog.known(); l != nil {
		st.Server, st.Protocol, st.Instructions = l.Server, l.Protocol, l.Instructions
		st.Resources, st.Prompts, st.Tools, st.Fetched = l.Resources, l.Prompts, len(l.Tools), l.Fetched
	}
	n := s.requests.Stats()
	st.Calls, st.Failures, st.Waiting, st.InFlight = n.Calls, n.Failures, n.Waiting, n.Sent
	c := s.connector.Status()
	st.NextTry = c.Breaker.Next
	if c.Last != nil {
		st.LastError = c.Last.Error()
	}
	if _, slowed := s.meter.Slowed(); slowed && st.LastError == "" {
		st.LastError = slowedText
	}
	if _, slowed := s.lines.Slowed(); slowed && st.LastError == "" {
		st.LastError = loggedText
	}
	switch {
	case c.Stopped:
		st.State = Stopped
	case c.Current != nil:
		st.State, st.Since = Running, c.Current.Began
		if c.Current.Process != nil {
			st.Pid = c.Current.Process.Pid()
		}
	case c.Connecting:
		st.State = Starting
	case c.Breaker.Open:
		st.State = CircuitOpen
	case c.Last != nil:
		st.State = Failed
	}
	return st
}
