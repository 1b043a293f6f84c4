package client

import (
	"context"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
)

// Fork begins a conversation with the first turns of another; with 0, with all that have ended.
func Fork(ctx context.Context, c *Client, conversation string, turns int) (made protocol.ConversationInfo, err error) {
	path := "/v1/conversations/" + url.PathEscape(conversation) + "/fork"
	return made, c.do(ctx, http.MethodPost, path, nil, protocol.Fork{Turns: turns}, &made)
}
