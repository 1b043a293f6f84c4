package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"callgate/internal/protocol"
)

// ModelUse says how models did at LLM-backed tools. Make it with NewModelUse.
type ModelUse struct{ client *Client }

// NewModelUse makes what asks a kernel how models did.
func NewModelUse(c *Client) ModelUse { return ModelUse{c} }

// List says how each model did at each tool since a time; tool: at that one only.
func (m ModelUse) List(ctx context.Context, since time.Time, tool string) ([]protocol.ModelUse, error) {
	var list []protocol.ModelUse
	query := url.Values{"since": {since.Format(time.RFC3339Nano)}, "tool": {tool}}
	err := m.client.get(ctx, "/v1/models/use", query, &list)
	return list, err
}

// Advice says which models a tool of a session should ask. minCalls is how many calls a model must
// have had; 0: as the kernel has it.
func (m ModelUse) Advice(
	ctx context.Context, s *Session, tool string, since time.Time, minCalls int,
) (protocol.ModelAdvice, error) {
	var a protocol.ModelAdvice
	query := url.Values{
		"since": {since.Format(time.RFC3339Nano)}, "tool": {tool}, "min_calls": {strconv.Itoa(minCalls)},
	}
	err := m.client.get(ctx, s.path("/models/advice"), query, &a)
	return a, err
}
