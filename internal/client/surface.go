package client

import (
	"context"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
)

// Plan returns the tools as the model of an agent would be shown them, and
// why.
func (c *Client) Plan(ctx context.Context, r protocol.PlanRequest) (*protocol.AgentSurface, error) {
	var p protocol.AgentSurface
	return &p, c.do(ctx, http.MethodPost, "/v1/plan", nil, r, &p)
}

// Surface returns the tools as this session's model is shown them, and why.
// The query may have mode, window, client and mcp.
func (s *Session) Surface(ctx context.Context, query url.Values) (*protocol.Surface, error) {
	var p protocol.Surface
	return &p, s.client.get(ctx, s.path("/surface"), query, &p)
}
