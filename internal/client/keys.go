package client

import (
	"context"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
)

// Keys is what a kernel does with signing keys. Make it with NewKeys.
type Keys struct{ client *Client }

// NewKeys returns the routes of signing keys.
func NewKeys(c *Client) Keys { return Keys{c} }

// List lists the keys.
func (k Keys) List(ctx context.Context) ([]protocol.Key, error) {
	var list []protocol.Key
	err := k.client.get(ctx, "/v1/keys", nil, &list)
	return list, err
}

// Create makes a key to sign with.
func (k Keys) Create(ctx context.Context, name string) (protocol.Key, error) {
	var made protocol.Key
	err := k.client.do(ctx, http.MethodPost, keyPath(name), nil, nil, &made)
	return made, err
}

// Trust has what a key signs count.
func (k Keys) Trust(ctx context.Context, name string, t protocol.TrustKey) (protocol.Key, error) {
	var key protocol.Key
	err := k.client.do(ctx, http.MethodPut, keyPath(name)+"/trust", nil, t, &key)
	return key, err
}

// Remove ends the trust in a key, and removes an own one.
func (k Keys) Remove(ctx context.Context, name string) error {
	return k.client.do(ctx, http.MethodDelete, keyPath(name), nil, nil, nil)
}

// Sign signs a file.
func (k Keys) Sign(ctx context.Context, s protocol.Sign) ([]byte, error) {
	var made protocol.Signature
	err := k.client.do(ctx, http.MethodPost, "/v1/sign", nil, s, &made)
	return made.Signature, err
}

func keyPath(name string) string { return "/v1/keys/" + url.PathEscape(name) }
