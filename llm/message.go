package llm

import (
	"bytes"
	"encoding/json"
	"strings"

	"callgate/tool"
)

// Role is who speaks.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool" // results of the calls in the assistant's message before it
)

// Message is one turn of a conversation.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is one piece of a message. Exactly one of its fields is set.
type Part struct {
	Text      string      `json:"text,omitempty"`
	Image     *Image      `json:"image,omitempty"`
	Call      *ToolCall   `json:"call,omitempty"`
	Result    *ToolResult `json:"result,omitempty"`
	Reasoning *Reasoning  `json:"reasoning,omitempty"`
}

// Image is a picture in a user's message.
type Image struct {
	MIME string `json:"mime"`
	Data []byte `json:"data"`
}

// ToolCall is a call that the model proposes.
//
// Args is always valid JSON. Arguments which the model left out are {}; ones
// that are no JSON at all (cut off, or badly quoted) are a JSON string that
// holds what came, so that whoever checks them against a schema can say so to
// the model, and nothing is lost.
type ToolCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"` // as it was offered: a wire name
	Args json.RawMessage `json:"args"`
}

// ArgsObject is the arguments as a JSON object, which is all that a provider takes
// back in a conversation. Arguments that are none are wrapped in one.
func (c ToolCall) ArgsObject() json.RawMessage {
	args := bytes.TrimSpace(c.Args)
	if len(args) > 0 && args[0] == '{' && json.Valid(args) {
		return args
	}
	if len(args) == 0 || string(args) == "null" {
		return json.RawMessage("{}")
	}
	var words string
	if json.Unmarshal(args, &words) != nil {
		words = string(args)
	}
	wrapped, _ := json.Marshal(map[string]string{"malformed_arguments": words}) // of plain strings
	return wrapped
}

// ToolResult answers one call. It stands in a message of role [Tool].
type ToolResult struct {
	ID      string         `json:"id"`   // of the call
	Name    string         `json:"name"` // of the tool, as it was offered
	Content []tool.Content `json:"content,omitempty"`
	IsError bool           `json:"is_error,omitempty"`
}

// Text is the words of the result, one content under the other.
func (r ToolResult) Text() string {
	var words []string
	for _, c := range r.Content {
		if c.Type == "text" && c.Text != "" {
			words = append(words, c.Text)
		}
	}
	return strings.Join(words, "\n")
}

// Reasoning is what a model thought. Its text is for people to watch; the rest
// is opaque, bound to the provider and the model that wrote it, and goes back to
// them as it came. Another provider is not shown it.
type Reasoning struct {
	Provider  string `json:"provider"`
	Model     string `json:"model,omitempty"`
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"` // the provider's seal on the text
	Data      string `json:"data,omitempty"`      // thoughts that the provider keeps sealed
	Call      string `json:"call,omitempty"`      // the call that Data belongs to, where it belongs to one
}

// TextMessage returns a message that holds only text.
func TextMessage(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Text: text}}}
}

// Text is the words of the message, without its reasoning.
func (m Message) Text() string {
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Calls are the calls of the message, in the model's order.
func (m Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}
