package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"callgate/tool"
)

// errStill ends a transfer in which nothing moved for too long.
var errStill = errors.New("nothing moved for too long")

// fail says why there was no answer, and what to do next.
func (e httpCall) fail(r *nethttp.Request, err error, limit time.Duration) *tool.Error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL, which is said here
	}
	var done *tool.Error
	if errors.As(err, &done) {
		done.Op = e.op
		return done
	}
	at := r.URL.Host
	out := &tool.Error{Op: e.op, Kind: tool.Failed, Err: err}
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(context.Cause(r.Context()), errStill):
		out.Kind, out.Message, out.Hint, out.Err = tool.Timeout, fmt.Sprintf("nothing came from or went to %s for %v", at, limit), "try again, or raise timeout_seconds", nil
	case errors.Is(err, context.Canceled):
		out.Kind, out.Message, out.Err = tool.Cancelled, "the call was cancelled", nil
	case errors.Is(err, context.DeadlineExceeded):
		out.Kind, out.Message, out.Hint, out.Err = tool.Timeout, fmt.Sprintf("%s did not answer within %v", at, limit), "raise timeout_seconds, or ask for less", nil
	case errors.Is(err, syscall.ECONNREFUSED):
		out.Message, out.Hint = at+" refused the connection", "nothing listens there: check the port, and that the server runs"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		out.Message, out.Hint = at+" cannot be reached from this machine", "check the address, and that there is a network"
	case errors.As(err, &cert):
		out.Message, out.Hint = "the certificate of "+at+" cannot be trusted", certificateHint(err)
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		out.Message, out.Hint = at+" does not speak TLS there", "if it is meant to be reached in the open, use http://"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		out.Message, out.Hint = at+" ended the connection before the answer was whole", "try again"
	default:
		out.Message, out.Hint = "there is no answer from "+at, "check the address, and try again"
	}
	if changes(r.Method) {
		out.Hint = strings.TrimPrefix(out.Hint+"; the server may have carried it out: look before you repeat it", "; ")
	}
	return out
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
		return "it is signed by nobody this machine trusts; the machine's own list of authorities may be extended by its owner"
	}
}

// changes reports whether a method may change something.
func changes(method string) bool {
	return method != nethttp.MethodGet && method != nethttp.MethodHead && method != nethttp.MethodOptions
}

// statusError is a status of 400 or more as an error, with what to do about it.
func (e httpCall) statusError(p *response) *tool.Error {
	host := p.URL
	if u, err := url.Parse(p.URL); err == nil {
		host = u.Host
	}
	out := tool.Errorf(e.op, tool.Failed, "%s answered %d %s", tool.Truncate(host), p.Status, p.StatusText)
	return out.WithHint("%s", e.statusHint(p, host))
}

func (e httpCall) statusHint(p *response, host string) string {
	later := "try again later"
	if after := p.header.Get("Retry-After"); after != "" {
		later = "try again after " + retryAfter(after)
	}
	switch {
	case p.Status == nethttp.StatusUnauthorized:
		return e.credentialHint(host)
	case p.Status == nethttp.StatusForbidden:
		return "the server understood and refuses: the credential may not reach this, or the server turns programs away"
	case p.Status == nethttp.StatusNotFound, p.Status == nethttp.StatusGone:
		return "nothing is there: check the path and the query"
	case p.Status == nethttp.StatusMethodNotAllowed:
		if allow := p.header.Get("Allow"); allow != "" {
			return "use one of " + tool.Truncate(allow)
		}
		return "use another method"
	case p.Status == nethttp.StatusNotAcceptable, p.Status == nethttp.StatusUnsupportedMediaType:
		return "check the headers accept and content-type"
	case p.Status == nethttp.StatusConflict, p.Status == nethttp.StatusPreconditionFailed:
		return "it was changed by somebody else: read it again and repeat the change"
	case p.Status == nethttp.StatusRequestEntityTooLarge:
		return "send less at a time"
	case p.Status == nethttp.StatusTooManyRequests:
		return "too many requests: " + later
	case p.Status >= 500:
		return "the server failed: " + later
	default:
		return "the body says what the server did not like"
	}
}

// credentialHint says how a credential would reach the host.
func (e httpCall) credentialHint(host string) string {
	settings := "tools.modules." + Namespace
	switch {
	case e.grant.Credential != "" && len(e.settings.CredentialHosts) == 0:
		return fmt.Sprintf("the app file names a credential, but no host to send it to: %s.config.credential_hosts", settings)
	case e.grant.Credential != "" && e.settings.credential.Has(&url.URL{Scheme: "https", Host: host}):
		return "the credential of the app file was not accepted, or was lost by a redirect"
	default:
		return fmt.Sprintf("it needs a credential: the app file may give one (%s.credential and config.credential_hosts, or config.headers)", settings)
	}
}

// retryAfter writes the header for people: it holds seconds, or a date.
func retryAfter(value string) string {
	if strings.Trim(value, "0123456789") == "" {
		return tool.Truncate(value) + " seconds"
	}
	return tool.Truncate(value)
}
