package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"callgate/internal/module/http/body"
	"callgate/tool"
)

// The parameters that tools share.
const (
	urlParameters = `
    "url": {"type": "string", "minLength": 1, "maxLength": 16000, "description": "The address, with https:// or http://."},
    "query": {"type": "object", "description": "Query parameters to add to the address: texts, numbers, booleans, or lists of them. They are encoded for you."},
    "headers": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Request headers. What the app file gives the host, such as its credential, is added by itself."}`
	limitParameters = `
    "timeout_seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": 600, "description": "How long it may take; 30 unless the app file says otherwise."},
    "max_bytes": {"type": "integer", "minimum": 1, "maximum": 104857600, "description": "How much of the body to read, 10 MiB unless the app file says otherwise; never more than that."},
    "follow_redirects": {"type": "boolean", "default": true, "description": "False: a redirect is the answer, and its target stands in the header location."}`
	bodyParameters = `
    "json": {"description": "A JSON value to send as the body. Use one of json, form and body."},
    "form": {"type": "object", "description": "Fields to send as a form, as a web page does: texts, numbers, booleans, or lists of them."},
    "body": {"type": "string", "description": "A text to send as it is. Give its content-type in headers where it is not plain text."}`
)

// requestArgs are the arguments of the tools that ask and are answered.
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

// asking is ask with a method that the tool gives.
func asking(method string) func(context.Context, httpCall, requestArgs) (*tool.Result, error) {
	return func(ctx context.Context, e httpCall, in requestArgs) (*tool.Result, error) {
		in.Method = method
		return ask(ctx, e, in)
	}
}

// ask sends one request and reads the answer.
func ask(ctx context.Context, e httpCall, in requestArgs) (*tool.Result, error) {
	limit := e.settings.timeout(in.TimeoutSeconds)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, warning, err := e.request(ctx, in)
	if err != nil {
		return nil, err
	}
	resp, err := e.client(in.FollowRedirects).Do(r)
	if err != nil {
		return nil, e.fail(r, err, limit)
	}
	return e.answer(r, resp, in.MaxBytes, warning, limit)
}

// answer reads a response, and says what was held back from the request.
func (e httpCall) answer(r *nethttp.Request, resp *nethttp.Response, most int, warning string, limit time.Duration) (*tool.Result, error) {
	defer resp.Body.Close()
	if most == 0 || most > e.settings.MaxBytes {
		most = e.settings.MaxBytes
	}
	page, err := readPage(resp, most)
	if err != nil {
		return nil, e.fail(r, err, limit)
	}
	result, err := e.result(page)
	if err == nil && warning != "" {
		result.Warnings = append(result.Warnings, warning)
	}
	return result, err
}

// timeout is how long a call may take: what it asks for, or what is usual.
func (s *settings) timeout(asked float64) time.Duration {
	seconds := float64(s.Timeout)
	if asked > 0 {
		seconds = asked
	}
	return time.Duration(seconds * float64(time.Second))
}

// client is the line's client, or one that follows no redirect.
func (e httpCall) client(follow *bool) *nethttp.Client {
	if follow == nil || *follow {
		return e.line.client
	}
	c := *e.line.client
	c.CheckRedirect = e.settings.guard.Redirects(0)
	return &c
}

// request makes the request that the arguments describe.
func (e httpCall) request(ctx context.Context, in requestArgs) (r *nethttp.Request, warning string, err error) {
	method := strings.ToUpper(in.Method)
	if err := e.mayUse(method); err != nil {
		return nil, "", err
	}
	u, err := e.address(in.URL, in.Query)
	if err != nil {
		return nil, "", err
	}
	content, contentType, err := e.content(in)
	if err != nil {
		return nil, "", err
	}
	var reader io.Reader
	if content != nil {
		reader = bytes.NewReader(content)
	}
	if r, err = nethttp.NewRequestWithContext(ctx, method, u.String(), reader); err != nil {
		return nil, "", tool.Errorf(e.op, tool.Invalid, "the request cannot be made: %w", err)
	}
	warning, err = e.setHeaders(r, in.Headers, contentType)
	return r, warning, err
}

func (e httpCall) mayUse(method string) error {
	switch {
	case !validName(method) || method == nethttp.MethodConnect || method == nethttp.MethodTrace:
		return tool.Errorf(e.op, tool.Invalid, "%q is not a method that can be used", tool.Truncate(method)).WithHint("use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")
	case len(e.settings.AllowedMethods) > 0 && !slices.Contains(e.settings.AllowedMethods, method):
		return tool.Errorf(e.op, tool.Denied, "the method %s is not allowed here", method).
			WithHint("the app file allows %s: tools.modules.%s.constraints.allowed_methods", strings.Join(e.settings.AllowedMethods, ", "), Namespace)
	}
	return nil
}

