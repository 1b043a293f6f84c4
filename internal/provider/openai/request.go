package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

// request is the body of a request. What stays the same from turn to turn comes
// first and the messages last, so that the body of the next turn begins with the
// bytes of this one.
type request struct {
	Model               string         `json:"model"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	TopP                *float64       `json:"top_p,omitempty"`
	Stop                []string       `json:"stop,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	PromptCacheKey      string         `json:"prompt_cache_key,omitempty"`
	ToolChoice          any            `json:"tool_choice,omitempty"`
	Tools               []function     `json:"tools,omitempty"`
	Messages            []message      `json:"messages"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type function struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	} `json:"function"`
}

type message struct {
	Role             string `json:"role"`
	Content          any    `json:"content"` // words, parts, or null
	Name             string `json:"name,omitempty"`
	ToolCallID       string `json:"tool_call_id,omitempty"`
	ReasoningContent string `json:"reasoning_content,omitempty"`
	Reasoning        string `json:"reasoning,omitempty"`
	ToolCalls        []call `json:"tool_calls,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content,omitempty"`
}

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

// encodedRequest is a request as bytes, with the parameters in it that a model may
// refuse, and what was left out because it does.
type encodedRequest struct {
	raw      []byte
	sent     []string
	warnings []string
}

// write puts a request into the words of the API.
func (c *Client) write(req llm.Request) (*encodedRequest, error) {
	w := &encodedRequest{}
	out := request{Model: req.Model, Stream: true, Stop: req.Stop}
	if out.Model == "" {
		out.Model = c.cfg.Model
	}
	if c.accepts(w, "stream_options", true, "") {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if c.accepts(w, "temperature", req.Temperature != nil, "the model takes no temperature; it was left out") {
		out.Temperature = req.Temperature
	}
	if c.accepts(w, "top_p", req.TopP != nil, "the model takes no top_p; it was left out") {
		out.TopP = req.TopP
	}
	if c.accepts(w, "reasoning_effort", req.Effort != "", "the model takes no effort; it was left out") {
		out.ReasoningEffort = req.Effort
	}
	if c.accepts(w, "prompt_cache_key", c.cfg.Quirks.CacheKey && req.CacheKey != "" && !req.NoCache, "") {
		out.PromptCacheKey = req.CacheKey
	}
	c.limit(&out, w, req.MaxTokens)
	for _, def := range req.Tools {
		out.Tools = append(out.Tools, offer(def))
	}
	if len(out.Tools) > 0 {
		out.ToolChoice = choice(req.ToolChoice)
	}
	out.Messages = c.messages(req)
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return nil, &llm.Error{Kind: llm.BadRequest, Provider: c.cfg.Provider, Message: "the request cannot be written as JSON; a tool's schema may be no JSON", Err: err}
	}
	w.raw = bytes.TrimSpace(buf.Bytes())
	return w, nil
}

// accepts reports whether a wanted parameter may be sent. One that the model
// refuses is left out, with a warning where that matters to the asker.
func (c *Client) accepts(w *encodedRequest, name string, wanted bool, warning string) bool {
	switch {
	case !wanted:
		return false
	case !c.rejected.Has(name):
		w.sent = append(w.sent, name)
		return true
	case warning != "":
		w.warnings = append(w.warnings, warning)
	}
	return false
}

// limit sets the limit of tokens under the name that the provider takes: the one
// it is known for, or else the other.
func (c *Client) limit(out *request, w *encodedRequest, most int) {
	if most <= 0 {
		return
	}
	short, long := "max_tokens", "max_completion_tokens"
	useLong := c.cfg.Quirks.CompletionTokens && !c.rejected.Has(long) || c.rejected.Has(short)
	if useLong {
		out.MaxCompletionTokens, w.sent = most, append(w.sent, long)
	} else {
		out.MaxTokens, w.sent = most, append(w.sent, short)
	}
}

func offer(def llm.ToolDef) function {
	f := function{Type: "function"}
	f.Function.Name, f.Function.Description, f.Function.Parameters = def.Name, def.Description, def.Schema
	if len(def.Schema) == 0 {
		f.Function.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return f
}

func choice(name string) any {
	switch name {
	case "":
		return nil
	case "none", "required":
		return name
	default:
		return map[string]any{"type": "function", "function": map[string]string{"name": name}}
	}
}

// messages writes the conversation. Pictures in the results of tools, which
// have no place there, follow the results as a message of the user.
func (c *Client) messages(req llm.Request) []message {
	out := make([]message, 0, len(req.Messages)+1)
	if req.System != "" {
		out = append(out, message{Role: "system", Content: req.System})
	}
	var pictures []part
	for _, m := range req.Messages {
		if m.Role != llm.Tool && len(pictures) > 0 {
			out, pictures = append(out, message{Role: "user", Content: pictures}), nil
		}
		switch m.Role {
		case llm.Assistant:
			out = append(out, c.assistantMessage(m))
		case llm.Tool:
			for _, p := range m.Parts {
				if p.Result != nil {
					out = append(out, c.result(*p.Result))
					pictures = append(pictures, shown(*p.Result)...)
				}
			}
		default:
			out = append(out, message{Role: string(m.Role), Content: content(m)})
		}
	}
	if len(pictures) > 0 {
		out = append(out, message{Role: "user", Content: pictures})
	}
	return out
}

// assistantMessage writes a message of the model's own.
func (c *Client) assistantMessage(m llm.Message) message {
	out := message{Role: "assistant"}
	if text := m.Text(); text != "" || len(m.Calls()) == 0 {
		out.Content = text
	}
	extras := map[string]string{}
	for _, p := range m.Parts {
		r := p.Reasoning
		switch {
		case r == nil || r.Provider != c.cfg.Provider:
		case r.Call != "":
			extras[r.Call] = r.Data
		case c.cfg.Quirks.Thoughts == "reasoning_content":
			out.ReasoningContent += r.Text
		case c.cfg.Quirks.Thoughts == "reasoning":
			out.Reasoning += r.Text
		}
	}
	for _, p := range m.Parts {
		if p.Call == nil {
			continue
		}
		made := call{ID: c.id(p.Call.ID), Type: "function"}
		made.Function.Name, made.Function.Arguments = p.Call.Name, string(p.Call.ArgsObject())
		if extra := extras[p.Call.ID]; c.cfg.Quirks.Extras && json.Valid([]byte(extra)) {
			made.ExtraContent = json.RawMessage(extra)
		}
		out.ToolCalls = append(out.ToolCalls, made)
	}
	return out
}

func (c *Client) result(r llm.ToolResult) message {
	out := message{Role: "tool", ToolCallID: c.id(r.ID), Content: r.Text()}
	if c.cfg.Quirks.ToolNames {
		out.Name = r.Name
	}
	return out
}

// shown is the pictures of a result.
func shown(r llm.ToolResult) []part {
	var parts []part
	for _, content := range r.Content {
		if content.Type == "image" {
			parts = append(parts, part{Type: "text", Text: "A picture from the result of " + r.Name + ":"}, picture(content.MIME, content.Data))
		}
	}
	return parts
}

func picture(mime string, data []byte) part {
	return part{Type: "image_url", ImageURL: &imageURL{"data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)}}
}

// content is words where there are only words, and parts otherwise.
func content(m llm.Message) any {
	var parts []part
	words := true
	for _, p := range m.Parts {
		switch {
		case p.Image != nil:
			parts, words = append(parts, picture(p.Image.MIME, p.Image.Data)), false
		case p.Text != "":
			parts = append(parts, part{Type: "text", Text: p.Text})
		}
	}
	if words {
		return m.Text()
	}
	return parts
}

// id writes the id of a call in the alphabet and length that the provider takes.
func (c *Client) id(id string) string {
	const most = 40
	n := c.cfg.Quirks.IDLength
	plain := strings.IndexFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
	switch {
	case n > 0 && (len(id) != n || !plain):
		return apiclient.ShortID(id, n)
	case len(id) > most:
		return apiclient.ShortID(id, most)
	}
	return id
}
