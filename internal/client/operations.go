package client

import (
	"context"
	"net/http"

	"callgate/internal/protocol/operations"
)

// Reload has the open sessions of a kernel work by their app files as they are now.
func Reload(ctx context.Context, c *Client, in operations.Reload) (operations.Reloaded, error) {
	var got operations.Reloaded
	return got, c.do(ctx, http.MethodPost, "/v1/reload", nil, in, &got)
}

// Retain removes what the rules of retain no longer keep.
func Retain(ctx context.Context, c *Client, in operations.Retain) (operations.Retained, error) {
	var got operations.Retained
	return got, c.do(ctx, http.MethodPost, "/v1/retain", nil, in, &got)
}