// address reads the URL, adds the query and has the guard judge it.
func (e httpCall) address(text string, query map[string]any) (*url.URL, error) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // the URL is said here
		}
		return nil, tool.Errorf(e.op, tool.Invalid, "%q is not a URL: %v", tool.Truncate(text), err).WithHint("write it as https://host/path")
	}
	switch {
	case u.Scheme == "" && text != "":
		return nil, tool.Errorf(e.op, tool.Invalid, "%q has no scheme", tool.Truncate(text)).WithHint("did you mean https://%s?", tool.Truncate(strings.TrimLeft(text, "/")))
	case u.Scheme == "ws", u.Scheme == "wss":
		return nil, tool.Errorf(e.op, tool.Invalid, "web sockets are not spoken here").WithHint("use an http or https URL")
	}
	added, err := e.values("query", query)
	if err != nil {
		return nil, err
	}
	if len(added) > 0 {
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += added.Encode()
	}
	u.Fragment, u.RawFragment = "", ""
	if err := e.settings.guard.Check(u); err != nil {
		return nil, e.named(err)
	}
	return u, nil
}

// named gives a refusal the name of the tool.
func (e httpCall) named(err error) error {
	var refused *tool.Error
	if errors.As(err, &refused) {
		refused.Op = e.op
		return refused
	}
	return err
}

// values writes the fields of an object as a query or a form has them.
func (e httpCall) values(what string, fields map[string]any) (url.Values, error) {
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
				text, _ := json.Marshal(v) // a float from JSON is one in JSON
				out.Add(name, string(text))
			default:
				return nil, tool.Errorf(e.op, tool.Invalid, "%s.%s holds a value that is neither text, number, boolean nor a list of them", what, tool.Truncate(name)).
					WithHint("write nested values as text, or send them as json")
			}
		}
	}
	return out, nil
}

// content is what to send and what it is; nil is nothing.
func (e httpCall) content(in requestArgs) (content []byte, contentType string, err error) {
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
		values, err := e.values("form", in.Form)
		if err != nil {
			return nil, "", err
		}
		content, contentType = []byte(values.Encode()), "application/x-www-form-urlencoded"
	}
	if given > 1 {
		return nil, "", tool.Errorf(e.op, tool.Invalid, "json, form and body are three ways to give the body; these arguments mix them").WithHint("use one of them")
	}
	return content, contentType, nil
}

// setHeaders puts the headers on a request: the usual ones, the call's, and over
// those the app's.
func (e httpCall) setHeaders(r *nethttp.Request, given map[string]string, contentType string) (warning string, err error) {
	r.Header.Set("User-Agent", e.settings.UserAgent)
	r.Header.Set("Accept", "*/*")
	r.Header.Set("Accept-Encoding", body.Accepted)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := fitHeader(name, given[name]); err != nil {
			return "", tool.Errorf(e.op, tool.Invalid, "%v", err).WithHint("leave it away, or mend it")
		}
		r.Header.Set(name, given[name])
	}
	return e.settings.addCredentials(r, e.grant.Credential), nil
}

// ownHeaders are set by the client itself: where they could be chosen, a
// request could be made to read differently on the way than here.
var ownHeaders = []string{
	"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade",
	"Expect", "Http2-Settings", "Accept-Encoding",
}

// fitHeader reports what is wrong with a header.
func fitHeader(name, value string) error {
	canonical := nethttp.CanonicalHeaderKey(name)
	switch {
	case !validName(name):
		return fmt.Errorf("%q is not the name of a header", tool.Truncate(name))
	case !validValue(value):
		return fmt.Errorf("the header %s holds a character that no header may, such as a line end", tool.Truncate(name))
	case slices.Contains(ownHeaders, canonical), strings.HasPrefix(canonical, "Proxy-"):
		return fmt.Errorf("the header %s is set by the client itself", tool.Truncate(name))
	}
	return nil
}

func validName(name string) bool { return httpguts.ValidHeaderFieldName(name) && len(name) <= 200 }

func validValue(value string) bool {
	return httpguts.ValidHeaderFieldValue(value) && len(value) <= 64<<10
}
