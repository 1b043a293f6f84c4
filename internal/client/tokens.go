package client

import (
	"context"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
)

// Challenge asks what a person must do before their yes to an approval counts.
func (c *Client) Challenge(ctx context.Context, approval string) (protocol.Challenge, error) {
	var ch protocol.Challenge
	err := c.do(ctx, http.MethodPost, "/v1/approvals/"+url.PathEscape(approval)+"/challenge", nil, nil, &ch)
	return ch, err
}

// ChallengeConsent is Challenge for accepting an app or a server, and for making a
// token.
func (c *Client) ChallengeConsent(ctx context.Context) (protocol.Challenge, error) {
	var ch protocol.Challenge
	err := c.do(ctx, http.MethodPost, "/v1/challenge", nil, nil, &ch)
	return ch, err
}

// ShowCode sends what a person typed with every request from now on. No request may
// be under way.
func (c *Client) ShowCode(typed string) { c.code = typed }

// Tokens is what a kernel does with tokens.
type Tokens struct{ client *Client }

// Tokens returns the routes of tokens.
func (c *Client) Tokens() Tokens { return Tokens{c} }

// List lists the tokens.
func (t Tokens) List(ctx context.Context) ([]protocol.Token, error) {
	var list []protocol.Token
	err := t.client.get(ctx, "/v1/tokens", nil, &list)
	return list, err
}

// Create makes a token. Its value is told this once.
func (t Tokens) Create(ctx context.Context, want protocol.CreateToken) (protocol.CreatedToken, error) {
	var made protocol.CreatedToken
	err := t.client.do(ctx, http.MethodPost, "/v1/tokens", nil, want, &made)
	return made, err
}

// Revoke ends a token, by its ID or name.
func (t Tokens) Revoke(ctx context.Context, name string) (protocol.Token, error) {
	var ended protocol.Token
	err := t.client.do(ctx, http.MethodDelete, "/v1/tokens/"+url.PathEscape(name), nil, nil, &ended)
	return ended, err
}

// OpenConsole returns a link to the console, which lets a browser in once.
func (t Tokens) OpenConsole(ctx context.Context, want protocol.OpenConsole) (protocol.ConsoleLink, error) {
	var link protocol.ConsoleLink
	err := t.client.do(ctx, http.MethodPost, "/v1/console", nil, want, &link)
	return link, err
}
