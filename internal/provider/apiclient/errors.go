package apiclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"callgate/llm"
)

// ErrorReader reads the failures of one provider. No secret gets through it.
type ErrorReader struct {
	Provider string
	Secrets  []string // the key, and whatever else must not be repeated
}

const (
	maxFault   = 64 << 10 // of an error's body that are read
	maxMessage = 600      // of its words that are kept
)

// Response reads a response that is none (its status is 300 or above), and
// closes it.
func (f ErrorReader) Response(res *http.Response) *llm.Error {
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxFault)) // a torn body is read as far as it goes
	e := f.Inline(res.StatusCode, body)
	if wait, ok := retryAfter(res.Header, time.Now()); ok {
		e.RetryAfter = wait
	}
	return e
}

// Inline reads an error's JSON, or whatever came in its place. A status of 0
// means that it came inside a stream, without one.
func (f ErrorReader) Inline(status int, body []byte) *llm.Error {
	p := readAPIError(body)
	if status == 0 || status == http.StatusOK {
		status = p.status
	}
	e := &llm.Error{Kind: p.kind(status), Provider: f.Provider, Status: status, Failed: p.failed, RetryAfter: p.wait()}
	e.Message = f.mask(p.message)
	if e.Message == "" {
		e.Message = strings.ToLower(http.StatusText(status))
	}
	return e
}

// Transport reads a failure on the way: no connection, a deadline, a silence, a
// cancelled request.
func (f ErrorReader) Transport(ctx context.Context, err error) *llm.Error {
	var known *llm.Error
	if errors.As(err, &known) {
		return known
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // what stands around it is the address, and whatever is in it
	}
	e := &llm.Error{Kind: llm.Unavailable, Provider: f.Provider, Message: f.mask(err.Error()), Err: err}
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		e.Kind, e.Message, e.Err = llm.Cancelled, "the request was cancelled", ctx.Err()
	case ctx.Err() != nil:
		e.Kind, e.Message, e.Err = llm.Timeout, "the time for the request ran out", ctx.Err()
	case errors.Is(err, ErrIdle):
		e.Kind = llm.Timeout
	case errors.As(err, &cert):
		e.Kind = llm.BadRequest // no waiting mends a certificate
	}
	return e
}

// Broken reads the failure of a stream that had been opened. What had come is
// in the error's Partial. Once anything has been shown the kind is BrokenStream,
// whatever broke it: the answer cannot be begun again behind the watcher's back.
// A nil err is a stream that ended before its end.
func (f ErrorReader) Broken(ctx context.Context, err error, d *ResponseBuilder) *llm.Error {
	e := &llm.Error{Kind: llm.BrokenStream, Provider: f.Provider, Message: "the answer ended before its end"}
	var known *llm.Error
	switch {
	case errors.As(err, &known):
		e = known
	case err != nil || ctx.Err() != nil:
		if err == nil {
			err = ctx.Err()
		}
		e = f.Transport(ctx, err)
		if e.Kind == llm.Unavailable || e.Kind == llm.BadRequest {
			e.Kind = llm.BrokenStream
		}
	}
	if !d.Started() {
		return e
	}
	if e.Kind != llm.Cancelled && e.Kind != llm.Timeout && e.Kind != llm.BrokenStream {
		e = &llm.Error{Kind: llm.BrokenStream, Provider: e.Provider, Status: e.Status, Message: e.Message, RetryAfter: e.RetryAfter, Err: e}
	}
	e.Partial = d.Partial()
	return e
}

// keyPattern is what keys look like; providers repeat them in their errors, some
// with stars in the middle.
var keyPattern = regexp.MustCompile(`\b(?:sk|gsk|xai|pplx|csk|fw|ghu|gho|AIza|tgp)[-_][-_A-Za-z0-9*.]{8,}`)

// mask takes secrets out of a provider's words, and cuts them to a length.
func (f ErrorReader) mask(s string) string {
	for _, secret := range f.Secrets {
		if len(secret) >= 6 {
			s = strings.ReplaceAll(s, secret, "[key]")
		}
	}
	s = strings.ToValidUTF8(strings.TrimSpace(keyPattern.ReplaceAllString(s, "[key]")), "�")
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + " …"
	}
	return s
}

// apiError is an error as a provider wrote it.
type apiError struct {
	message, code, kindName, failed, delay string
	status                                 int // where the code is a number
}

// wireError has the names that providers give to the parts of an error.
type wireError struct {
	Message json.RawMessage `json:"message"`
	Msg     json.RawMessage `json:"msg"`
	Detail  json.RawMessage `json:"detail"`
	Type    json.RawMessage `json:"type"`
	Code    json.RawMessage `json:"code"`
	Status  json.RawMessage `json:"status"`
	Error   json.RawMessage `json:"error"`
	Errors  json.RawMessage `json:"errors"`
	Failed  string          `json:"failed_generation"`
	Details []struct {
		Delay string `json:"retryDelay"`
	} `json:"details"`
}

// readAPIError finds the error in a body: {"error": {…}}, {"error": "…"},
// {"message": …}, {"detail": …}, any of these in a list, plain words, or a page.
func readAPIError(body []byte) apiError {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '<' {
		return apiError{message: "the server answered with a web page instead of an answer; check the base URL"}
	}
	var p apiError
	if !p.read(body, 4) {
		p.message = string(body)
	}
	return p
}

func (p *apiError) read(raw json.RawMessage, depth int) bool {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 && depth > 0 {
		return p.read(list[0], depth-1)
	}
	var words string
	if json.Unmarshal(raw, &words) == nil && string(raw) != "null" {
		p.message = words
		return true
	}
	var w wireError
	// A field of another type than expected is left out; the others are read.
	if err := json.Unmarshal(raw, &w); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) || len(raw) == 0 || raw[0] != '{' {
		return false
	}
	p.message = firstOf(p.message, plain(w.Message), plain(w.Msg))
	p.code, p.kindName = firstOf(plain(w.Code), p.code), firstOf(plain(w.Type), plain(w.Status), p.kindName)
	p.failed = firstOf(w.Failed, p.failed)
	for _, d := range w.Details {
		p.delay = firstOf(p.delay, d.Delay)
	}
	if n, err := strconv.Atoi(p.code); err == nil && n >= 300 && n < 600 {
		p.status = n
	}
	for _, inner := range []json.RawMessage{w.Error, w.Detail, w.Errors} {
		if len(inner) > 0 && depth > 0 && string(inner) != "null" {
			outer := p.message
			p.message = ""
			p.read(inner, depth-1)
			p.message = firstOf(p.message, outer)
		}
	}
	if p.message == "" {
		p.message = string(raw)
	}
	return true
}

func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if len(raw) > 0 && string(raw) != "null" {
		return string(raw)
	}
	return ""
}

func firstOf(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}
