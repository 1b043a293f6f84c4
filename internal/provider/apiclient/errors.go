package apiclient

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"callgate/llm"
)

// ErrorReader turns the failures of one provider into errors of package llm. It removes secrets from them.
type ErrorReader struct {
	Provider string
	Secrets  []string // the key, and everything else that an error must not repeat
}

const (
	maxErrorBody = 64 << 10 // bytes that are read of an error's body
	maxMessage   = 600      // bytes that are kept of its message
)

// Response reads a response with an error status (300 or above), and closes it.
func (r ErrorReader) Response(res *http.Response) *llm.Error {
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // what arrived of a torn body is enough
	e := r.Body(res.StatusCode, body)
	e.RequestID = r.requestID(res.Header, e.RequestID)
	if wait, ok := retryAfter(res.Header, time.Now()); ok {
		e.RetryAfter = wait
	}
	return e
}

// Body reads the JSON of an error, or whatever else the server sent. A status of 0 means that the error
// was inside a stream, which had none.
func (r ErrorReader) Body(status int, body []byte) *llm.Error {
	a := readAPIError(body)
	if status == 0 || status == http.StatusOK {
		status = a.status
	}
	e := &llm.Error{Kind: a.kind(status), Provider: r.Provider, Status: status, Failed: a.failed,
		RetryAfter: a.wait(), RequestID: r.requestID(nil, a.requestID), Message: r.mask(a.message)}
	switch {
	case e.Message != "":
	case status >= 300 && status < 400:
		e.Message = "the server answers with a redirect, which is not followed; set the base URL to where it leads"
	default:
		e.Message = strings.ToLower(http.StatusText(status))
	}
	return e
}

// Transport reads a failure to send a request or to receive its response: no connection, a deadline, an
// idle server, a cancelled request.
func (r ErrorReader) Transport(ctx context.Context, err error) *llm.Error {
	var known *llm.Error
	if errors.As(err, &known) {
		return known
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // the outer error repeats the address, which may hold a secret
	}
	e := &llm.Error{Kind: llm.Unavailable, Provider: r.Provider, Message: r.mask(err.Error()), Err: err}
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		e.Kind, e.Message, e.Err = llm.Cancelled, "the request was cancelled", ctx.Err()
	case ctx.Err() != nil:
		e.Kind, e.Message, e.Err = llm.Timeout, "the time for the request ran out", ctx.Err()
	case errors.Is(err, ErrIdle), errors.Is(err, ErrConnect):
		e.Kind = llm.Timeout
	case errors.As(err, &cert):
		e.Kind = llm.BadRequest // waiting does not repair a certificate
	}
	return e
}

// Stream reads the failure of a response that had begun; a nil err means that it ended too early. The
// error's Partial has what arrived, or the beginning of what was too long. Once the watcher was shown
// anything, the kind is BrokenStream whatever the cause, unless the caller cancelled or the time ran out:
// the response cannot be begun again.
func (r ErrorReader) Stream(ctx context.Context, err error, b *ResponseBuilder) *llm.Error {
	e := &llm.Error{Kind: llm.BrokenStream, Provider: r.Provider, Message: "the response ended too early"}
	var known *llm.Error
	switch {
	case errors.As(err, &known):
		e = known
	case err != nil || ctx.Err() != nil:
		if err == nil {
			err = ctx.Err()
		}
		e = r.Transport(ctx, err)
		if e.Kind == llm.Unavailable || e.Kind == llm.BadRequest {
			e.Kind = llm.BrokenStream
		}
	}
	if !b.Started() {
		return e
	}
	if e.Kind != llm.Cancelled && e.Kind != llm.Timeout && e.Kind != llm.BrokenStream {
		e = &llm.Error{Kind: llm.BrokenStream, Provider: e.Provider, Status: e.Status, Message: e.Message,
			RetryAfter: e.RetryAfter, RequestID: e.RequestID, Err: e}
	}
	if errors.Is(err, ErrTooLong) {
		e.Partial = b.beginning()
	} else {
		e.Partial = b.Partial()
	}
	return e
}

// keyPattern matches keys as providers write them in their errors, some with stars in the middle.
var keyPattern = regexp.MustCompile(`\b(?:sk|gsk|xai|pplx|csk|fw|ghu|gho|AIza|tgp)[-_][-_A-Za-z0-9*.]{8,}`)

// mask removes secrets from a provider's message, and shortens it.
func (r ErrorReader) mask(s string) string {
	for _, secret := range r.Secrets {
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

var validRequestID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:/=+-]{0,127}$`)

// requestID returns the provider's id of a request: the one in the headers, or else the one in the body.
// It is dropped if it does not look like an id, or holds a secret.
func (r ErrorReader) requestID(h http.Header, inBody string) string {
	for _, id := range []string{h.Get("Request-Id"), h.Get("X-Request-Id"), inBody} {
		if validRequestID.MatchString(id) && r.mask(id) == id {
			return id
		}
	}
	return ""
}
