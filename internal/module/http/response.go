package http

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	nethttp "net/http"
	"slices"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module/fetch"
	"callgate/internal/module/fetch/body"
	"callgate/tool"
)

const responseOutput = `{
  "type": "object",
  "properties": {
    "status": {"type": "integer", "description": "The HTTP status."},
    "status_text": {"type": "string"},
    "url": {"type": "string", "description": "Where the answer came from, after redirects."},
    "content_type": {"type": "string"},
    "headers": {"type": "object", "additionalProperties": {"type": "string"},
      "description": "The response headers that say something; names in lower case."},
    "json": {"description": "The body, where it is JSON."},
    "body": {"type": "string", "description": "The body, where it is other text; in UTF-8."},
    "bytes": {"type": "integer", "description": "Size of the body, unpacked; -1 when nobody said."},
    "truncated": {"type": "boolean", "description": "Whether only the beginning of the body was read."},
    "binary": {"type": "boolean", "description": "Whether the body is neither text nor a picture, and so not shown."},
    "charset": {"type": "string", "description": "What the text was written in, where that was not UTF-8."},
    "redirects": {"type": "array", "items": {"type": "object", "properties": {"status": {"type": "integer"}, "url": {"type": "string"}}},
      "description": "The addresses that were left by a redirect, in order."}
  },
  "required": ["status", "url", "bytes", "truncated"]
}`

