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
	return ch, c.do(ctx, http.MethodPost, "/v1/approvals/"+url.PathEscape(approval)+"/challenge", nil, nil, &ch)
}

// ChallengeConsent is Challenge for accepting an app or a server, and for making a
// token.
func (c *Client) ChallengeConsent(ctx context.Context) (protocol.Challenge, error) {
	var ch protocol.Challenge
	return ch, c.do(ctx, http.MethodPost, "/v1/challenge", nil, nil, &ch)
}

// ShowCode sends what a person typed with every request from now on. No request may
// be under way.
func (c *Client) ShowCode(typed string) { c.code = typed }

// Tokens lists the tokens.
func (c *Client) Tokens(ctx context.Context) ([]protocol.Token, error) {
	var list []protocol.Token
	return list, c.get(ctx, "/v1/tokens", nil, &list)
}

// CreateToken makes a token. Its value is told this once.
func (c *Client) CreateToken(ctx context.Context, t protocol.CreateToken) (protocol.CreatedToken, error) {
	var made protocol.CreatedToken
	return made, c.do(ctx, http.MethodPost, "/v1/tokens", nil, t, &made)
}

// RevokeToken ends a token, by its ID or name.
func (c *Client) RevokeToken(ctx context.Context, name string) (protocol.Token, error) {
	var ended protocol.Token
	return ended, c.do(ctx, http.MethodDelete, "/v1/tokens/"+url.PathEscape(name), nil, nil, &ended)
}
