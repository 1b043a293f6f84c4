package http

import (
	"context"
	"fmt"
	nethttp "net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"callgate/internal/module/fetch"
	"callgate/tool"
)

// failure adds to [fetch.Call.Failure] what to do next in this module. A request
// that may change something and may have been sent is in doubt, unless the asker
// gave it up, or the answer was refused here.
func (c httpCall) failure(r *nethttp.Request, err error, limit time.Duration) *tool.Error {
	out := c.Failure(r.Context(), r.URL.Host, err, limit)
	if out.Kind == tool.Timeout {
		out.Hint = "raise timeout_seconds, or ask for less"
	}
	if !changes(r.Method) || !c.sent.Load() {
		return out
	}
	out.Hint = strings.TrimPrefix(out.Hint+"; the server may have carried it out: look before you repeat it", "; ")
	if out.Kind == tool.Timeout || out.Kind == tool.Failed {
		out.Kind = tool.InDoubt
	}
	return out
}

// withTrace notes in c.sent when a request is about to be sent.
func (c httpCall) withTrace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { c.sent.Store(true) },
	})
}

// changes reports whether a method may change something.
func changes(method string) bool {
	return method != nethttp.MethodGet && method != nethttp.MethodHead && method != nethttp.MethodOptions
}

// statusError makes an error of a status of 400 or more.
func (c httpCall) statusError(resp *response) *tool.Error {
	host := resp.URL
	if u, err := url.Parse(resp.URL); err == nil {
		host = u.Host
	}
	out := tool.Errorf(c.Op, tool.Failed, "%s answered %d %s", tool.Truncate(host), resp.Status, resp.StatusText)
	return out.WithHint("%s", c.statusHint(resp, host))
}

func (c httpCall) statusHint(resp *response, host string) string {
	switch status := resp.Status; {
	case status == nethttp.StatusUnauthorized:
		return c.credentialHint(host)
	case status == nethttp.StatusForbidden:
		return "the server understood and refuses: the credential may not reach this, or the server turns programs away"
	case status == nethttp.StatusNotFound, status == nethttp.StatusGone:
		return "nothing is there: check the path and the query"
	case status == nethttp.StatusMethodNotAllowed:
		if allow := resp.header.Get("Allow"); allow != "" {
			return "use one of " + tool.Truncate(allow)
		}
		return "use another method"
	case status == nethttp.StatusNotAcceptable, status == nethttp.StatusUnsupportedMediaType:
		return "check the headers accept and content-type"
	case status == nethttp.StatusConflict, status == nethttp.StatusPreconditionFailed:
		return "it was changed by somebody else: read it again and repeat the change"
	case status == nethttp.StatusRequestEntityTooLarge:
		return "send less at a time"
	case status == nethttp.StatusTooManyRequests:
		return "too many requests: " + fetch.RetryAfter(resp.header)
	case status >= 500:
		return "the server failed: " + fetch.RetryAfter(resp.header)
	default:
		return "the body says what the server did not like"
	}
}

// credentialHint says how a credential would reach the host.
func (c httpCall) credentialHint(host string) string {
	switch {
	case c.Grant.Credential != "" && len(c.settings.CredentialHosts) == 0:
		return fmt.Sprintf("the app file names a credential, but no host to send it to: %s",
			c.settings.Key("config.credential_hosts"))
	case c.Grant.Credential != "" && c.settings.credential.Has(&url.URL{Scheme: "https", Host: host}):
		return "the credential of the app file was not accepted, or was lost by a redirect"
	default:
		return fmt.Sprintf("it needs a credential: the app file may give one "+
			"(%s and config.credential_hosts, or config.headers)", c.settings.Key("credential"))
	}
}
