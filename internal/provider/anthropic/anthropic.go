// Package anthropic is the adapter for Anthropic's Messages API.
//
// The adapter writes the bytes of the request itself, because the prompt cache depends on their order and on
// every turn repeating them.
package anthropic

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

// Config says which model to ask, and where.
type Config struct {
	apiclient.Endpoint // its base URL may end with /v1 or not

	Model     string // for requests that name none
	MaxTokens int    // for requests that set no limit, because the API wants one; 0: 8192
}

// DefaultMaxTokens is the limit of a request where nobody sets one.
const DefaultMaxTokens = 8192

// apiVersion is the version of the Messages API that this adapter speaks.
const apiVersion = "2023-06-01"

// Client is a model behind the Messages API.
type Client struct {
	cfg Config
	api *apiclient.Client
}

var _ llm.Model = (*Client)(nil)

// New returns a client. It opens no connection.
func New(cfg Config) *Client {
	if cfg.MaxTokens <= 0 {
		cfg.MaxTokens = DefaultMaxTokens
	}
	cfg.BaseURL = strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1")
	header := http.Header{"Anthropic-Version": {apiVersion}}
	if cfg.Key != "" {
		header.Set("X-Api-Key", cfg.Key)
	}
	return &Client{cfg: cfg, api: apiclient.New(cfg.Endpoint, "v1/messages", header)}
}

// Generate asks the model once.
func (c *Client) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	req.Model = cmp.Or(req.Model, c.cfg.Model)
	return c.api.Generate(ctx,
		func(p *apiclient.Params) any { return c.encode(req, p) },
		func(b *apiclient.ResponseBuilder) apiclient.Assembler {
			return newAssembler(c.cfg.Provider, req.Model, b)
		},
		watch)
}
