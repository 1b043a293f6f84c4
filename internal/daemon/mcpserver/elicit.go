package mcpserver

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp"
)

// Elicit carries a question of an MCP server to the client whose call led to
// it. A question that could be of several clients is nobody's, and is declined:
// what one human is asked must not be shown to another.
func (s *Server) Elicit(ctx context.Context, server *mcp.Server, asked mcp.Question) (mcp.Answer, error) {
	f := s.asker(ctx, asked.Calls)
	if f == nil {
		return mcp.Answer{Action: "decline"}, nil
	}
	form := &sdk.ElicitParams{Mode: "form", Message: "The MCP server " + server.Config().Name + " asks: " + asked.Message}
	if len(asked.Schema) > 0 {
		form.RequestedSchema = asked.Schema
	}
	q := newQuestion(form, false)
	select {
	case f.asks <- q:
	case <-f.done:
		return mcp.Answer{Action: "cancel"}, nil
	case <-ctx.Done():
		return mcp.Answer{}, context.Cause(ctx)
	}
	select {
	case said := <-q.answer:
		return mcp.Answer{Action: said.Action, Content: said.Content}, nil
	case <-f.done:
		return mcp.Answer{Action: "cancel"}, nil
	case <-ctx.Done():
		return mcp.Answer{}, context.Cause(ctx)
	}
}

// asker finds the one flight that a question is of: by the context it comes
// with, or by the calls that it may be of, when these are all of one guest.
func (s *Server) asker(ctx context.Context, calls []string) *flight {
	if f, ok := ctx.Value(flightKey{}).(*flight); ok {
		return f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found *flight
	for _, call := range calls {
		f := s.calls[call]
		if f == nil || found != nil && found.guest != f.guest {
			return nil
		}
		found = f
	}
	return found
}
