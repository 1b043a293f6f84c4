package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

// request is the body of a request. What stays the same from turn to turn comes first and the messages last,
// so that the body of the next turn begins with the bytes of this one.
type request struct {
	Model               string          `json:"model"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options,omitempty"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	Temperature         *float64        `json:"temperature,omitempty"`
	TopP                *float64        `json:"top_p,omitempty"`
	Stop                []string        `json:"stop,omitempty"`
	ReasoningEffort     string          `json:"reasoning_effort,omitempty"`
	PromptCacheKey      string          `json:"prompt_cache_key,omitempty"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
	ToolChoice          any             `json:"tool_choice,omitempty"`
	Tools               []function      `json:"tools,omitempty"`
	Messages            []message       `json:"messages"`
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
	Content          any    `json:"content"` // string, []part or nil
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
	URL    string `json:"url"`
	Detail string `json:"detail,omitempty"`
}

// encode writes a request as the API's JSON.
func (c *Client) encode(req llm.Request, p *apiclient.Params) request {
	out := request{Model: cmp.Or(req.Model, c.cfg.Model), Stream: true, Stop: req.Stop, Messages: c.messages(req)}
	if p.Accepts("stream_options", "") {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if req.Temperature != nil && p.Accepts("temperature", "temperature") {
		out.Temperature = req.Temperature
	}
	if req.TopP != nil && p.Accepts("top_p", "top_p") {
		out.TopP = req.TopP
	}
	if req.Effort != "" && p.Accepts("reasoning_effort", "effort") {
		out.ReasoningEffort = req.Effort
	}
	if c.cfg.Quirks.CacheKey && req.CacheKey != "" && !req.NoCache && p.Accepts("prompt_cache_key", "") {
		out.PromptCacheKey = req.CacheKey
	}
	if format := formatOf(req.Output); format != nil && c.cfg.Quirks.JSONSchema && p.Accepts("response_format", "") {
		out.ResponseFormat = format
	}
	if req.MaxTokens > 0 {
		c.setLimit(&out, p, req.MaxTokens)
	}
	for _, def := range req.Tools {
		out.Tools = append(out.Tools, toolParam(def))
	}
	if len(out.Tools) > 0 {
		out.ToolChoice = toolChoice(req.ToolChoice)
	}
	return out
}

// setLimit sets the limit of tokens under the name that the provider is known to accept, or under the other
// name once the model rejected that one.
func (c *Client) setLimit(out *request, p *apiclient.Params, tokens int) {
	const short, long = "max_tokens", "max_completion_tokens"
	if c.cfg.Quirks.CompletionTokens && !p.Rejected(long) || p.Rejected(short) {
		out.MaxCompletionTokens = tokens
		p.Send(long)
	} else {
		out.MaxTokens = tokens
		p.Send(short)
	}
}

func toolParam(def llm.ToolDef) function {
	f := function{Type: "function"}
	f.Function.Name, f.Function.Description, f.Function.Parameters = def.Name, def.Description, apiclient.Schema(def)
	return f
}

func toolChoice(name string) any {
	switch name {
	case "":
		return nil
	case "none", "required":
		return name
	default:
		return map[string]any{"type": "function", "function": map[string]string{"name": name}}
	}
}

// messages writes the conversation. The API has no images in the results of tools; they follow the results as
// a message of the user.
func (c *Client) messages(req llm.Request) []message {
	out := make([]message, 0, len(req.Messages)+1)
	if req.System != "" {
		out = append(out, message{Role: "system", Content: req.System})
	}
	var images []part
	for _, m := range req.Messages {
		if m.Role != llm.Tool && len(images) > 0 {
			out, images = append(out, message{Role: "user", Content: images}), nil
		}
		switch m.Role {
		case llm.Assistant:
			out = append(out, c.assistantMessage(m))
		case llm.Tool:
			for _, p := range m.Parts {
				if p.Result != nil {
					out = append(out, c.result(*p.Result))
					images = append(images, resultImages(*p.Result, req.ImageDetail)...)
				}
			}
		default:
			out = append(out, message{Role: string(m.Role), Content: content(m, req.ImageDetail)})
		}
	}
	if len(images) > 0 {
		out = append(out, message{Role: "user", Content: images})
	}
	return out
}

// assistantMessage writes a message of the model.
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
		case c.cfg.Quirks.Reasoning == "reasoning_content":
			out.ReasoningContent += r.Text
		case c.cfg.Quirks.Reasoning == "reasoning":
			out.Reasoning += r.Text
		}
	}
	for _, p := range m.Parts {
		if p.Call == nil {
			continue
		}
		wire := call{ID: c.id(p.Call.ID), Type: "function"}
		wire.Function.Name, wire.Function.Arguments = p.Call.Name, string(p.Call.ArgsObject())
		if extra := extras[p.Call.ID]; c.cfg.Quirks.ExtraContent && json.Valid([]byte(extra)) {
			wire.ExtraContent = json.RawMessage(extra)
		}
		out.ToolCalls = append(out.ToolCalls, wire)
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

// resultImages returns the images of a result, each with a line that says where it is from.
func resultImages(r llm.ToolResult, detail string) []part {
	var parts []part
	for _, content := range r.Content {
		if content.Type == "image" {
			parts = append(parts, part{Type: "text", Text: "A picture from the result of " + r.Name + ":"},
				imagePart(content.MIME, content.Data, detail))
		}
	}
	return parts
}

func imagePart(mime string, data []byte, detail string) part {
	url := "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)
	return part{Type: "image_url", ImageURL: &imageURL{url, detail}}
}

// content writes a message as a string if it holds only text, else as parts.
func content(m llm.Message, detail string) any {
	var parts []part
	onlyText := true
	for _, p := range m.Parts {
		switch {
		case p.Image != nil:
			parts, onlyText = append(parts, imagePart(p.Image.MIME, p.Image.Data, detail)), false
		case p.Text != "":
			parts = append(parts, part{Type: "text", Text: p.Text})
		}
	}
	if onlyText {
		return m.Text()
	}
	return parts
}

// id writes the id of a call with the letters and the length that the provider accepts.
func (c *Client) id(id string) string {
	const maxLength = 40
	n := c.cfg.Quirks.IDLength
	plain := strings.IndexFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
	switch {
	case n > 0 && (len(id) != n || !plain):
		return apiclient.ShortID(id, n)
	case len(id) > maxLength:
		return apiclient.ShortID(id, maxLength)
	}
	return id
}
