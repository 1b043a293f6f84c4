package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"callgate/tool"
)

// Failure returns the tool's error for an error of a request: why there is no
// answer, and what to do next. Ctx is the request's, host the host it was sent
// to, limit the time it had. An error that is a tool.Error already is returned
// with the name of the tool.
func (c Call) Failure(ctx context.Context, host string, err error, limit time.Duration) *tool.Error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL, which may hold secrets
	}
	var done *tool.Error
	if errors.As(err, &done) {
		done.Op = c.Op
		return done
	}
	if out := c.interrupted(ctx, host, err, limit); out != nil {
		return out
	}
	message, hint := explain(host, err)
	return &tool.Error{Op: c.Op, Kind: tool.Failed, Message: message, Hint: hint, Err: err}
}

// interrupted explains an error that the call's own end or time limit caused;
// nil if something else did.
func (c Call) interrupted(ctx context.Context, host string, err error, limit time.Duration) *tool.Error {
	switch {
	case errors.Is(context.Cause(ctx), errStalled):
		return tool.Errorf(c.Op, tool.Timeout, "nothing came from or went to %s for %s", host, seconds(limit)).
			WithHint("try again later")
	case errors.Is(err, context.Canceled):
		return tool.Errorf(c.Op, tool.Cancelled, "the call was cancelled")
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Errorf(c.Op, tool.Timeout, "%s did not answer within %s", host, seconds(limit)).
			WithHint("try again later")
	}
	return nil
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'g', -1, 64) + " seconds"
}

// explain says what an error of the transport means.
func explain(host string, err error) (message, hint string) {
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	var status *statusError
	switch {
	case errors.As(err, &status):
		return host + " answered " + status.text, "the server failed: try again later"
	case errors.Is(err, syscall.ECONNREFUSED):
		return host + " refused the connection",
			"nothing listens there: check the address and the port, and that the server runs"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return host + " cannot be reached from this machine", "check the address, and that there is a network"
	case errors.As(err, &cert):
		return "the certificate of " + host + " cannot be trusted", certificateHint(err)
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return host + " does not speak TLS at this port", "if it is meant to be reached unencrypted, use http://"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return host + " closed the connection before the answer was complete", "try again"
	default:
		return "there is no usable answer from " + host, "check the address, and try again"
	}
}

func certificateHint(err error) string {
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &name):
		return "it is for another host: check the name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it has expired, or the clock of this machine is wrong"
	default:
		return "no authority that this machine trusts has signed it; the owner of the machine may add one"
	}
}

// Refusal gives an error of the guard the name of the tool.
func (c Call) Refusal(err error) error {
	var refused *tool.Error
	if errors.As(err, &refused) {
		refused.Op = c.Op
		return refused
	}
	return err
}

// RetryAfter says when to try again: it reads the header Retry-After, which
// holds seconds or a date.
func RetryAfter(h http.Header) string {
	after := h.Get("Retry-After")
	switch {
	case after == "":
		return "try again later"
	case strings.Trim(after, "0123456789") == "":
		return "try again after " + tool.Truncate(after) + " seconds"
	default:
		return "try again after " + tool.Truncate(after)
	}
}

// StatusText returns the words of a response's status.
func StatusText(resp *http.Response) string {
	_, words, _ := strings.Cut(resp.Status, " ")
	if words == "" {
		words = http.StatusText(resp.StatusCode)
	}
	return tool.Truncate(words)
}

// ShownURL writes a URL for a result, without a password.
func ShownURL(u *url.URL) string { return tool.TruncateTo(u.Redacted(), 2000) }
