package mcpserver

// MaxOfVisitor is how many sessions the clients with one token may have.
const MaxOfVisitor = maxOfVisitor

// EndTerms has the time come at which what clients have open waits no longer for their next token, and returns how many
// there are that have something open.
func EndTerms(s *Server) (open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.handlers {
		h.mu.Lock()
		for _, e := range h.open {
			if open++; e.expiry != nil {
				e.expiry.Reset(0)
			}
		}
		h.mu.Unlock()
	}
	return open
}
