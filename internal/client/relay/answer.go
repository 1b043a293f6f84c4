package relay

import (
	"encoding/json"
	"fmt"

	"callgate/tool"
)

// The codes of JSON-RPC.
const (
	codeParse    = -32700
	codeInvalid  = -32600
	codeInternal = -32603
)

// noID is the id of an answer to what has none, or none that can be told.
const noID = "null"

// errorAnswer is an answer with an error of the protocol.
func errorAnswer(id string, code int, message string, kind tool.Kind) []byte {
	if id == "" {
		id = noID
	}
	body := map[string]any{"code": code, "message": message}
	if kind != "" {
		body["data"] = map[string]any{"kind": kind}
	}
	return encode(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "error": body})
}

// resultAnswer is an answer with the result of a call that failed: clients show it to
// their model, and an error of the protocol often only to their user.
func resultAnswer(id, text string, kind tool.Kind) []byte {
	return encode(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "result": map[string]any{
		"isError": true,
		"content": []any{map[string]any{"type": "text", "text": text}},
		"_meta":   map[string]any{"callgate/kind": kind},
	}})
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil { // an id that is no JSON: it was checked
		data = []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the answer cannot be written"}}`)
	}
	return append(data, '\n')
}

// lostAnswer answers a request that no kernel will answer.
func lostAnswer(r *request, callID string, why error) []byte {
	if r.mayHaveBegun() {
		return resultAnswer(r.id, fmt.Sprintf("in_doubt: the kernel ended during this call (%s), which may or may not have "+
			"happened, and no other kernel answers: %v. Look at what it was to change before you repeat it; "+
			"callgate log doubts tells what is known.", callID, why), tool.InDoubt)
	}
	text := fmt.Sprintf("%s: not begun: %v", tool.Unavailable, why)
	if r.method == toolsCall {
		return resultAnswer(r.id, text, tool.Unavailable)
	}
	return errorAnswer(r.id, codeInternal, text, tool.Unavailable)
}
