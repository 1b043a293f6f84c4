package client

import (
	"context"
	"net/http"

	"callgate/internal/protocol"
)

// SetAppMode has the conversation work in another mode of its app from the next turn on,
// and returns the conversation as it is then. No turn may run. The history keeps the mode.
func (c *Conversation) SetAppMode(ctx context.Context, set protocol.SetAppMode) (now protocol.Conversation, err error) {
	err = c.client.do(ctx, http.MethodPost, c.path("/app-mode"), nil, set, &now)
	return now, err
}
