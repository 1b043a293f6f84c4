// Package anthropic speaks Anthropic's Messages.
//
// The official SDK carries the request and reads the stream. The bytes of the
// request are written here, since their order and sameness is what the prompt
// cache lives on.
package anthropic

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

// Config says whom to ask, and how.
type Config struct {
	Provider  string // its name in errors and on its reasoning
	Model     string // for requests that name none
	BaseURL   string // without /v1; with it will do
	Key       string // "" sends none
	Headers   map[string]string
	HTTP      *http.Client // nil is http.DefaultClient
	MaxTokens int          // for requests that set none, for the API wants one; 0: 8192
}

const defaultMaxTokens = 8192

// Client is a model behind Messages.
type Client struct {
	cfg       Config
	sdk       sdk.Client
	apiErrors apiclient.ErrorReader
	rejected  apiclient.RejectedParams
}

var _ llm.Model = (*Client)(nil)

// New makes a client. It opens no connection.
func New(cfg Config) *Client {
	if cfg.MaxTokens <= 0 {
		cfg.MaxTokens = defaultMaxTokens
	}
	c := &Client{cfg: cfg, apiErrors: apiclient.ErrorReader{Provider: cfg.Provider, Secrets: []string{cfg.Key}}}
	base := strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1")
	opts := []option.RequestOption{option.WithoutEnvironmentDefaults(), option.WithBaseURL(base + "/"), option.WithMaxRetries(0), option.WithMiddleware(c.statusError)}
	if cfg.HTTP != nil {
		opts = append(opts, option.WithHTTPClient(cfg.HTTP))
	}
	if cfg.Key != "" {
		opts = append(opts, option.WithAPIKey(cfg.Key))
	}
	for name, value := range cfg.Headers {
		opts = append(opts, option.WithHeader(name, value))
		c.apiErrors.Secrets = append(c.apiErrors.Secrets, value)
	}
	c.sdk = sdk.NewClient(opts...)
	return c
}

// statusError turns a response that is none into an error before the SDK sees it,
// whose own words would repeat the address.
func (c *Client) statusError(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err == nil && res.StatusCode >= 300 {
		return nil, c.apiErrors.Response(res)
	}
	return res, err
}

// Generate asks the model.
func (c *Client) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	for {
		b, err := c.write(req)
		if err != nil {
			return nil, err
		}
		var res *http.Response
		if err := c.sdk.Post(ctx, "v1/messages", b.raw, &res); err != nil {
			fault := c.apiErrors.Transport(ctx, err)
			if c.rejected.Learn(fault, b.sent) {
				continue
			}
			return nil, fault
		}
		builder := apiclient.NewResponseBuilder(watch)
		builder.Warnings = b.warnings
		return c.read(ctx, res, b.model, builder)
	}
}

// read grows the answer out of a response.
func (c *Client) read(ctx context.Context, res *http.Response, model string, builder *apiclient.ResponseBuilder) (*llm.Response, error) {
	defer res.Body.Close()
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "text/html" {
		return nil, c.apiErrors.Inline(http.StatusNotFound, []byte("<"))
	}
	a := newAssembler(c.cfg.Provider, model, builder)
	stream := ssestream.NewStream[sdk.MessageStreamEventUnion](ssestream.NewDecoder(res), nil)
	for ctx.Err() == nil && stream.Next() { // who has gone is told nothing more, though it has come
		event := stream.Current()
		a.feed(&event)
		if builder.TooLong() {
			return nil, c.apiErrors.Broken(ctx, errors.New("the answer is longer than any answer may be"), builder)
		}
		if a.done {
			break
		}
	}
	if a.done {
		return a.build(), nil
	}
	err := cmp.Or(ctx.Err(), stream.Err())
	var inline *sdk.Error
	if errors.As(err, &inline) {
		err = c.apiErrors.Inline(0, []byte(inline.RawJSON()))
	}
	if err != nil || !a.isComplete() {
		return nil, c.apiErrors.Broken(ctx, err, builder)
	}
	return a.build(), nil
}
