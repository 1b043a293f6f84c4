// Package openai speaks chat completions, the words that OpenAI's API and most
// others share.
//
// The official SDK carries the request and splits the stream into events. The
// bytes of the request are written here, since their order and sameness is what
// a provider's prompt cache lives on; and the events are read here, since
// sixteen providers write them and each has its own ways: ids or indexes left
// out, arguments in one piece, thoughts under three names, errors in the middle.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

// Config says whom to ask, and how.
type Config struct {
	Provider string // its name in errors and on its reasoning
	Model    string // for requests that name none
	BaseURL  string // up to and including /v1
	Key      string // "" sends none
	Headers  map[string]string
	HTTP     *http.Client // nil is http.DefaultClient
	Quirks   Quirks
}

// Quirks are the ways in which a provider differs from OpenAI's API. The zero
// value is the common ground.
type Quirks struct {
	CompletionTokens bool   // the limit is called max_completion_tokens, not max_tokens
	CacheKey         bool   // takes prompt_cache_key
	ToolNames        bool   // wants the tool's name on its result
	Thoughts         string // the field in which it wants its reasoning back; "" for not at all
	Extras           bool   // puts extra_content on calls and wants it back
	IDLength         int    // takes only ids of this many letters and digits; 0: of up to 40
}

// maxCalls bounds the calls of one answer.
const maxCalls = 4096

// Client is a model behind chat completions.
type Client struct {
	cfg       Config
	sdk       sdk.Client
	apiErrors apiclient.ErrorReader
	rejected  apiclient.RejectedParams
}

var _ llm.Model = (*Client)(nil)

// New makes a client. It opens no connection.
func New(cfg Config) *Client {
	c := &Client{cfg: cfg, apiErrors: apiclient.ErrorReader{Provider: cfg.Provider, Secrets: []string{cfg.Key}}}
	opts := []option.RequestOption{option.WithBaseURL(cfg.BaseURL), option.WithMaxRetries(0), option.WithMiddleware(c.statusError)}
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
	// Not sdk.NewClient: that one reads OPENAI_API_KEY and its kin out of the
	// environment, and would show OpenAI's key to every other provider.
	c.sdk = sdk.Client{Options: opts}
	return c
}

// statusError turns a response that is none into an error before the SDK sees it,
// which reads but one of the many shapes of errors.
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
		if err := c.sdk.Post(ctx, "chat/completions", b.raw, &res); err != nil {
			fault := c.apiErrors.Transport(ctx, err)
			if c.rejected.Learn(fault, b.sent) {
				continue
			}
			return nil, fault
		}
		builder := apiclient.NewResponseBuilder(watch)
		builder.Warnings = b.warnings
		return c.read(ctx, res, builder)
	}
}

// read grows the answer out of a response.
func (c *Client) read(ctx context.Context, res *http.Response, builder *apiclient.ResponseBuilder) (*llm.Response, error) {
	defer res.Body.Close()
	a := newAssembler(c.cfg.Provider, builder)
	var err error
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "application/json": // a server that does not stream
		err = c.readWhole(res.Body, a)
	case "text/html":
		return nil, c.apiErrors.Inline(http.StatusNotFound, []byte("<"))
	default:
		err = c.readEvents(ctx, res, a)
	}
	if err != nil || !a.isComplete() {
		return nil, c.apiErrors.Broken(ctx, err, builder)
	}
	return a.build(), nil
}

func (c *Client) readEvents(ctx context.Context, res *http.Response, a *assembler) error {
	events := ssestream.NewDecoder(res)
	for ctx.Err() == nil && events.Next() { // who has gone is told nothing more, though it has come
		data := bytes.TrimSpace(events.Event().Data)
		if string(data) == "[DONE]" {
			a.done = true
			return nil
		}
		if len(data) == 0 {
			continue
		}
		if err := c.readChunk(data, a); err != nil {
			return err
		}
	}
	return cmp.Or(ctx.Err(), events.Err())
}

func (c *Client) readWhole(body io.Reader, a *assembler) error {
	data, err := io.ReadAll(io.LimitReader(body, apiclient.MaxAnswer))
	if err != nil {
		return err
	}
	if err := c.readChunk(data, a); err != nil {
		return err
	}
	a.done = a.builder.Started()
	return nil
}

func (c *Client) readChunk(data []byte, a *assembler) error {
	var ch chunk
	if err := json.Unmarshal(data, &ch); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
		return errors.New("the stream holds a piece that is no JSON: " + strings.ToValidUTF8(string(data[:min(len(data), 80)]), ""))
	}
	if raw := ch.fault(); raw != nil {
		return c.apiErrors.Inline(0, raw)
	}
	a.feed(&ch)
	if a.builder.TooLong() || len(a.slots) > maxCalls {
		return errors.New("the answer is longer than any answer may be")
	}
	return nil
}
