package llm

import (
	"bytes"
	"encoding/json"
	"strings"

	"callgate/tool"
)

// Role says who wrote a message.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool" // has the results of the calls in the assistant's message before it
)

// Message is one message of a conversation.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is one part of a message. Exactly one of its fields is set.
type Part struct {
	Text      string      `json:"text,omitempty"`
	Image     *Image      `json:"image,omitempty"`
	Call      *ToolCall   `json:"call,omitempty"`
	Result    *ToolResult `json:"result,omitempty"`
	Reasoning *Reasoning  `json:"reasoning,omitempty"`
}

// Image is an image in a user's message.
type Image struct {
	MIME string `json:"mime"`
	Data []byte `json:"data"`
}

// ToolCall is a call that the model proposes.
//
// Args is always valid JSON. Arguments that the model left out are {}. Arguments that are not JSON (cut off, or
// badly quoted) are a JSON string with the model's text: nothing is lost, and a check against the schema can
// tell the model what is wrong.
type ToolCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"` // the wire name under which the tool was offered
	Args json.RawMessage `json:"args"`
}

// ArgsObject returns the arguments as a JSON object, the only form that providers accept in a conversation.
// Arguments of another form are wrapped in an object. Its bytes are the same however the arguments were kept
// meanwhile: without white space, and without the escapes that an encoder puts in for web pages. So a
// conversation that is read back begins with the bytes that were sent before.
func (c ToolCall) ArgsObject() json.RawMessage {
	args := bytes.TrimSpace(c.Args)
	if len(args) > 0 && args[0] == '{' {
		var plain bytes.Buffer
		if json.Compact(&plain, args) == nil {
			return unescape(plain.Bytes())
		}
	}
	if len(args) == 0 || string(args) == "null" {
		return json.RawMessage("{}")
	}
	var text string
	if json.Unmarshal(args, &text) != nil {
		text = string(args)
	}
	wrapped, _ := json.Marshal(map[string]string{"malformed_arguments": text}) // strings can always be encoded
	return wrapped
}

// webEscapes are the escapes of encoding/json that JSON does not ask for.
var webEscapes = map[string]string{
	`\u003c`: "<", `\u003e`: ">", `\u0026`: "&", `\u2028`: "\u2028", `\u2029`: "\u2029",
}

// unescape takes the escapes for web pages out of valid JSON.
func unescape(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\u`)) {
		return data
	}
	const length = len(`\u0000`)
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		if data[i] != '\\' {
			out = append(out, data[i])
			i++
			continue
		}
		if plain, ok := webEscapes[strings.ToLower(string(data[i:min(i+length, len(data))]))]; ok {
			out = append(out, plain...)
			i += length
			continue
		}
		out = append(out, data[i:i+2]...) // in valid JSON something follows a backslash
		i += 2
	}
	return out
}

// ToolResult is the result of one call, in a message of role [Tool].
type ToolResult struct {
	ID      string         `json:"id"`   // of the call
	Name    string         `json:"name"` // the wire name of the tool
	Content []tool.Content `json:"content,omitempty"`
	IsError bool           `json:"is_error,omitempty"`
}

// Text returns the text of the result, its contents separated by line feeds.
func (r ToolResult) Text() string {
	var texts []string
	for _, c := range r.Content {
		if c.Type == "text" && c.Text != "" {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Reasoning is a block of a model's reasoning. Its text is for people to read. The rest is opaque, bound to the
// provider and the model that wrote it, and goes back to them unchanged; it is never sent to another
// provider.
type Reasoning struct {
	Provider  string `json:"provider"`
	Model     string `json:"model,omitempty"`
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"` // the provider's signature of the text
	Data      string `json:"data,omitempty"`      // reasoning that the provider encrypts
	Call      string `json:"call,omitempty"`      // the call that Data belongs to, if any
}

// TextMessage returns a message that holds only text.
func TextMessage(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Text: text}}}
}

// Text returns the text of the message, without its reasoning.
func (m Message) Text() string {
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Calls returns the calls of the message, in the model's order.
func (m Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}
