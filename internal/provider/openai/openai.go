// Package openai is the adapter for the chat completions API of OpenAI, which most other providers offer too.
//
// The adapter writes the bytes of the request itself, because a provider's prompt cache depends on their
// order and on every turn repeating them. It reads the events of the response leniently, because sixteen
// providers write them in sixteen ways: without ids or indexes, with arguments in one piece, with reasoning
// under three names, with errors in the middle.
package openai

import (
	"context"
	"net/http"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

// Config says which model to ask, and where.
type Config struct {
	apiclient.Endpoint // its base URL includes /v1

	Model  string // for requests that name none
	Quirks Quirks
}

// Quirks are the ways in which a provider differs from OpenAI's API. The zero value suits most of them.
type Quirks struct {
	CompletionTokens bool   // the limit is called max_completion_tokens, not max_tokens
	CacheKey         bool   // accepts prompt_cache_key
	JSONSchema       bool   // accepts response_format with a JSON Schema
	ToolNames        bool   // wants the tool's name on its result
	Reasoning        string // the field in which it wants its reasoning back; "" for not at all
	ExtraContent     bool   // puts extra_content on calls and wants it back
	IDLength         int    // accepts only ids of this many letters and digits; 0: any of up to 40
}

// Client is a model behind the chat completions API.
type Client struct {
	cfg Config
	api *apiclient.Client
}

var _ llm.Model = (*Client)(nil)

// New returns a client. It opens no connection.
func New(cfg Config) *Client {
	header := http.Header{}
	if cfg.Key != "" {
		header.Set("Authorization", "Bearer "+cfg.Key)
	}
	return &Client{cfg: cfg, api: apiclient.New(cfg.Endpoint, "chat/completions", header)}
}

// Generate asks the model once.
func (c *Client) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	return c.api.Generate(ctx,
		func(p *apiclient.Params) any { return c.encode(req, p) },
		func(b *apiclient.ResponseBuilder) apiclient.Assembler { return newAssembler(c.cfg.Provider, b) },
		watch)
}
