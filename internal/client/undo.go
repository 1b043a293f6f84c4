package client

import (
	"context"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
)

// Undo shows what can be undone, and undoes it. Make it with NewUndo.
type Undo struct{ client *Client }

// NewUndo makes the undo of a kernel.
func NewUndo(c *Client) Undo { return Undo{c} }

// List lists what changed files in a workspace, or in a conversation, the newest first.
func (u Undo) List(ctx context.Context, t protocol.UndoTarget) ([]protocol.UndoItem, error) {
	query := url.Values{}
	if t.Conversation != "" {
		query.Set("conversation", t.Conversation)
	} else {
		query.Set("workspace", t.Workspace)
	}
	var list []protocol.UndoItem
	err := u.client.get(ctx, "/v1/undo", query, &list)
	return list, err
}

// Preview returns what an undo would do.
func (u Undo) Preview(ctx context.Context, t protocol.UndoTarget) (protocol.UndoPreview, error) {
	var p protocol.UndoPreview
	err := u.client.do(ctx, http.MethodPost, "/v1/undo/preview", nil, t, &p)
	return p, err
}

// Do puts files back to what they were.
func (u Undo) Do(ctx context.Context, request protocol.Undo) (protocol.Undone, error) {
	var done protocol.Undone
	err := u.client.do(ctx, http.MethodPost, "/v1/undo", nil, request, &done)
	return done, err
}
