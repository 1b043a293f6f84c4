package page

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/chromedp/cdproto"

	"callgate/internal/module/browser/devtools"
	"callgate/tool"
)

// Explain puts into words why something could not be done with the tab.
func (t *Tab) Explain(err error) error {
	var done *tool.Error
	var protocol *cdproto.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &done):
		return done
	case errors.Is(err, devtools.ErrClosed):
		select {
		case <-t.profile.Gone():
			return tool.Errorf(op, tool.Unavailable, "the browser ended unexpectedly, with all its tabs").WithHint("open the page again: a new browser is started")
		default:
			return tool.Errorf(op, tool.Failed, "the tab %s was closed", t.ID).WithHint("web.browse.tabs lists those that are open")
		}
	case t.Crashed(), errors.Is(err, devtools.ErrCrashed):
		return t.crash()
	case errors.Is(err, context.Canceled):
		return tool.Errorf(op, tool.Cancelled, "the call was cancelled")
	case errors.Is(err, context.DeadlineExceeded):
		if !t.answersWithin(context.Background(), time.Second) {
			return t.hang()
		}
		return tool.Errorf(op, tool.Timeout, "the page took too long").
			WithHint("look at what is there with web.browse.read, or try again; the app file sets the time: tools.modules.web.browse.config.timeout_seconds")
	case errors.As(err, &protocol):
		return tool.Errorf(op, tool.Failed, "the browser refused: %s", protocol.Message).WithHint("read the page again and try anew")
	default:
		return &tool.Error{Op: op, Kind: tool.Failed, Message: "the browser could not do it", Err: err}
	}
}

func (t *Tab) crash() error {
	return tool.Errorf(op, tool.Failed, "the page in tab %s crashed; the tab cannot be used any more", t.ID).
		WithHint("close it with web.browse.close and open the page in a new tab; the other tabs live on")
}

func (t *Tab) hang() error {
	return tool.Errorf(op, tool.Failed, "the page in tab %s does not answer: a script of it may run without end", t.ID).
		WithHint("close the tab with web.browse.close and go on in another; the other tabs live on")
}

// netError puts into words why an address could not be loaded. An empty text
// means that only the address is known.
func (t *Tab) netError(ctx context.Context, text, address string) error {
	t.mu.Lock()
	refused := t.refused
	t.refused = nil
	t.mu.Unlock()
	at, bad := origin(address)
	if bad != nil {
		return bad
	}
	if refused != nil && (text == "" || text == "net::ERR_BLOCKED_BY_CLIENT") {
		return refused
	}
	if err := t.profile.options.Guard.Refused(at); err != nil && (text == "" || proxied(text)) {
		return err
	}
	if text == "" || proxied(text) {
		return t.unreachable(ctx, at)
	}
	code := strings.TrimPrefix(text, "net::ERR_")
	kind, what, hint := netWords(code)
	return tool.Errorf(op, kind, "%s could not be opened: %s (%s)", tool.Truncate(address), what, code).WithHint("%s", hint)
}

// proxied reports an error that is the proxy's, not the server's.
func proxied(text string) bool {
	return strings.Contains(text, "TUNNEL_CONNECTION_FAILED") || strings.Contains(text, "PROXY") || strings.Contains(text, "EMPTY_RESPONSE")
}

// netWords translates Chromium's names of network errors.
func netWords(code string) (kind tool.Kind, what, hint string) {
	const again = "try again, or another address"
	switch {
	case code == "ABORTED":
		return tool.Failed, "the server sent no page, or the page stopped loading", "read what is there with web.browse.read"
	case strings.HasPrefix(code, "CERT_") || strings.HasPrefix(code, "SSL_") || strings.HasPrefix(code, "BAD_SSL"):
		return tool.Failed, "its certificate cannot be trusted, or its encryption is broken: " + strings.ToLower(strings.ReplaceAll(code, "_", " ")), "check the host name; nothing here opens a site whose certificate is wrong"
	case code == "NAME_NOT_RESOLVED":
		return tool.NotFound, "there is no such host", "check the spelling of the address"
	case code == "CONNECTION_REFUSED":
		return tool.Failed, "nothing listens there", "check the port, and that the server runs"
	case strings.HasPrefix(code, "CONNECTION_"), code == "SOCKET_NOT_CONNECTED", code == "EMPTY_RESPONSE", code == "NETWORK_CHANGED":
		return tool.Failed, "the connection broke", again
	case strings.Contains(code, "TIMED_OUT"):
		return tool.Timeout, "the server did not answer in time", again
	case code == "TOO_MANY_REDIRECTS":
		return tool.Failed, "it redirects in a circle", "the site may want a login or cookies; begin at its front page"
	case code == "BLOCKED_BY_CLIENT", code == "BLOCKED_BY_ADMINISTRATOR", code == "UNSAFE_PORT":
		return tool.Denied, "it may not be opened", "use another address"
	case code == "INVALID_URL", code == "UNKNOWN_URL_SCHEME", code == "DISALLOWED_URL_SCHEME":
		return tool.Invalid, "it is not an address that can be opened", "give an http or https address"
	case strings.HasPrefix(code, "BLOCKED_BY"):
		return tool.Denied, "the site forbids that it be shown this way", "open the address by itself"
	default:
		return tool.Failed, "it did not load", again
	}
}

// unreachable says why the proxy could not connect: it tells a browser only
// that it did not.
func (t *Tab) unreachable(ctx context.Context, at *url.URL) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	port := at.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[at.Scheme]
	}
	if port == "" {
		port = "80"
	}
	err := t.profile.options.Guard.Probe(ctx, net.JoinHostPort(at.Hostname(), port))
	var own *tool.Error
	var dns *net.DNSError
	host := tool.Truncate(at.Host)
	switch {
	case errors.As(err, &own) && (own.Kind == tool.Denied || own.Kind == tool.Invalid):
		return own
	case errors.As(err, &dns) && dns.IsNotFound:
		return tool.Errorf(op, tool.NotFound, "there is no host %s", host).WithHint("check the spelling of the address")
	case errors.As(err, &dns):
		return tool.Errorf(op, tool.Failed, "the name %s could not be looked up: %w", host, err).WithHint("the network may be down: try again")
	case errors.Is(err, syscall.ECONNREFUSED):
		return tool.Errorf(op, tool.Failed, "nothing listens at %s", host).WithHint("check the port, and that the server runs")
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return tool.Errorf(op, tool.Timeout, "%s does not answer", host).WithHint("try again later")
	case err != nil:
		return &tool.Error{Op: op, Kind: tool.Failed, Message: host + " cannot be reached", Hint: "check the address, or try again later", Err: err}
	default:
		return tool.Errorf(op, tool.Failed, "the connection to %s broke", host).WithHint("try again")
	}
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}
