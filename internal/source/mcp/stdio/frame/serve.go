package frame

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Request is a request of tools/call.
type Request struct {
	ID     jsonrpc.ID
	Params *sdk.CallToolParamsRaw
}

// Call reads a request of tools/call whose metadata are texts and whole numbers, and that follows the protocol which
// its client began with. Nothing of it is a part of the line.
func Call(line []byte) (r Request, ok bool) {
	if !isText(line) {
		return Request{}, false
	}
	s := scanner{data: line}
	var seen fields
	ok = s.object(func(name []byte, plain bool) (ok bool) {
		if !plain {
			return false
		}
		switch string(name) {
		case "jsonrpc":
			text, ok := s.plainText()
			return ok && text == version && seen.first(0)
		case "id":
			r.ID, ok = s.id()
			return ok && seen.first(1)
		case "method":
			text, ok := s.plainText()
			return ok && text == Method && seen.first(2)
		case "params":
			r.Params, ok = s.params()
			return ok && seen.first(3)
		}
		return false
	})
	return r, ok && s.ended() && seen == 1<<4-1
}

// id reads the id of a request: a whole number, or a text.
func (s *scanner) id() (jsonrpc.ID, bool) {
	var value any
	if s.peek() == '"' {
		text, ok := s.plainText()
		if !ok {
			return jsonrpc.ID{}, false
		}
		value = text
	} else {
		n, ok := s.integer()
		if !ok {
			return jsonrpc.ID{}, false
		}
		value = float64(n)
	}
	id, err := jsonrpc.MakeID(value)
	return id, err == nil
}

func (s *scanner) params() (*sdk.CallToolParamsRaw, bool) {
	p := &sdk.CallToolParamsRaw{}
	var seen fields
	ok := s.object(func(name []byte, plain bool) (ok bool) {
		switch {
		case plain && string(name) == "name":
			p.Name, ok = s.plainText()
			return ok && seen.first(0)
		case plain && string(name) == "arguments":
			if s.peek() != '{' {
				return false
			}
			raw, ok := s.value()
			p.Arguments = bytes.Clone(raw)
			return ok && seen.first(1)
		case plain && string(name) == "_meta":
			p.Meta, ok = s.meta()
			return ok && seen.first(2)
		}
		return false
	})
	return p, ok && seen&1 != 0
}

// meta reads metadata.
func (s *scanner) meta() (sdk.Meta, bool) {
	meta := sdk.Meta{}
	ok := s.object(func(name []byte, plain bool) bool {
		key := string(name)
		if _, twice := meta[key]; !plain || twice || strings.HasPrefix(key, reserved) {
			return false
		}
		if s.peek() == '"' {
			text, ok := s.plainText()
			meta[key] = text
			return ok
		}
		n, ok := s.integer()
		meta[key] = float64(n)
		return ok
	})
	return meta, ok
}

// AppendAnswer writes the answer to a request, and ends its line.
func AppendAnswer(b []byte, id jsonrpc.ID, res sdk.Result) ([]byte, bool) {
	call, ok := res.(*sdk.CallToolResult)
	if !ok || !isTexts(call) {
		return b, false
	}
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	switch id := id.Raw().(type) {
	case int64:
		b = strconv.AppendInt(b, id, 10)
	case string:
		b = appendString(b, id)
	default:
		return nil, false
	}
	b = append(b, `,"result":{"content":[`...)
	for i, c := range call.Content {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"type":"text","text":`...)
		b = appendString(b, c.(*sdk.TextContent).Text)
		b = append(b, '}')
	}
	b = append(b, ']')
	if call.IsError {
		b = append(b, `,"isError":true`...)
	}
	return append(b, "}}\n"...), true
}

// isTexts reports whether a result says nothing but texts.
func isTexts(r *sdk.CallToolResult) bool {
	for _, c := range r.Content {
		text, ok := c.(*sdk.TextContent)
		if !ok || text.Meta != nil || text.Annotations != nil {
			return false
		}
	}
	return len(r.Content) > 0 && r.Meta == nil && r.StructuredContent == nil && r.InputRequests == nil &&
		r.RequestState == "" && !r.NeedsInput()
}

// appendString writes a string as encoding/json does.
func appendString(b []byte, text string) []byte {
	for i := range len(text) {
		switch c := text[i]; {
		case c < 0x20, c >= 0x7f, c == '"', c == '\\', c == '<', c == '>', c == '&':
			return appendEscaped(b, text)
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

func appendEscaped(b []byte, text string) []byte {
	data, err := json.Marshal(text)
	if err != nil {
		panic("frame: a text does not encode: " + err.Error()) // it always does
	}
	return append(b, data...)
}
