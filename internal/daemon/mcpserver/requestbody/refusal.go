package requestbody

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"callgate/internal/protocol/messagescan"
	"callgate/internal/source/mcp/stdio"
	"callgate/internal/visible"
)

// noID is the id of a refusal when the id of what is refused cannot be told.
const noID = "null"

// maxWhy bounds what a refusal says of the mistake.
const maxWhy = 200

// parseError is the answer to a text that is not a JSON-RPC message, for a request
// with an id.
func parseError(id json.RawMessage, text []byte) []byte {
	why := "it is JSON, but no request, notification or response"
	var whole json.RawMessage
	var syntax *json.SyntaxError
	if err := json.Unmarshal(text, &whole); errors.As(err, &syntax) {
		why = visible.Clip(syntax.Error(), maxWhy)
	}
	answer, _ := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id,
		"error": map[string]any{
			"code":    jsonrpc.CodeParseError,
			"message": "this is not a JSON-RPC message: " + why,
		},
	})
	return answer
}

// RefuseLine answers a line that is not a message. Each request in it whose id can be
// told is answered under that id, because its client waits for that. The connection
// goes on.
func RefuseLine(to *stdio.Conn, line []byte) {
	ids := messagescan.RequestIDs(line)
	if len(ids) == 0 {
		ids = []json.RawMessage{json.RawMessage(noID)}
	}
	for _, id := range ids {
		_ = to.Send(context.Background(), append(parseError(id, line), '\n')) // the client may have left
	}
}

// RefuseText answers a request whose body is not JSON.
func RefuseText(w http.ResponseWriter, body []byte) {
	id := json.RawMessage(noID)
	if ids := messagescan.RequestIDs(body); len(ids) == 1 {
		id = ids[0]
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(parseError(id, body))
}
