package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"callgate/tool"
)

// errStill ends a transfer in which nothing moved for too long.
var errStill = errors.New("nothing moved for too long")

// fail says why there was no answer, and what to do next.
func (e httpCall) fail(r *http.Request, err error) *tool.Error {
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
		out.Kind, out.Message, out.Hint, out.Err = tool.Timeout, fmt.Sprintf("nothing came from %s for %v seconds", at, e.settings.Timeout), "try again", nil
	case errors.Is(err, context.Canceled):
		out.Kind, out.Message, out.Err = tool.Cancelled, "the call was cancelled", nil
	case errors.Is(err, errBusy):
		out.Kind, out.Message, out.Hint, out.Err = tool.Busy, at+" was busy with other requests of yours for too long", "ask for fewer pages of one host at a time", nil
	case errors.Is(err, context.DeadlineExceeded):
		out.Kind, out.Message, out.Hint, out.Err = tool.Timeout, fmt.Sprintf("%s did not answer within %v seconds", at, e.settings.Timeout), "try again, or look for the same elsewhere", nil
	case errors.Is(err, syscall.ECONNREFUSED):
		out.Message, out.Hint = at+" refused the connection", "nothing listens there: check the address"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		out.Message, out.Hint = at+" cannot be reached from this machine", "check the address, and that there is a network"
	case errors.As(err, &cert):
		out.Message, out.Hint = "the certificate of "+at+" cannot be trusted", "check the name of the host"
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		out.Message, out.Hint = at+" does not speak TLS there", "if it is meant to be reached in the open, use http://"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		out.Message, out.Hint = at+" ended the connection before the answer was whole", "try again"
	default:
		out.Message, out.Hint = "there is no answer from "+at, "check the address, and try again"
	}
	return out
}
