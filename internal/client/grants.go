package client

import (
	"context"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
)

// Grants lists the lasting grants.
func (c *Client) Grants(ctx context.Context) ([]protocol.Grant, error) {
	var list []protocol.Grant
	return list, c.get(ctx, "/v1/grants", nil, &list)
}

// Grant returns one lasting grant.
func (c *Client) Grant(ctx context.Context, id string) (protocol.Grant, error) {
	var g protocol.Grant
	return g, c.get(ctx, "/v1/grants/"+url.PathEscape(id), nil, &g)
}

// KeepGrant makes a lasting grant.
func (c *Client) KeepGrant(ctx context.Context, keep protocol.KeepGrant) (protocol.Grant, error) {
	var g protocol.Grant
	return g, c.do(ctx, http.MethodPost, "/v1/grants", nil, keep, &g)
}

// RevokeGrants revokes lasting grants.
func (c *Client) RevokeGrants(ctx context.Context, revoke protocol.RevokeGrants) error {
	return c.do(ctx, http.MethodPost, "/v1/grants/revoke", nil, revoke, nil)
}

// SuggestGrants proposes lasting grants from what humans answered before.
func (c *Client) SuggestGrants(ctx context.Context) ([]protocol.GrantSuggestion, error) {
	var list []protocol.GrantSuggestion
	return list, c.get(ctx, "/v1/grants/suggestions", nil, &list)
}

// TryRules tries the rules of an app file on recorded calls.
func (c *Client) TryRules(ctx context.Context, try protocol.TryRules) (protocol.RulesReport, error) {
	var r protocol.RulesReport
	return r, c.do(ctx, http.MethodPost, "/v1/rules/try", nil, try, &r)
}
