package http

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"callgate/internal/module/fetch"
	"callgate/internal/module/fetch/body"
	"callgate/tool"
)

// The parameters that tools share.
const (
	urlParameters = `
    "url": {"type": "string", "minLength": 1, "maxLength": 16000,
      "description": "The address, with https:// or http://."},
    "query": {"type": "object",
      "description": "Query parameters to add to the address: texts, numbers, booleans, or lists of them. They are encoded for you."},
    "headers": {"type": "object", "additionalProperties": {"type": "string"},
      "description": "Request headers. What the app file gives the host, such as its credential, is added by itself."}`
	limitParameters = `
    "timeout_seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": 600,
      "description": "How long it may take; 30 unless the app file says otherwise."},
    "max_bytes": {"type": "integer", "minimum": 1, "maximum": 104857600,
      "description": "How much of the body to read, 10 MiB unless the app file says otherwise; never more than that."},
    "follow_redirects": {"type": "boolean", "default": true,
      "description": "False: a redirect is the answer, and its target stands in the header location."}`
	bodyParameters = `
    "json": {"description": "A JSON value to send as the body. Use one of json, form and body."},
    "form": {"type": "object",
      "description": "Fields to send as a form, as a web page does: texts, numbers, booleans, or lists of them."},
    "body": {"type": "string",
      "description": "A text to send as it is. Give its content-type in headers where it is not plain text."}`
)

// requestArgs are the arguments of the tools that send a request and return the
// response.
type requestArgs struct {
	Method          string            `json:"method"`
	URL             string            `json:"url"`
	Query           map[string]any    `json:"query"`
	Headers         map[string]string `json:"headers"`
	Body            *string           `json:"body"`
	JSON            json.RawMessage   `json:"json"`
	Form            map[string]any    `json:"form"`
	TimeoutSeconds  float64           `json:"timeout_seconds"`
	MaxBytes        int               `json:"max_bytes"`
	FollowRedirects *bool             `json:"follow_redirects"`
}

// sendAs is send with the method of the tool.
func sendAs(method string) func(context.Context, httpCall, requestArgs) (*tool.Result, error) {
	return func(ctx context.Context, c httpCall, in requestArgs) (*tool.Result, error) {
		in.Method = method
		return send(ctx, c, in)
	}
}

// send sends one request and reads the response.
func send(ctx context.Context, c httpCall, in requestArgs) (*tool.Result, error) {
	limit := c.settings.TimeLimit(in.TimeoutSeconds)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, warning, err := c.request(ctx, in)
	if err != nil {
		return nil, err
	}
	resp, err := c.client(in.FollowRedirects).Do(r)
	if err != nil {
		return nil, c.failure(r, err, limit)
	}
	result, err := c.read(r, resp, in.MaxBytes, limit)
	if err == nil && warning != "" {
		result.Warnings = append(result.Warnings, warning)
	}
	return result, err
}

// read makes a result of the response to a request; maxBytes of 0 is the usual
// limit of its body.
func (c httpCall) read(
	r *nethttp.Request, resp *nethttp.Response, maxBytes int, limit time.Duration,
) (*tool.Result, error) {
	defer resp.Body.Close()
	if maxBytes == 0 || maxBytes > c.settings.MaxBytes {
		maxBytes = c.settings.MaxBytes
	}
	read, err := readResponse(resp, maxBytes)
	if err != nil {
		return nil, c.failure(r, err, limit)
	}
	return c.result(read)
}

// client is a client over the pooled connections that follows the redirects which the
// rules permit this call, or none.
func (c httpCall) client(follow *bool) *nethttp.Client {
	client, guard := *c.pooled, c.settings.Guard()
	if client.CheckRedirect = c.Follows(guard.Redirects(c.settings.MaxRedirects)); follow != nil && !*follow {
		client.CheckRedirect = guard.Redirects(0)
	}
	return &client
}

// request makes the request that the arguments describe. The warning says what
// was left out.
func (c httpCall) request(ctx context.Context, in requestArgs) (r *nethttp.Request, warning string, err error) {
	method := strings.ToUpper(in.Method)
	if err := c.checkMethod(method); err != nil {
		return nil, "", err
	}
	u, err := c.address(in)
	if err != nil {
		return nil, "", err
	}
	content, contentType, err := c.content(in)
	if err != nil {
		return nil, "", err
	}
	var reader io.Reader
	if content != nil {
		reader = bytes.NewReader(content)
	}
	if r, err = nethttp.NewRequestWithContext(c.withTrace(ctx), method, u.String(), reader); err != nil {
		return nil, "", tool.Errorf(c.Op, tool.Invalid, "the request cannot be made: %w", err)
	}
	warning, err = c.setHeaders(r, in.Headers, contentType)
	return r, warning, err
}

