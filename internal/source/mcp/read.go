package mcp

import (
	"context"
	"encoding/json"
	"time"

	"callgate/tool"
)

// ReadRequest is one resource, by its URI, or one prompt, by its name, that is
// read from a server.
type ReadRequest struct {
	Call   string         // the ID under which it is recorded; empty: it has none yet
	By     tool.Principal // on whose behalf
	URI    string
	Prompt string
	Args   map[string]string // of the prompt
}

// ReadResult is how a ReadRequest ended.
type ReadResult struct {
	Size int // bytes of the answer
	Took time.Duration
	Err  error
}

// Read reads a resource or a prompt, as the protocol writes it. It is recorded
// before it is returned.
func (s *Server) Read(ctx context.Context, r ReadRequest) (json.RawMessage, error) {
	began := time.Now()
	i := item{method: readResource, name: r.URI}
	if r.Prompt != "" {
		i = item{method: getPrompt, name: r.Prompt, args: r.Args}
	}
	raw, err := s.inputs.read(ctx, r.Call, tool.Grant{}, i)
	if record := s.manager.opt.OnRead; record != nil {
		if failed := record(s, r, ReadResult{len(raw), time.Since(began), err}); failed != nil && err == nil {
			return nil, failed
		}
	}
	return raw, err
}

// ReadResource reads one resource.
func (s *Server) ReadResource(ctx context.Context, uri string) (json.RawMessage, error) {
	return s.Read(ctx, ReadRequest{URI: uri})
}

// GetPrompt fills in one prompt.
func (s *Server) GetPrompt(ctx context.Context, name string, args map[string]string) (json.RawMessage, error) {
	return s.Read(ctx, ReadRequest{Prompt: name, Args: args})
}
