package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is a block of a request's message; its type says which fields it has.
type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Source       *source         `json:"source,omitempty"`      // image
	ID           string          `json:"id,omitempty"`          // tool_use
	Name         string          `json:"name,omitempty"`        //
	Input        json.RawMessage `json:"input,omitempty"`       //
	ToolUseID    string          `json:"tool_use_id,omitempty"` // tool_result
	Content      []block         `json:"content,omitempty"`     //
	IsError      bool            `json:"is_error,omitempty"`    //
	Thinking     *string         `json:"thinking,omitempty"`    // thinking; may be empty
	Signature    string          `json:"signature,omitempty"`   //
	Data         string          `json:"data,omitempty"`        // redacted_thinking
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

// messages writes the conversation. The API has two roles: the text of the user and the results of tools are
// one message, with the results first and in the order of their calls.
func (c *Client) messages(in []llm.Message, model string) []message {
	out := make([]message, 0, len(in))
	var calls []string // ids in the model's last message
	for _, m := range in {
		role, blocks := "user", userMessage(m)
		if m.Role == llm.Assistant {
			role, blocks = "assistant", c.assistantMessage(m, model)
		}
		if len(blocks) == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
		} else {
			out = append(out, message{role, blocks})
		}
		last := &out[len(out)-1]
		if role == "assistant" {
			calls = callIDs(last.Content)
		} else if m.Role == llm.Tool {
			resultsFirst(last.Content, calls)
		}
	}
	return out
}

// callIDs returns the ids of the calls among blocks.
func callIDs(blocks []block) []string {
	var ids []string
	for _, b := range blocks {
		if b.Type == "tool_use" {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

// resultsFirst sorts results before everything else, in the order of their calls.
func resultsFirst(blocks []block, calls []string) {
	rank := func(b block) int {
		if b.Type != "tool_result" {
			return len(calls) + 1
		}
		if i := slices.Index(calls, b.ToolUseID); i >= 0 {
			return i
		}
		return len(calls)
	}
	slices.SortStableFunc(blocks, func(a, b block) int { return rank(a) - rank(b) })
}

// assistantMessage writes a message of the model. Reasoning goes back only to the model that signed it.
func (c *Client) assistantMessage(m llm.Message, model string) []block {
	var blocks []block
	for _, p := range m.Parts {
		switch {
		case p.Call != nil:
			blocks = append(blocks, block{
				Type: "tool_use", ID: wireID(p.Call.ID), Name: p.Call.Name, Input: p.Call.ArgsObject(),
			})
		case p.Reasoning != nil:
			if r := p.Reasoning; r.Provider == c.cfg.Provider && r.Model == model {
				blocks = append(blocks, reasoningBlock(r)...)
			}
		default:
			blocks = append(blocks, textBlock(p.Text)...)
		}
	}
	return blocks
}

func reasoningBlock(r *llm.Reasoning) []block {
	switch {
	case r.Data != "":
		return []block{{Type: "redacted_thinking", Data: r.Data}}
	case r.Signature != "":
		return []block{{Type: "thinking", Thinking: &r.Text, Signature: r.Signature}}
	default:
		return nil // the API rejects reasoning without its signature
	}
}

// userMessage writes a message of the user or of tools.
func userMessage(m llm.Message) []block {
	var blocks []block
	for _, p := range m.Parts {
		switch {
		case p.Result != nil:
			blocks = append(blocks, resultBlock(*p.Result))
		case p.Image != nil:
			blocks = append(blocks, imageBlock(p.Image.MIME, p.Image.Data))
		default:
			blocks = append(blocks, textBlock(p.Text)...)
		}
	}
	return blocks
}

func resultBlock(r llm.ToolResult) block {
	b := block{Type: "tool_result", ToolUseID: wireID(r.ID), IsError: r.IsError}
	for _, content := range r.Content {
		if content.Type == "image" {
			b.Content = append(b.Content, imageBlock(content.MIME, content.Data))
		} else {
			b.Content = append(b.Content, textBlock(content.Text)...)
		}
	}
	return b
}

// textBlock returns a block of text, or none: the API rejects empty ones.
func textBlock(s string) []block {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return []block{{Type: "text", Text: s}}
}

func imageBlock(mime string, data []byte) block {
	return block{Type: "image", Source: &source{"base64", mime, data}}
}

// wireID replaces an id of another provider that has letters or a length which this one rejects.
func wireID(id string) string {
	const maxLength = 64
	foreign := strings.IndexFunc(id, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) >= 0
	if foreign || id == "" || len(id) > maxLength {
		return "toolu_" + apiclient.ShortID(id, 24)
	}
	return id
}