// responseData is a response as a result shows it.
type responseData struct {
	Status      int               `json:"status"`
	StatusText  string            `json:"status_text,omitempty"`
	URL         string            `json:"url"`
	ContentType string            `json:"content_type,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	JSON        json.RawMessage   `json:"json,omitempty"`
	Body        string            `json:"body,omitempty"`
	Bytes       int64             `json:"bytes"`
	Truncated   bool              `json:"truncated"`
	Binary      bool              `json:"binary,omitempty"`
	Charset     string            `json:"charset,omitempty"`
	Redirects   []redirect        `json:"redirects,omitempty"`
}

// response is a response that was read.
type response struct {
	responseData
	header  nethttp.Header
	method  string // of the request
	kind    body.Kind
	picture []byte
	lossy   bool // some bytes of the text mean nothing in its encoding
	encoded bool // the body is in an unknown compression
}

// redirect is a response that redirected to another address.
type redirect struct {
	Status int    `json:"status"`
	URL    string `json:"url"`
}

// headBytes is how much of a body is read before its kind is known.
const headBytes = 4096

// readResponse reads a response, with at most maxBytes of its body. Of a binary
// body only the beginning is read.
func readResponse(resp *nethttp.Response, maxBytes int) (*response, error) {
	out := newResponse(resp)
	if out.method == nethttp.MethodHead || resp.Body == nethttp.NoBody {
		out.Bytes = max(0, resp.ContentLength)
		return out, nil
	}
	r, err := body.NewReader(resp)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content, err := r.Next(min(maxBytes, headBytes))
	if err != nil {
		return nil, err
	}
	ended := len(content) < min(maxBytes, headBytes)
	if out.kind = body.KindOf(out.ContentType, content); r.Encoded {
		out.kind, out.encoded = body.Binary, true
	}
	if out.kind == body.Picture {
		maxBytes = min(maxBytes, body.MaxPicture)
	}
	if out.kind == body.Binary {
		out.setBinary(len(content), ended, resp)
		return out, nil
	}
	if !ended {
		rest, err := r.Next(maxBytes - len(content) + 1)
		if err != nil {
			return nil, err
		}
		content = append(content, rest...)
	}
	if len(content) > maxBytes {
		content, out.Truncated = content[:maxBytes], true
	}
	out.setContent(content)
	return out, nil
}

func newResponse(resp *nethttp.Response) *response {
	out := &response{header: resp.Header, method: resp.Request.Method, responseData: responseData{
		Status: resp.StatusCode, StatusText: fetch.StatusText(resp), URL: fetch.ShownURL(resp.Request.URL),
		ContentType: resp.Header.Get("Content-Type"), Redirects: redirects(resp),
	}}
	out.Headers = shownHeaders(resp.Header, out.method == nethttp.MethodHead)
	return out
}

// redirects lists the redirects that led to a response.
func redirects(resp *nethttp.Response) []redirect {
	var all []redirect
	for r := resp.Request.Response; r != nil; r = r.Request.Response {
		all = append(all, redirect{r.StatusCode, fetch.ShownURL(r.Request.URL)})
	}
	slices.Reverse(all)
	return all
}

// setBinary notes a binary body of which n bytes were read; ended says that
// they are all.
func (r *response) setBinary(n int, ended bool, resp *nethttp.Response) {
	switch r.Binary = n > 0; {
	case ended:
		r.Bytes = int64(n)
	case resp.ContentLength >= 0 && resp.Header.Get("Content-Encoding") == "":
		r.Bytes = resp.ContentLength
	default:
		r.Bytes = -1 // unknown
	}
}

// setContent takes a body that is text or a picture.
func (r *response) setContent(content []byte) {
	switch r.Bytes = int64(len(content)); {
	case len(content) == 0:
	case r.kind == body.Picture && r.Truncated:
		r.Binary = true
	case r.kind == body.Picture:
		r.picture = content
	default:
		r.setText(content)
	}
}

// setText takes a body that is text. JSON that cannot be parsed stays text.
func (r *response) setText(content []byte) {
	text, charset, lossy := body.Decode(content, r.ContentType, r.Truncated)
	r.Charset, r.lossy = charset, lossy
	mayBeJSON := r.kind == body.JSON || r.ContentType == "" && strings.ContainsAny(text[:min(1, len(text))], "{[")
	if mayBeJSON && !r.Truncated {
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(text)) == nil {
			r.kind, r.JSON = body.JSON, compact.Bytes()
			return
		}
	}
	r.kind, r.Body = body.Plain, text
}

const (
	maxHeaders = 40
	maxHeader  = 1000
)

// shownHeaders returns the headers that tell a reader something about the
// response; all includes those that only browsers and proxies need.
func shownHeaders(h nethttp.Header, all bool) map[string]string {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		lower := strings.ToLower(name)
		if len(out) >= maxHeaders || lower == "content-type" || !all && isNoise(lower) {
			continue
		}
		out[lower] = tool.TruncateTo(strings.ToValidUTF8(strings.Join(h[name], ", "), "\ufffd"), maxHeader)
	}
	return out
}

// isNoise reports whether a header only matters to browsers and proxies.
func isNoise(name string) bool {
	return slices.Contains(noiseHeaders, name) ||
		slices.ContainsFunc(noisePrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

var noisePrefixes = []string{
	"content-security-policy", "cross-origin-", "access-control-", "x-frame-", "x-xss-", "x-content-type-", "cf-",
	"x-amz-cf-",
	"x-cache", "x-served-", "x-timer", "sec-", "permissions-policy", "report", "x-permitted-",
}

var noiseHeaders = []string{
	"date", "server", "connection", "keep-alive", "transfer-encoding", "vary", "strict-transport-security",
	"referrer-policy",
	"nel", "alt-svc", "via", "x-powered-by", "age", "content-encoding", "p3p", "expect-ct", "server-timing",
	"feature-policy",
	"origin-trial", "accept-ch", "x-ua-compatible", "content-length", "timing-allow-origin",
}

// A body up to maxInData bytes is part of the data of a result, and a text up to
// maxTwice is given beside them, too. A larger body is given once, as text: a
// model gets so much only in part, and there the kernel keeps the whole.
const (
	maxTwice   = 16 << 10
	maxInData  = 40 << 10
	maxFailure = 8 << 10 // of the body of a failure
)

// result makes the result of a response.
func (c httpCall) result(resp *response) (*tool.Result, error) {
	r := &tool.Result{Status: tool.Success}
	if resp.Status >= 400 {
		failed := c.statusError(resp)
		r.Status, r.Error, r.Summary = tool.Failure, failed, failed.Error()
		resp.shorten()
	} else {
		r.Summary = resp.summary()
	}
	r.Cut = resp.cut(len(strings.TrimSuffix(resp.text(), "…")))
	switch text := resp.text(); {
	case resp.picture != nil:
		r.Content = []tool.Content{tool.Image(resp.mime(), resp.picture)}
	case text == "":
	case len(text) > maxInData:
		r.Content = []tool.Content{tool.Text(text)}
		resp.JSON, resp.Body = nil, ""
	case resp.Body != "" && len(text) <= maxTwice:
		r.Content = []tool.Content{tool.Text(text)}
	}
	if resp.lossy {
		r.Warnings = append(r.Warnings, "some bytes of the body mean nothing in its encoding; they are shown as \ufffd")
	}
	data, err := json.Marshal(resp.responseData)
	if err != nil {
		return nil, &tool.Error{Op: c.Op, Kind: tool.Internal, Message: "the response cannot be written as JSON", Err: err}
	}
	r.Data = data
	return r, nil
}

// cut says that only the first bytes of the body are given; nil: all are, or none.
func (r *response) cut(shown int) *tool.Cut {
	switch {
	case !r.Truncated || r.Binary:
		return nil
	case r.Status >= 400 && int64(shown) < r.Bytes: // shortened, because it tells of a failure
		return &tool.Cut{Unit: "bytes", Last: shown, Total: int(r.Bytes)}
	}
	return &tool.Cut{Unit: "bytes", Last: int(r.Bytes), Advice: "raise max_bytes"}
}

// text returns the body, if it is text.
func (r *response) text() string {
	if r.JSON != nil {
		return string(r.JSON)
	}
	return r.Body
}

// shorten keeps the beginning of a long body of a failure.
func (r *response) shorten() {
	if text := r.text(); len(text) > maxFailure {
		r.JSON, r.Body, r.Truncated = nil, tool.TruncateTo(text, maxFailure), true
	}
}

func (r *response) mime() string {
	kind, _, _ := strings.Cut(r.ContentType, ";")
	return strings.TrimSpace(kind)
}

// summary describes the response in one line, and says how to get the rest.
func (r *response) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", r.Status, r.StatusText)
	if n := len(r.Redirects); n > 0 {
		fmt.Fprintf(&b, " from %s, after %s", tool.TruncateTo(r.URL, 200), amount.Of(n, "redirect"))
	}
	size := amount.Bytes(r.Bytes)
	switch {
	case r.method == nethttp.MethodHead:
		fmt.Fprintf(&b, "; headers only")
	case r.Status >= 300 && r.Headers["location"] != "":
		fmt.Fprintf(&b, "; it leads to %s", tool.TruncateTo(r.Headers["location"], 200))
	case r.Binary && r.Bytes < 0:
		fmt.Fprintf(&b, "; a binary body (%s), not shown: use %s.download to save it", r.kindText(), Namespace)
	case r.Binary:
		fmt.Fprintf(&b, "; a binary body (%s, %s), not shown: use %s.download to save it", r.kindText(), size, Namespace)
	case r.picture != nil:
		fmt.Fprintf(&b, "; a picture, %s, %s", r.kindText(), size)
	case r.Bytes == 0:
		b.WriteString("; no body")
	case r.Truncated:
		fmt.Fprintf(&b, "; the first %s of a longer body, %s: raise max_bytes, or use %s.download",
			size, r.kindText(), Namespace)
	default:
		fmt.Fprintf(&b, "; %s, %s", r.kindText(), size)
	}
	return b.String()
}

// kindText names what the body is.
func (r *response) kindText() string {
	switch {
	case r.encoded:
		return tool.Truncate(r.header.Get("Content-Encoding")) + "-encoded"
	case r.kind == body.JSON:
		return "JSON"
	case r.mime() != "":
		return tool.Truncate(r.mime())
	case r.Binary:
		return "of no named type"
	default:
		return "text"
	}
}
