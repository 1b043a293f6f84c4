package client

import (
	"context"
	"net/http"

	"callgate/internal/protocol"
)

// SetMode changes the permission mode of the conversation. It counts for the next call,
// and answers the approvals that wait and that it decides.
func (c *Conversation) SetMode(ctx context.Context, mode protocol.PermissionMode) (protocol.Permissions, error) {
	return c.SetPermissions(ctx, protocol.SetPermissions{Mode: mode})
}

// SetPermissions changes what the conversation may do without asking.
func (c *Conversation) SetPermissions(ctx context.Context, set protocol.SetPermissions) (protocol.Permissions, error) {
	now, err := c.setPermissions(ctx, set)
	if err == nil {
		c.keepPermissions(set)
	}
	return now, err
}

func (c *Conversation) setPermissions(
	ctx context.Context, set protocol.SetPermissions,
) (now protocol.Permissions, err error) {
	err = c.client.do(ctx, http.MethodPost, c.path("/permissions"), nil, set, &now)
	return now, err
}

// CurrentPermissions returns what the conversation may do without asking now.
func (c *Conversation) CurrentPermissions(ctx context.Context) (protocol.Permissions, error) {
	var now protocol.Permissions
	err := c.client.get(ctx, c.path("/permissions"), nil, &now)
	return now, err
}

// AnswerForm answers an approval of the conversation with what a human said in a form that
// this client showed.
func (c *Conversation) AnswerForm(ctx context.Context, a protocol.FormAnswer) error {
	return c.client.do(ctx, http.MethodPost, c.path("/form"), nil, a, nil)
}
