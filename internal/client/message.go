package client

import (
	"context"
	"iter"
	"net/http"

	"callgate/internal/protocol"
)

// SendMessage is Send of a message that may have pictures.
func (c *Conversation) SendMessage(
	ctx context.Context, m protocol.SendMessage,
) iter.Seq2[protocol.TurnEvent, error] {
	return c.turnEvents(ctx, "/messages", m)
}

// QueueMessage is Queue of a message that may have pictures.
func (c *Conversation) QueueMessage(
	ctx context.Context, m protocol.SendMessage,
) (queued *protocol.QueuedMessage, err error) {
	err = c.client.do(ctx, http.MethodPost, c.path("/queue"), nil, m, &queued)
	return queued, err
}
