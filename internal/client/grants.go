package client

import (
	"context"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
)

// Grants is what a kernel does with lasting grants.
type Grants struct{ client *Client }

// Grants returns the routes of lasting grants.
func (c *Client) Grants() Grants { return Grants{c} }

// List lists the lasting grants.
func (g Grants) List(ctx context.Context) ([]protocol.Grant, error) {
	var list []protocol.Grant
	err := g.client.get(ctx, "/v1/grants", nil, &list)
	return list, err
}

// Get returns one lasting grant.
func (g Grants) Get(ctx context.Context, id string) (protocol.Grant, error) {
	var found protocol.Grant
	err := g.client.get(ctx, "/v1/grants/"+url.PathEscape(id), nil, &found)
	return found, err
}

// Keep makes a lasting grant.
func (g Grants) Keep(ctx context.Context, keep protocol.KeepGrant) (protocol.Grant, error) {
	var kept protocol.Grant
	err := g.client.do(ctx, http.MethodPost, "/v1/grants", nil, keep, &kept)
	return kept, err
}

// Revoke revokes lasting grants.
func (g Grants) Revoke(ctx context.Context, revoke protocol.RevokeGrants) error {
	return g.client.do(ctx, http.MethodPost, "/v1/grants/revoke", nil, revoke, nil)
}

// Suggest proposes lasting grants from what humans answered before.
func (g Grants) Suggest(ctx context.Context) ([]protocol.GrantSuggestion, error) {
	var list []protocol.GrantSuggestion
	err := g.client.get(ctx, "/v1/grants/suggestions", nil, &list)
	return list, err
}

// TryRules tries the rules of an app file on recorded calls.
func (c *Client) TryRules(ctx context.Context, try protocol.TryRules) (protocol.RulesReport, error) {
	var r protocol.RulesReport
	err := c.do(ctx, http.MethodPost, "/v1/rules/try", nil, try, &r)
	return r, err
}
