package apiclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"

	"callgate/internal/observe"
	"callgate/llm"
)

// Endpoint says where a provider's API is and what authorizes a request there.
type Endpoint struct {
	Provider string // its name in errors and on its reasoning
	BaseURL  string // with or without a slash at its end
	Key      string // "" sends none
	Headers  map[string]string
	HTTP     *http.Client // nil: a plain one; its redirect policy is replaced
}

// Client sends requests to one address of a provider's API. It is safe for concurrent use.
type Client struct {
	url      string
	header   http.Header
	http     http.Client
	errors   ErrorReader
	rejected RejectedParams
}

// Assembler reads the JSON of one provider's response into a [ResponseBuilder].
type Assembler interface {
	// Add reads the data of one event, and reports whether it was the last one.
	Add(data []byte) (done bool, err error)
	// AddWhole reads the response of a server that does not stream.
	AddWhole(data []byte) error
	// Finish returns the response, or nil if its end did not arrive.
	Finish() *llm.Response
}

// InlineError is the error of an [Assembler] that found the provider's error inside a response.
type InlineError struct {
	Body []byte // its JSON
}

// Error says no more than what happened: the body is for [ErrorReader].
func (e *InlineError) Error() string { return "the response holds an error" }

// New returns a client that posts to a path below the endpoint's base URL. The adapter's own headers are
// sent with every request, unless the endpoint has others of the same name. It opens no connection.
func New(e Endpoint, path string, header http.Header) *Client {
	c := &Client{
		url: strings.TrimRight(e.BaseURL, "/") + "/" + path,
		header: http.Header{
			// The body asks for a stream. The official clients send this one, so every server accepts it.
			"Accept":       {"application/json"},
			"Content-Type": {"application/json"},
			"User-Agent":   {"callgate"},
		},
		errors: ErrorReader{Provider: e.Provider, Secrets: []string{e.Key}},
	}
	maps.Copy(c.header, header)
	for name, value := range e.Headers {
		c.header.Set(name, value)
		c.errors.Secrets = append(c.errors.Secrets, value)
	}
	if e.HTTP != nil {
		c.http = *e.HTTP
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// Generate sends a request and returns the response that an assembler makes of it. It encodes and sends
// the request again when the model rejected one of its optional parameters. Its errors are [*llm.Error].
func (c *Client) Generate(ctx context.Context, encode func(*Params) any,
	assemble func(*ResponseBuilder) Assembler, watch func(llm.Delta)) (*llm.Response, error) {
	for {
		params := &Params{rejected: &c.rejected}
		body, err := encodeJSON(encode(params))
		if err != nil {
			return nil, &llm.Error{Kind: llm.BadRequest, Provider: c.errors.Provider, Err: err,
				Message: "the request cannot be encoded as JSON: " + err.Error() + "; check the schemas of the tools"}
		}
		res, failure := c.post(ctx, body)
		if failure != nil {
			if c.rejected.Learn(failure, params.sent) {
				continue
			}
			return nil, failure
		}
		builder := NewResponseBuilder(watch)
		builder.Warnings = params.warnings
		return c.read(ctx, res, builder, assemble(builder))
	}
}

// post sends a body. A response with an error status is an error.
func (c *Client) post(ctx context.Context, body []byte) (*http.Response, *llm.Error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, &llm.Error{Kind: llm.BadRequest, Provider: c.errors.Provider,
			Message: "the base URL is not a URL"} // the cause would repeat it
	}
	req.Header = c.header.Clone()
	if place := observe.Traceparent(ctx); place != "" {
		req.Header.Set("Traceparent", place)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.errors.Transport(ctx, err)
	}
	if res.StatusCode >= 300 {
		return nil, c.errors.Response(res)
	}
	return res, nil
}

// read makes a response out of what the server sends, and closes it.
func (c *Client) read(ctx context.Context, res *http.Response, b *ResponseBuilder, a Assembler) (*llm.Response, error) {
	defer res.Body.Close()
	var err error
	switch mediaType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); mediaType {
	case "text/html":
		return nil, c.errors.Body(http.StatusNotFound, []byte("<"))
	case "application/json":
		err = readWhole(res.Body, a)
	default:
		err = readEvents(ctx, res.Body, b, a)
	}
	var inline *InlineError
	if errors.As(err, &inline) {
		err = c.errors.Body(0, inline.Body)
	}
	if err == nil {
		if response := a.Finish(); response != nil {
			return response, nil
		}
	}
	e := c.errors.Stream(ctx, err, b)
	e.RequestID = c.errors.requestID(res.Header, e.RequestID)
	return nil, e
}

// readEvents feeds the events of a stream to the assembler until the last one.
func readEvents(ctx context.Context, body io.Reader, b *ResponseBuilder, a Assembler) error {
	events := NewEventReader(body)
	for {
		event, err := events.Next()
		switch {
		case ctx.Err() != nil: // stop delivering events once the caller has cancelled
			return ctx.Err()
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case event.Type == "error":
			return &InlineError{event.Data}
		}
		data := bytes.TrimSpace(event.Data)
		if len(data) == 0 {
			continue
		}
		done, err := a.Add(data)
		switch {
		case err != nil:
			return err
		case b.TooLong():
			return ErrTooLong
		case done:
			return nil
		}
	}
}

// readWhole feeds a response that is not a stream to the assembler.
func readWhole(body io.Reader, a Assembler) error {
	data, err := io.ReadAll(io.LimitReader(body, MaxResponse+1))
	if err != nil {
		return err
	}
	if len(data) > MaxResponse {
		return ErrTooLong
	}
	return a.AddWhole(data)
}
