package http

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"callgate/internal/module/http/body"
	"callgate/tool"
)

const responseOutput = `{
  "type": "object",
  "properties": {
    "status": {"type": "integer", "description": "The HTTP status."},
    "status_text": {"type": "string"},
    "url": {"type": "string", "description": "Where the answer came from, after redirects."},
    "content_type": {"type": "string"},
    "headers": {"type": "object", "additionalProperties": {"type": "string"}, "description": "The response headers that say something; names in lower case."},
    "json": {"description": "The body, where it is JSON."},
    "body": {"type": "string", "description": "The body, where it is other text; in UTF-8."},
    "bytes": {"type": "integer", "description": "Size of the body, unpacked; -1 when nobody said."},
    "truncated": {"type": "boolean", "description": "Whether only the beginning of the body was read."},
    "binary": {"type": "boolean", "description": "Whether the body is neither text nor a picture, and so not shown."},
    "charset": {"type": "string", "description": "What the text was written in, where that was not UTF-8."},
    "redirects": {"type": "array", "items": {"type": "object", "properties": {"status": {"type": "integer"}, "url": {"type": "string"}}}, "description": "The addresses that were left by a redirect, in order."}
  },
  "required": ["status", "url", "bytes", "truncated"]
}`

// response is a response that was read.
type response struct {
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

	header  nethttp.Header
	method  string
	nature  body.Kind
	picture []byte
	lossy   bool
	sealed  bool // it is in an encoding that nobody here knows
}

// redirect is an address that was left by a redirect.
type redirect struct {
	Status int    `json:"status"`
	URL    string `json:"url"`
}

// maxPicture bounds an image, as the strictest of the model APIs does.
const maxPicture = 5 << 20

// readPage reads a response, and most bytes of its body at most.
func readPage(resp *nethttp.Response, most int) (*response, error) {
	p := newPage(resp)
	if resp.Request.Method == nethttp.MethodHead || resp.Body == nethttp.NoBody {
		p.Bytes = max(0, resp.ContentLength)
		return p, nil
	}
	content, done, known, err := body.Decompress(resp)
	defer done()
	if err != nil {
		return nil, err
	}
	p.sealed = !known
	head, err := io.ReadAll(io.LimitReader(content, int64(min(most, 4096))))
	if err != nil {
		return nil, broken(err, len(head))
	}
	whole := len(head) < min(most, 4096)
	if p.nature = body.KindOf(p.ContentType, head); p.sealed {
		p.nature = body.Binary
	}
	if p.nature == body.Picture {
		most = min(most, maxPicture)
	}
	var rest []byte
	if !whole && p.nature != body.Binary {
		if rest, err = io.ReadAll(io.LimitReader(content, int64(most-len(head))+1)); err != nil {
			return nil, broken(err, len(head)+len(rest))
		}
	}
	p.take(append(head, rest...), most, resp, whole)
	return p, nil
}

func broken(err error, n int) error {
	return fmt.Errorf("the body broke off after %s: %w", size(int64(n)), err)
}

// take makes what was read a body. whole says that head was all of it.
func (p *response) take(raw []byte, most int, resp *nethttp.Response, whole bool) {
	p.Bytes = int64(len(raw))
	if p.nature == body.Binary && !whole {
		p.Bytes = -1
		if resp.ContentLength >= 0 && resp.Header.Get("Content-Encoding") == "" {
			p.Bytes = resp.ContentLength
		}
	}
	if len(raw) > most {
		p.Truncated, p.Bytes, raw = true, int64(most), raw[:most]
	}
	switch {
	case len(raw) == 0:
	case p.nature == body.Binary, p.nature == body.Picture && p.Truncated:
		p.Binary = true
	case p.nature == body.Picture:
		p.picture = raw
	default:
		p.text(raw)
	}
}

// text puts a textual body where it belongs. JSON that cannot be read as such
// is text.
func (p *response) text(raw []byte) {
	if p.Truncated {
		raw = wholeRunes(raw)
	}
	text, name, lossy := body.Text(raw, p.ContentType)
	p.Charset, p.lossy = name, lossy
	looksSo := p.nature == body.JSON || p.ContentType == "" && strings.ContainsAny(text[:min(1, len(text))], "{[")
	if looksSo && !p.Truncated {
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(text)) == nil {
			p.nature, p.JSON = body.JSON, compact.Bytes()
			return
		}
	}
	p.nature, p.Body = body.Plain, text
}

// wholeRunes cuts off a rune that a limit cut in two.
func wholeRunes(text []byte) []byte {
	for i := 1; i <= min(len(text), utf8.UTFMax-1); i++ {
		if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}

func newPage(resp *nethttp.Response) *response {
	p := &response{
		Status: resp.StatusCode, StatusText: statusText(resp), URL: shownURL(resp.Request.URL),
		ContentType: resp.Header.Get("Content-Type"), Redirects: hops(resp),
		header: resp.Header, method: resp.Request.Method,
	}
	p.Headers = usefulHeaders(resp.Header, p.method == nethttp.MethodHead)
	return p
}

// hops lists the addresses that led to a response.
func hops(resp *nethttp.Response) []redirect {
	var all []redirect
	for r := resp.Request.Response; r != nil; r = r.Request.Response {
		all = append(all, redirect{r.StatusCode, shownURL(r.Request.URL)})
	}
	slices.Reverse(all)
	return all
}

func shownURL(u *url.URL) string { return tool.TruncateTo(u.Redacted(), 2000) }

func statusText(resp *nethttp.Response) string {
	_, words, _ := strings.Cut(resp.Status, " ")
	if words == "" {
		words = nethttp.StatusText(resp.StatusCode)
	}
	return tool.Truncate(words)
}

const (
	maxHeaders = 40
	maxHeader  = 1000
)

// usefulHeaders are the headers that say something of the answer. Those that only
// browsers or the road mind are left out, unless all are wanted.
func usefulHeaders(h nethttp.Header, all bool) map[string]string {
	out := map[string]string{}
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		lower := strings.ToLower(name)
		if len(out) >= maxHeaders || lower == "content-type" || !all && noise(lower) {
			continue
		}
		out[lower] = tool.TruncateTo(strings.ToValidUTF8(strings.Join(h[name], ", "), "\ufffd"), maxHeader)
	}
	return out
}

