package client

import (
	"context"
	"net/http"
	"net/url"

	"callgate/internal/protocol/operations"
)

// Reload has the open sessions of a kernel work by their app files as they are now.
func Reload(ctx context.Context, c *Client, in operations.Reload) (operations.Reloaded, error) {
	var got operations.Reloaded
	return got, c.do(ctx, http.MethodPost, "/v1/reload", nil, in, &got)
}

// Nodes lists the nodes that share a kernel's database.
func Nodes(ctx context.Context, c *Client) (list []operations.Node, err error) {
	return list, c.do(ctx, http.MethodGet, "/v1/nodes", nil, nil, &list)
}

// Users lists who the users are, and what they have used.
func Users(ctx context.Context, c *Client) (list []operations.User, err error) {
	return list, c.do(ctx, http.MethodGet, "/v1/users", nil, nil, &list)
}

// User tells of one user.
func User(ctx context.Context, c *Client, name string) (found operations.User, err error) {
	return found, c.do(ctx, http.MethodGet, "/v1/users/"+url.PathEscape(name), nil, nil, &found)
}

// RevokeUser ends all tokens and logins of a user.
func RevokeUser(ctx context.Context, c *Client, name string) (found operations.User, err error) {
	return found, c.do(ctx, http.MethodPost, "/v1/users/"+url.PathEscape(name)+"/revoke", nil, nil, &found)
}

// NodeLocks lists what calls at all nodes hold and wait for of what all nodes share.
func NodeLocks(ctx context.Context, c *Client) (list []operations.SharedClaim, err error) {
	return list, c.do(ctx, http.MethodGet, "/v1/nodes/locks", nil, nil, &list)
}

// Drain has a node begin nothing new, or go on.
func Drain(ctx context.Context, c *Client, in operations.Drain) (got operations.Node, err error) {
	return got, c.do(ctx, http.MethodPost, "/v1/drain", nil, in, &got)
}

// VerifyNodes has the journals of all nodes verified.
func VerifyNodes(ctx context.Context, c *Client) (got operations.VerifiedNodes, err error) {
	return got, c.do(ctx, http.MethodGet, "/v1/nodes/verify", nil, nil, &got)
}

// Retain removes what the rules of retain no longer keep.
func Retain(ctx context.Context, c *Client, in operations.Retain) (operations.Retained, error) {
	var got operations.Retained
	return got, c.do(ctx, http.MethodPost, "/v1/retain", nil, in, &got)
}

// Learned lists the requests that the searches of whoever has a session taught.
func Learned(ctx context.Context, s *Session) (list []operations.LearnedRequest, err error) {
	return list, s.again(ctx, func() error {
		return s.client.do(ctx, http.MethodGet, s.path("/learned"), nil, nil, &list)
	})
}

// ForgetLearned forgets some of them, and returns which.
func ForgetLearned(
	ctx context.Context, s *Session, in operations.ForgetLearned,
) (gone []operations.LearnedRequest, err error) {
	return gone, s.again(ctx, func() error {
		return s.client.do(ctx, http.MethodPost, s.path("/learned/forget"), nil, in, &gone)
	})
}

// OwnBench measures ways to search on the tools of a session, and on the requests of whoever has it.
func OwnBench(ctx context.Context, s *Session, in operations.OwnBench) (got operations.OwnBenchReport, err error) {
	return got, s.again(ctx, func() error {
		return s.client.do(ctx, http.MethodPost, s.path("/search/bench"), nil, in, &got)
	})
}
