// Package scripted plays language models of several kinds for the suite of
// internal/agent/bench: each has a plan, as a capable model would make one of the
// request, and the habits of its kind.
//
// # Law
//
// What a model does follows from its plan, its habits and what is on the wire:
// the system prompt, the tools with their schemas, the messages and the results. It
// knows nothing else of the program that asks it. So a text that tells less, or
// something wrong, shows as a task that fails or as calls that are wasted.
package scripted

import (
	"encoding/json"
	"strings"
)

// Request is what a model is given.
type Request struct {
	System   string
	Tools    []Tool
	Messages []Message
	AsText   bool // there is no room for tools on the wire: they stand in the prompt, calls in the answer
	Bytes    int  // of the whole body
}

// Tool is a tool as a model is shown it.
type Tool struct {
	Name        string
	Description string
	Schema      Schema
}

// Schema is what a model understands of a tool's parameters. Without properties
// they are not known.
type Schema struct {
	Properties map[string]struct {
		Type any `json:"type"`
	} `json:"properties"`
	Required []string `json:"required"`
}

func (s Schema) has(name string) bool {
	_, known := s.Properties[name]
	return known
}

// Message is what was said.
type Message struct {
	Role    string // user or assistant
	Text    string
	Results []Result
}

// Result is what came back from a call.
type Result struct {
	Call   string // the model's own ID for it; empty where the wire has none
	Text   string
	Failed bool
}

// Call is a call that a model makes. Args is what it writes, which need not be the
// JSON that it should be.
type Call struct {
	ID, Name, Args string
}

// Answer is what a model says.
type Answer struct {
	Text  string
	Calls []Call
}

// text returns all that the model sees: what it is told, and what it said itself.
func (r *Request) text() string {
	var b strings.Builder
	b.WriteString(r.System + "\n")
	for _, m := range r.Messages {
		b.WriteString(m.Text + "\n")
		for _, res := range m.Results {
			b.WriteString(res.Text + "\n")
		}
	}
	return b.String()
}

// shown returns what results showed, those that failed left out.
func (r *Request) shown() string {
	var b strings.Builder
	for _, m := range r.Messages {
		for _, res := range m.Results {
			if !failed(res) {
				b.WriteString(res.Text + "\n")
			}
		}
	}
	return b.String()
}

// results returns the results since the model last spoke.
func (r *Request) results() []Result {
	var found []Result
	for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != "assistant"; i-- {
		found = append(append([]Result(nil), r.Messages[i].Results...), found...)
	}
	return found
}

// lastWords returns what the user side said last.
func (r *Request) lastWords() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Text
}

// words reads content that is a text or a list of parts.
func words(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
		imageOnWire
	}
	_ = json.Unmarshal(raw, &parts)
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		texts = append(texts, p.Text+p.seen())
	}
	return strings.Join(texts, "\n")
}