func (c httpCall) checkMethod(method string) error {
	switch {
	case !validName(method) || method == nethttp.MethodConnect || method == nethttp.MethodTrace:
		return tool.Errorf(c.Op, tool.Invalid, "%q is not a method that can be used", tool.Truncate(method)).
			WithHint("use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")
	case len(c.settings.AllowedMethods) > 0 && !slices.Contains(c.settings.AllowedMethods, method):
		return tool.Errorf(c.Op, tool.Denied, "the method %s is not allowed here", method).
			WithHint("the app file allows %s: %s", strings.Join(c.settings.AllowedMethods, ", "),
				c.settings.Key("constraints.allowed_methods"))
	}
	return nil
}

// address reads the URL of the arguments and adds their query to it.
func (c httpCall) address(in requestArgs) (*url.URL, error) {
	u, err := c.URL(in.URL)
	if err != nil {
		return nil, err
	}
	added, err := c.values("query", in.Query)
	if err != nil {
		return nil, err
	}
	if len(added) > 0 {
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += added.Encode()
	}
	return u, nil
}

// values encodes the fields of an object as a query or a form has them.
func (c httpCall) values(argument string, fields map[string]any) (url.Values, error) {
	out := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		list, ok := fields[name].([]any)
		if !ok {
			list = []any{fields[name]}
		}
		for _, value := range list {
			switch v := value.(type) {
			case nil:
			case string:
				out.Add(name, v)
			case bool:
				out.Add(name, fmt.Sprint(v))
			case float64:
				text, _ := json.Marshal(v) // a number that came from JSON is one in JSON
				out.Add(name, string(text))
			default:
				return nil, tool.Errorf(c.Op, tool.Invalid,
					"%s.%s holds a value that is neither text, number, boolean nor a list of them", argument, tool.Truncate(name)).
					WithHint("write nested values as text, or send them as json")
			}
		}
	}
	return out, nil
}

// content returns the body to send and its type; nil is no body.
func (c httpCall) content(in requestArgs) (content []byte, contentType string, err error) {
	given := 0
	if in.Body != nil {
		given++
		content, contentType = []byte(*in.Body), "text/plain; charset=utf-8"
	}
	if in.JSON != nil {
		given++
		content, contentType = in.JSON, "application/json"
	}
	if in.Form != nil {
		given++
		values, err := c.values("form", in.Form)
		if err != nil {
			return nil, "", err
		}
		content, contentType = []byte(values.Encode()), "application/x-www-form-urlencoded"
	}
	if given > 1 {
		return nil, "", tool.Errorf(c.Op, tool.Invalid,
			"json, form and body are three ways to give the body; these arguments mix them").WithHint("use one of them")
	}
	return content, contentType, nil
}

// setHeaders puts the headers on a request: the usual ones, then those of the
// call, then those of the app file, each over the ones before.
func (c httpCall) setHeaders(
	r *nethttp.Request, given map[string]string, contentType string,
) (warning string, err error) {
	r.Header.Set("User-Agent", c.settings.UserAgent)
	r.Header.Set("Accept", "*/*")
	r.Header.Set("Accept-Encoding", body.Accepted)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := checkHeader(name, given[name]); err != nil {
			return "", tool.Errorf(c.Op, tool.Invalid, "%v", err).WithHint("leave it out, or correct it")
		}
		r.Header.Set(name, given[name])
	}
	return c.settings.addSecrets(r, c.Grant.Credential), nil
}

// clientHeaders are set by the client itself. If a call could choose them, a
// request could be made to mean one thing here and another on the way.
var clientHeaders = []string{
	"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade",
	"Expect", "Http2-Settings", "Accept-Encoding",
}

// checkHeader reports what is wrong with a header.
func checkHeader(name, value string) error {
	canonical := nethttp.CanonicalHeaderKey(name)
	switch {
	case !validName(name):
		return fmt.Errorf("%q is not the name of a header", tool.Truncate(name))
	case !fetch.ValidHeaderValue(value):
		return fmt.Errorf("the header %s holds a character that no header may, such as a line end", tool.Truncate(name))
	case slices.Contains(clientHeaders, canonical), strings.HasPrefix(canonical, "Proxy-"):
		return fmt.Errorf("the header %s is set by the client itself", tool.Truncate(name))
	}
	return nil
}

// headerNamed finds a header in whatever case its name is written.
func headerNamed(headers map[string]string, name string) (string, bool) {
	for n, v := range headers {
		if strings.EqualFold(n, name) {
			return v, true
		}
	}
	return "", false
}

func validName(name string) bool { return httpguts.ValidHeaderFieldName(name) && len(name) <= 200 }
