package mcp

import (
	"context"
	"encoding/json"

	"callgate/internal/source/mcp/dial"
	"callgate/internal/source/mcp/list"
	"callgate/tool"
)

// ListResources returns the server's resources, as the protocol writes them,
// without those that are held back.
func (s *Server) ListResources(ctx context.Context) ([]json.RawMessage, error) {
	items, err := s.sender.list(ctx, "resources/list", list.Resources)
	return s.guard.list(ResourceItem, items, err)
}

// ListResourceTemplates returns the templates of its resources.
func (s *Server) ListResourceTemplates(ctx context.Context) ([]json.RawMessage, error) {
	items, err := s.sender.list(ctx, "resources/templates/list", list.ResourceTemplates)
	return s.guard.list(TemplateItem, items, err)
}

// ListPrompts returns the server's prompts.
func (s *Server) ListPrompts(ctx context.Context) ([]json.RawMessage, error) {
	items, err := s.sender.list(ctx, "prompts/list", list.Prompts)
	return s.guard.list(PromptItem, items, err)
}

// list reads a list. A server without such items need not know the method.
func (s *sender) list(ctx context.Context, method string, read list.Func) (items []json.RawMessage, err error) {
	err = s.do(ctx, request{method: method}, func(ctx context.Context, c *dial.Conn, _ string) (err error) {
		items, err = read(ctx, c.Session)
		return err
	})
	if tool.KindOf(err) == tool.NotFound {
		return nil, nil
	}
	return items, err
}
