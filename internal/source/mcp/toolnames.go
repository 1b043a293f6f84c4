package mcp

// ToolNames are the names that the server gave its tools when it was last
// seen, whether or not they may be shown.
func (s *Server) ToolNames() []string {
	m := s.known()
	if m == nil {
		return nil
	}
	names := make([]string, len(m.Tools))
	for i, e := range m.Tools {
		names[i] = e.Name
	}
	return names
}
