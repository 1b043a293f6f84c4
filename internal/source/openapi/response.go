package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module/fetch"
	"callgate/internal/module/fetch/body"
	"callgate/tool"
)

// answer is the answer of an API as a result shows it.
type answer struct {
	Status    int               `json:"status"`
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers,omitempty"`
	JSON      json.RawMessage   `json:"json,omitempty"`
	Body      string            `json:"body,omitempty"`
	Bytes     int               `json:"bytes"`
	Truncated bool              `json:"truncated,omitempty"`
}

const (
	maxInData  = 40 << 10 // of a body in the data of a result; a longer one is its text
	maxFailure = 8 << 10  // of the body of a failure
)

// result makes a result of an answer. A status of 400 or more is a failure of the call, with
// the body, which holds the reasons.
func (r *request) result(resp *http.Response, shown string, content []byte, truncated bool) (*tool.Result, error) {
	a := answer{
		Status: resp.StatusCode, URL: shown, Headers: shownHeaders(resp.Header), Bytes: len(content), Truncated: truncated,
	}
	out := &tool.Result{Status: tool.Success}
	if resp.Request.URL.Host != r.base.Host {
		out.Warnings = append(out.Warnings, "the answer came from "+resp.Request.URL.Host+", where "+r.base.Host+" sent it")
	}
	mediaType := resp.Header.Get("Content-Type")
	kind := body.KindOf(mediaType, content)
	switch {
	case len(content) == 0:
	case kind == body.Picture && !truncated && len(content) <= body.MaxPicture:
		name, _, _ := strings.Cut(mediaType, ";")
		out.Content = []tool.Content{tool.Image(strings.TrimSpace(name), content)}
	case kind == body.Binary || kind == body.Picture:
		out.Warnings = append(out.Warnings, "the body is "+amount.Bytes(int64(len(content)))+" of "+
			tool.Truncate(mediaType)+", which is not shown")
	default:
		a.setText(content, mediaType, truncated)
	}
	if a.Status >= 400 {
		failed := r.statusError(resp)
		out.Status, out.Error, out.Summary = tool.Failure, failed, failed.Error()
		a.shorten()
	} else {
		out.Summary = a.summary(resp)
	}
	if text := a.text(); len(text) > maxInData {
		out.Content = []tool.Content{tool.Text(text)}
		a.JSON, a.Body = nil, ""
	}
	if truncated {
		out.Cut = &tool.Cut{Unit: "bytes", Last: len(content), Advice: "ask the API for less at a time"}
	}
	data, err := json.Marshal(a)
	if err != nil {
		return nil, &tool.Error{Op: r.op, Kind: tool.Internal, Message: "the answer cannot be written as JSON", Err: err}
	}
	out.Data = data
	return out, nil
}

// setText takes a body that is text. JSON that cannot be parsed stays text.
func (a *answer) setText(content []byte, mediaType string, truncated bool) {
	text, _, _ := body.Decode(content, mediaType, truncated)
	mayBeJSON := isJSON(mediaType) || strings.ContainsAny(text[:min(1, len(text))], "{[")
	var compact bytes.Buffer
	if mayBeJSON && !truncated && json.Compact(&compact, []byte(text)) == nil {
		a.JSON = compact.Bytes()
		return
	}
	a.Body = text
}

func (a *answer) text() string {
	if a.JSON != nil {
		return string(a.JSON)
	}
	return a.Body
}

// shorten keeps the beginning of a long body of a failure.
func (a *answer) shorten() {
	if text := a.text(); len(text) > maxFailure {
		a.JSON, a.Body, a.Truncated = nil, tool.TruncateTo(text, maxFailure), true
	}
}

func (a *answer) summary(resp *http.Response) string {
	text := fmt.Sprintf("%d %s", a.Status, fetch.StatusText(resp))
	if a.Bytes > 0 {
		text += "; " + amount.Bytes(int64(a.Bytes))
	}
	if a.Truncated {
		text = strings.Replace(text, "; ", "; the first ", 1) + " of a longer body"
	}
	if next := a.Headers["link"]; strings.Contains(next, `rel="next"`) {
		text += "; there are more, see the header link"
	}
	return text
}

// statusError is the error of an answer with a status of 400 or more.
func (r *request) statusError(resp *http.Response) *tool.Error {
	out := tool.Errorf(r.op, tool.Failed, "%s answered %d %s", tool.Truncate(r.base.Host), resp.StatusCode,
		fetch.StatusText(resp))
	return out.WithHint("%s", r.statusHint(resp))
}

func (r *request) statusHint(resp *http.Response) string {
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return r.credentialHint(status)
	case status == http.StatusNotFound, status == http.StatusGone:
		return "nothing is there: check the arguments that are part of the path"
	case status == http.StatusTooManyRequests:
		return "too many requests: " + fetch.RetryAfter(resp.Header)
	case status == http.StatusConflict, status == http.StatusPreconditionFailed:
		return "it was changed by somebody else: read it again and repeat the change"
	case status >= 500:
		return "the server failed: " + fetch.RetryAfter(resp.Header)
	default:
		return "the body says what the API did not like"
	}
}

// credentialHint says which credential was refused, or which one is missing.
func (r *request) credentialHint(status int) string {
	at := Setting + r.cfg.Name
	if names := r.auth.secrets(); len(names) > 0 {
		text := "the secret " + strings.Join(names, ", ") + " was sent for " + r.auth.describe()
		if status == http.StatusForbidden {
			return text + ", and may not do this: the user gives it more rights at the API, or stores another"
		}
		return text + ", and was not accepted: the user stores a valid one with callgate secrets set " + names[0]
	}
	if r.auth.wanted != "" {
		return "the API wants " + r.auth.wanted + ": the user stores it with callgate secrets set NAME, and names it in " +
			at + ".credential"
	}
	return "no credential was sent, because the document asks for none here: see that " + at +
		".document is up to date"
}

// describe says which schemes are used.
func (a *auth) describe() string {
	words := make([]string, len(a.parts))
	for i, p := range a.parts {
		words[i] = p.String()
	}
	return strings.Join(words, " and ")
}

// shownHeaders are the headers of an answer that a reader of an API needs: where to go on,
// how long to wait, what changed.
func shownHeaders(h http.Header) map[string]string {
	const most = 20
	out := map[string]string{}
	for _, name := range headerNames(h) {
		lower := strings.ToLower(name)
		if len(out) < most && isShown(lower) {
			out[lower] = tool.TruncateTo(strings.ToValidUTF8(strings.Join(h[name], ", "), "\ufffd"), 1000)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func isShown(name string) bool {
	known := []string{
		"link", "location", "content-location", "content-type", "etag", "last-modified", "retry-after", "content-range",
		"deprecation", "sunset", "warning", "www-authenticate",
	}
	return slices.Contains(known, name) || strings.Contains(name, "ratelimit") || strings.Contains(name, "rate-limit") ||
		strings.Contains(name, "total") || strings.Contains(name, "page") || strings.HasPrefix(name, "x-next")
}
