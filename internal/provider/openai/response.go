package openai

import (
	"encoding/json"
	"math"

	"callgate/llm"
)

// chunk is the data of one event of a stream, or the whole response of a server that does not stream.
type chunk struct {
	Model   string                  `json:"model"`
	Choices []chunkChoice           `json:"choices"`
	Usage   *usage                  `json:"usage"`
	XGroq   *struct{ Usage *usage } `json:"x_groq"`
	Error   json.RawMessage         `json:"error"`
}

type chunkChoice struct {
	Index        int             `json:"index"`
	Delta        *delta          `json:"delta"`
	Message      *delta          `json:"message"` // of a whole response
	FinishReason string          `json:"finish_reason"`
	Usage        *usage          `json:"usage"`
	Error        json.RawMessage `json:"error"`
}

type delta struct {
	Content          contentText `json:"content"`
	Refusal          string      `json:"refusal"`
	ReasoningContent string      `json:"reasoning_content"` // DeepSeek, xAI, vLLM, llama.cpp
	Reasoning        string      `json:"reasoning"`         // OpenRouter, Groq, Cerebras, Ollama
	ReasoningText    string      `json:"reasoning_text"`    // Copilot
	ToolCalls        []callDelta `json:"tool_calls"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"`
}

// contentText is the content of a message: a string, or a list of parts, some of which may be reasoning.
type contentText struct{ text, reasoning string }

// UnmarshalJSON reads either form; anything else is no content.
func (c *contentText) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &c.text)
	}
	var parts []struct {
		Text     string `json:"text"`
		Thinking []struct {
			Text string `json:"text"`
		} `json:"thinking"`
	}
	_ = json.Unmarshal(raw, &parts) // null, or a form that is not known
	for _, p := range parts {
		c.text += p.Text
		for _, t := range p.Thinking {
			c.reasoning += t.Text
		}
	}
	return nil
}

// arguments is a piece of a call's arguments as text; some servers send a whole object instead.
type arguments string

// UnmarshalJSON reads either form.
func (a *arguments) UnmarshalJSON(raw []byte) error {
	switch {
	case string(raw) == "null":
		return nil
	case raw[0] == '"':
		return json.Unmarshal(raw, (*string)(a))
	default:
		*a = arguments(raw)
		return nil
	}
}

// usage has the counts of tokens under all their names.
type usage struct {
	PromptTokens         int `json:"prompt_tokens"`
	CompletionTokens     int `json:"completion_tokens"`
	TotalTokens          int `json:"total_tokens"`
	PromptCacheHitTokens int `json:"prompt_cache_hit_tokens"` // DeepSeek
	PromptTokensDetails  struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Cost *float64 `json:"cost"` // OpenRouter, in dollars
}

func (u *usage) tokens() llm.Usage {
	out := llm.Usage{
		Input:       u.PromptTokens,
		CachedInput: max(u.PromptCacheHitTokens, u.PromptTokensDetails.CachedTokens),
		CacheWrite:  u.PromptTokensDetails.CacheWriteTokens,
		Output:      u.CompletionTokens,
		Reasoning:   u.CompletionTokensDetails.ReasoningTokens,
	}
	if out.Reasoning > 0 && u.TotalTokens == out.Input+out.Output+out.Reasoning {
		out.Output += out.Reasoning // xAI does not count reasoning as output
	}
	if u.Cost != nil && *u.Cost >= 0 && *u.Cost < 1e6 {
		out.Cost, out.Priced = int64(math.Round(*u.Cost*1e6)), true
	}
	return out
}

// errorBody returns the JSON of the error inside a chunk, or nil.
func (c *chunk) errorBody() []byte {
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return c.Error
	}
	for _, choice := range c.Choices {
		if len(choice.Error) > 0 && string(choice.Error) != "null" {
			return choice.Error
		}
	}
	return nil
}
