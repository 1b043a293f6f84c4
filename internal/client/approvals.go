package client

import (
	"context"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
	"callgate/tool"
)

// Approvals lists the approvals in a state, or all.
func (c *Client) Approvals(ctx context.Context, state protocol.ApprovalState) ([]protocol.Approval, error) {
	var list []protocol.Approval
	err := c.get(ctx, "/v1/approvals", url.Values{"state": {string(state)}}, &list)
	return list, err
}

// Approval returns one approval.
func (c *Client) Approval(ctx context.Context, id string) (protocol.Approval, error) {
	var r protocol.Approval
	err := c.get(ctx, "/v1/approvals/"+url.PathEscape(id), nil, &r)
	return r, err
}

// Answer answers an approval.
func (c *Client) Answer(ctx context.Context, id string, a protocol.Answer) (protocol.Approval, error) {
	var r protocol.Approval
	err := c.do(ctx, http.MethodPost, "/v1/approvals/"+url.PathEscape(id)+"/answer", nil, a, &r)
	return r, err
}

// Collect waits for the end of a call that waits for an approval.
func (c *Client) Collect(ctx context.Context, call string) (*tool.Result, error) {
	var r tool.Result
	return &r, c.get(ctx, "/v1/calls/"+url.PathEscape(call)+"/result", nil, &r)
}
