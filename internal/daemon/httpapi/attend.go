package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"callgate/internal/conversation/owed"
	"callgate/internal/protocol"
)

// attend tells a client when a conversation that it has open should go on by itself, one
// line each time. A client that has left attends no more.
func (a *conversationRoutes) attend(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(a.Context, cancel)()
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc, flush := json.NewEncoder(w), http.NewResponseController(w).Flush
	if err := flush(); err != nil {
		return nil
	}
	_ = c.Attend(ctx, func(n owed.News) bool { return enc.Encode(protocol.News(n)) == nil && flush() == nil })
	return nil
}

// wake has a conversation go on by itself, and streams the turn.
func (a *conversationRoutes) wake(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	return a.turn(w, r, c, c.Wake)
}
