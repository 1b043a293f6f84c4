package client

import (
	"context"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
)

// Secrets lists the names of the secrets. Like SetSecret and DeleteSecret, it needs
// the human's key.
func (c *Client) Secrets(ctx context.Context) ([]protocol.Secret, error) {
	var list []protocol.Secret
	err := c.get(ctx, "/v1/secrets", nil, &list)
	return list, err
}

// SetSecret stores a value.
func (c *Client) SetSecret(ctx context.Context, name string, s protocol.SetSecret) error {
	return retry(ctx, func() error { return c.do(ctx, http.MethodPut, secretPath(name), nil, s, nil) })
}

// DeleteSecret deletes a value.
func (c *Client) DeleteSecret(ctx context.Context, name string, d protocol.DeleteSecret) error {
	return c.do(ctx, http.MethodDelete, secretPath(name), nil, d, nil)
}

func secretPath(name string) string { return "/v1/secrets/" + url.PathEscape(name) }