func noise(name string) bool {
	for _, prefix := range []string{"content-security-policy", "cross-origin-", "access-control-", "x-frame-", "x-xss-", "x-content-type-", "cf-", "x-amz-cf-", "x-cache", "x-served-", "x-timer", "sec-", "permissions-policy", "report", "x-permitted-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "date", "server", "connection", "keep-alive", "transfer-encoding", "vary", "strict-transport-security", "referrer-policy",
		"nel", "alt-svc", "via", "x-powered-by", "age", "content-encoding", "p3p", "expect-ct", "server-timing", "feature-policy",
		"origin-trial", "accept-ch", "x-ua-compatible", "content-length", "timing-allow-origin":
		return true
	}
	return false
}

// What of a body goes into the data of a result, and what of it is said beside
// them, too. A model is given so much that larger bodies are cut anyway; they
// are said in one place, from where the cut keeps the whole.
const (
	maxTwice  = 16 << 10
	maxInData = 40 << 10
	maxReason = 8 << 10 // of the body of a failure
)

// result tells what came back.
func (e httpCall) result(p *response) (*tool.Result, error) {
	r := &tool.Result{Status: tool.Success}
	if p.Status >= 400 {
		failed := e.statusError(p)
		r.Status, r.Error, r.Summary = tool.Failure, failed, failed.Error()
		p.clip()
	} else {
		r.Summary = p.summary()
	}
	switch text := p.words(); {
	case p.picture != nil:
		r.Content = []tool.Content{tool.Image(p.mime(), p.picture)}
	case text == "":
	case len(text) > maxInData:
		r.Content = []tool.Content{tool.Text(text)}
		p.JSON, p.Body = nil, ""
	case p.Body != "" && len(text) <= maxTwice:
		r.Content = []tool.Content{tool.Text(text)}
	}
	if p.lossy {
		r.Warnings = append(r.Warnings, "some bytes of the body mean nothing in its encoding; they are shown as �")
	}
	data, err := json.Marshal(p)
	if err != nil {
		return nil, &tool.Error{Op: e.op, Kind: tool.Internal, Message: "the response cannot be written as JSON", Err: err}
	}
	r.Data = data
	return r, nil
}

// words is the body as text, if it is any.
func (p *response) words() string {
	if p.JSON != nil {
		return string(p.JSON)
	}
	return p.Body
}

// clip keeps the beginning of a long body of a failure.
func (p *response) clip() {
	if text := p.words(); len(text) > maxReason {
		p.JSON, p.Body, p.Truncated = nil, tool.TruncateTo(text, maxReason), true
	}
}

func (p *response) mime() string {
	kind, _, _ := strings.Cut(p.ContentType, ";")
	return strings.TrimSpace(kind)
}

// summary is the response in one line: what it is, and how to get the rest.
func (p *response) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", p.Status, p.StatusText)
	if n := len(p.Redirects); n > 0 {
		fmt.Fprintf(&b, " from %s, after %s", tool.TruncateTo(p.URL, 200), count(n, "redirect"))
	}
	long := size(p.Bytes)
	switch {
	case p.method == nethttp.MethodHead:
		fmt.Fprintf(&b, "; headers only")
	case p.Status >= 300 && p.Headers["location"] != "":
		fmt.Fprintf(&b, "; it leads to %s", tool.TruncateTo(p.Headers["location"], 200))
	case p.Binary && p.Bytes < 0:
		fmt.Fprintf(&b, "; a binary body (%s), not shown: use %s.download to save it", p.kind(), Namespace)
	case p.Binary:
		fmt.Fprintf(&b, "; a binary body (%s, %s), not shown: use %s.download to save it", p.kind(), long, Namespace)
	case p.picture != nil:
		fmt.Fprintf(&b, "; a picture, %s, %s", p.kind(), long)
	case p.Bytes == 0:
		b.WriteString("; no body")
	case p.Truncated:
		fmt.Fprintf(&b, "; the first %s of a longer body, %s: raise max_bytes, or use %s.download", long, p.kind(), Namespace)
	default:
		fmt.Fprintf(&b, "; %s, %s", p.kind(), long)
	}
	return b.String()
}

// kind names what the body is.
func (p *response) kind() string {
	switch {
	case p.sealed:
		return tool.Truncate(p.header.Get("Content-Encoding")) + "-encoded"
	case p.nature == body.JSON:
		return "JSON"
	case p.mime() != "":
		return tool.Truncate(p.mime())
	case p.Binary:
		return "of no named type"
	default:
		return "text"
	}
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// size writes a number of bytes as people do.
func size(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	default:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
}
