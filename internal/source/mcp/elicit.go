package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// elicit passes a server's question on to a human, with a form and nothing
// else: a page of the server's choice is declined. While it is open, no call
// of the server runs out of time.
func (s *Server) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	decline := &sdk.ElicitResult{Action: "decline"}
	if s.hub.opt.Elicit == nil || r.Params.Mode != "" && r.Params.Mode != "form" {
		return decline, nil
	}
	calls, done := s.desk.ask()
	defer done()
	if f, ok := ctx.Value(flightKey{}).(*flight); ok && f.call != "" { // the protocol says which
		calls = []string{f.call}
	}
	q := Question{Message: r.Params.Message, Calls: calls}
	if r.Params.RequestedSchema != nil {
		schema, err := json.Marshal(r.Params.RequestedSchema)
		if err != nil {
			return decline, nil
		}
		q.Schema = schema
	}
	a, err := s.hub.opt.Elicit(ctx, s, q)
	switch {
	case err != nil:
		return nil, s.secrets.HideError(err)
	case a.Action == "accept":
		return &sdk.ElicitResult{Action: "accept", Content: a.Content}, nil
	case a.Action == "cancel":
		return &sdk.ElicitResult{Action: "cancel"}, nil
	default:
		return decline, nil
	}
}
