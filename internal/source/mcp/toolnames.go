package mcp

import "callgate/internal/source/mcp/translate"

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

// UpstreamNames are the names that the server itself gives its tools, by ours.
func (s *Server) UpstreamNames() map[string]string {
	m := s.known()
	if m == nil {
		return nil
	}
	defs := make([]Definition, len(m.Tools))
	for i, e := range m.Tools {
		defs[i] = e.Definition
	}
	own := make(map[string]string, len(defs))
	for i, name := range translate.Names(defs) {
		own[name] = defs[i].Name
	}
	return own
}
