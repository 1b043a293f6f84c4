// Package frame reads and writes the messages of tools/call, without the SDK.
//
// # Law
//
// Only what is written plainly is read here: strict JSON in UTF-8, each field once, no field that is not known, names
// without escapes. Of everything else a function says that it is not ok, and the SDK decides what it is. What is read
// here means what the SDK reads: the tests hold the two against each other.
package frame

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// version is the version of JSON-RPC.
const version = "2.0"

// Method is the method whose messages are read here.
const Method = "tools/call"

// reserved begins the fields of a request's metadata that say which protocol it follows.
const reserved = "io.modelcontextprotocol/"

// Response reads an answer that is a result, to a request with a number. The result is a part of the line.
func Response(line []byte) (id int64, result []byte, ok bool) {
	if !isText(line) {
		return 0, nil, false
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
			id, ok = s.integer()
			return ok && seen.first(1)
		case "result":
			result, ok = s.value()
			return ok && seen.first(2)
		}
		return false
	})
	return id, result, ok && s.ended() && seen == 1<<3-1
}

// fields says which fields of an object were read.
type fields uint

// first notes a field, and reports whether it was not there before.
func (f *fields) first(n int) bool {
	had := *f&(1<<n) != 0
	*f |= 1 << n
	return !had
}

// Result reads the result of a tool that consists of texts, and of what they say in another form.
func Result(raw []byte) (*sdk.CallToolResult, bool) {
	if !isText(raw) {
		return nil, false
	}
	s := scanner{data: raw}
	res := &sdk.CallToolResult{}
	isComplete := false
	var seen fields
	ok := s.object(func(name []byte, plain bool) (ok bool) {
		if !plain {
			return false
		}
		switch string(name) {
		case "content":
			return seen.first(0) && s.array(func() bool {
				text, ok := s.textContent()
				res.Content = append(res.Content, text)
				return ok
			})
		case "isError":
			res.IsError = s.peek() == 't'
			return seen.first(1) && (s.word("true") || s.word("false"))
		case "structuredContent":
			return seen.first(2) && s.decode(&res.StructuredContent)
		case "_meta":
			return seen.first(3) && s.peek() == '{' && s.decode(&res.Meta)
		case "resultType":
			text, ok := s.plainText()
			isComplete = text == "complete"
			return seen.first(4) && ok && isComplete
		}
		return false
	})
	if isComplete {
		said := complete()
		said.Content, said.IsError, said.StructuredContent, said.Meta =
			res.Content, res.IsError, res.StructuredContent, res.Meta
		res = &said
	}
	return res, ok && s.ended() && len(res.Content) > 0
}

// complete is a result that says of itself that it is complete, as since 2026 all do. Only the SDK can say it so.
var complete = sync.OnceValue(func() sdk.CallToolResult {
	var res sdk.CallToolResult
	_ = res.UnmarshalJSON([]byte(`{"resultType":"complete"}`)) // it is written here
	return res
})

// decode reads a value of whatever form.
func (s *scanner) decode(into any) bool {
	raw, ok := s.value()
	return ok && json.Unmarshal(raw, into) == nil
}

// textContent reads a text of a result.
func (s *scanner) textContent() (*sdk.TextContent, bool) {
	text := &sdk.TextContent{}
	var seen fields
	ok := s.object(func(name []byte, plain bool) (ok bool) {
		switch {
		case plain && string(name) == "type":
			kind, ok := s.plainText()
			return ok && kind == "text" && seen.first(0)
		case plain && string(name) == "text":
			raw, plain, ok := s.text()
			if ok && plain {
				text.Text = string(raw)
			} else if ok {
				text.Text, ok = unescape(raw)
			}
			return ok && seen.first(1)
		}
		return false
	})
	return text, ok && seen == 1<<2-1
}

// unescape reads a string with the short escapes. The others are left to the SDK.
func unescape(raw []byte) (string, bool) {
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			b.WriteByte(raw[i])
			continue
		}
		i++
		switch raw[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case '"', '\\', '/':
			b.WriteByte(raw[i])
		default:
			return "", false
		}
	}
	return b.String(), true
}

// AppendRequest writes a request of tools/call with the params of Params, and ends its line.
func AppendRequest(b []byte, id int64, params []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `,"method":"`+Method+`","params":`...)
	b = append(b, params...)
	return append(b, '}', '\n')
}

// Params writes the params of a call, if they say nothing but the tool, its arguments and what is said of the request.
func Params(p *sdk.CallToolParams, args []byte) (params []byte, ok bool) {
	if len(p.InputResponses) > 0 || p.RequestState != "" {
		return nil, false
	}
	meta, ok := appendMeta(nil, p.Meta)
	if !ok {
		return nil, false
	}
	s := scanner{data: args}
	if _, ok := s.value(); !ok || !s.ended() || !isText(args) || containsNewline(args) {
		return nil, false
	}
	b := make([]byte, 0, len(args)+len(p.Name)+len(meta)+64)
	b = append(append(b, '{'), meta...)
	b = append(b, `"name":`...)
	b = appendString(b, p.Name)
	b = append(b, `,"arguments":`...)
	b = append(b, args...)
	return append(b, '}'), true
}

// appendMeta writes the field _meta, if there is one, and the comma after it.
func appendMeta(b []byte, meta sdk.Meta) (field []byte, ok bool) {
	if len(meta) == 0 {
		return b, true
	}
	b = append(b, `"_meta":`...)
	if token, is := meta["progressToken"].(string); is && len(meta) == 1 {
		b = append(b, `{"progressToken":`...)
		return append(appendString(b, token), "},"...), true
	}
	raw, err := json.Marshal(meta)
	return append(append(b, raw...), ','), err == nil
}

func containsNewline(data []byte) bool {
	for _, b := range data {
		if b == '\n' || b == '\r' {
			return true
		}
	}
	// Some readers end a line at these, too; the SDK escapes them.
	return bytes.Contains(data, []byte("\u2028")) || bytes.Contains(data, []byte("\u2029"))
}
