package client

import (
	"context"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
)

// Secrets is what a kernel does with secrets. All of it needs the human's key.
type Secrets struct{ client *Client }

// Secrets returns the routes of secrets.
func (c *Client) Secrets() Secrets { return Secrets{c} }

// List lists the names of the secrets.
func (s Secrets) List(ctx context.Context) ([]protocol.Secret, error) {
	var list []protocol.Secret
	err := s.client.get(ctx, "/v1/secrets", nil, &list)
	return list, err
}

// Set stores a value.
func (s Secrets) Set(ctx context.Context, name string, v protocol.SetSecret) error {
	return retry(ctx, func() error { return s.client.do(ctx, http.MethodPut, secretPath(name), nil, v, nil) })
}

// Delete deletes a value.
func (s Secrets) Delete(ctx context.Context, name string, d protocol.DeleteSecret) error {
	return s.client.do(ctx, http.MethodDelete, secretPath(name), nil, d, nil)
}

func secretPath(name string) string { return "/v1/secrets/" + url.PathEscape(name) }
