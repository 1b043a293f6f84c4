package page

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	cdpnetwork "github.com/chromedp/cdproto/network"

	"callgate/internal/module/browser/devtools"
	"callgate/tool"
)

// network is a tab's way to the network: it asks the guard, and the rules of the last
// call that used the tab, before a document is requested, and says why an address could
// not be loaded.
type network struct {
	guard Guard
	main  cdp.FrameID // of the tab

	mu      sync.Mutex
	refused error // why the last document that was refused was
	judge   Judge // nil: only the guard decides
	opened  string
}

// Judge says whether the tab may go to another address than a call named.
type Judge func(address string) error

// setJudge sets who decides where the tab goes from now on.
func (n *network) setJudge(j Judge) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.judge = j
}

// open notes the address that a call names: it was judged with the call.
func (n *network) open(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opened = address
}

// mayGo asks the judge about a document that is requested for the tab itself. What frames
// show is the page's business, and the guard's.
func (n *network) mayGo(frame cdp.FrameID, address string) error {
	n.mu.Lock()
	judge, opened := n.judge, n.opened
	if frame == n.main {
		n.opened = ""
	}
	n.mu.Unlock()
	u, err := parseOrigin(address)
	if judge == nil || frame != n.main || err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	if before, _, _ := strings.Cut(opened, "#"); before != "" && before == address {
		return nil
	}
	return judge(address)
}

// check asks the guard about an address.
func (n *network) check(address string) error {
	u, err := parseOrigin(address)
	if err != nil {
		return err
	}
	if u.Scheme == "about" || u.Scheme == "blob" || u.Scheme == "data" {
		return nil // reaches nothing; the browser decides whether it may be shown in a tab
	}
	return n.guard.Check(u)
}

// decide lets a document be requested, or refuses it. The proxy checks every
// connection again; a refusal here has a reason that can be reported.
func (n *network) decide(s *devtools.Session, e *fetch.EventRequestPaused) {
	err := n.check(e.Request.URL)
	if err == nil {
		err = n.mayGo(e.FrameID, e.Request.URL)
	}
	if err != nil {
		n.mu.Lock()
		n.refused = err
		n.mu.Unlock()
		devtools.Start(s, fetch.FailRequest,
			fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: cdpnetwork.ErrorReasonBlockedByClient})
		return
	}
	devtools.Start(s, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
}

// authenticate gives the guard's own proxy its password, and no other server any.
func (n *network) authenticate(s *devtools.Session, e *fetch.EventAuthRequired) {
	answer := &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}
	c := e.AuthChallenge
	if c.Source == fetch.AuthChallengeSourceProxy && c.Origin == "http://"+n.guard.Addr() {
		answer.Response = fetch.AuthChallengeResponseResponseProvideCredentials
		answer.Username, answer.Password = n.guard.Credential()
	}
	devtools.Start(s, fetch.ContinueWithAuth,
		fetch.ContinueWithAuthParams{RequestID: e.RequestID, AuthChallengeResponse: answer})
}

// takeRefusal returns why the guard refused a document, and forgets it.
func (n *network) takeRefusal() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	err := n.refused
	n.refused = nil
	return err
}

// loadError says why an address could not be loaded. Without Chromium's code only the
// address is known.
func (n *network) loadError(ctx context.Context, code, address string) error {
	refused := n.takeRefusal()
	at, err := parseOrigin(address)
	if err != nil {
		return err
	}
	if refused != nil && (code == "" || code == "net::ERR_BLOCKED_BY_CLIENT") {
		return refused
	}
	if code == "" || isProxyError(code) {
		if err := n.guard.Refused(at); err != nil {
			return err
		}
		return n.unreachable(ctx, at)
	}
	code = strings.TrimPrefix(code, "net::ERR_")
	kind, what, hint := describeCode(code)
	return tool.Errorf(op, kind, "%s could not be opened: %s (%s)", tool.Truncate(address), what, code).
		WithHint("%s", hint)
}

// unreached is what the guard's proxy answers in place of a server that it could not
// reach.
const unreached = "the connection could not be made"

// proxyError says why the guard's proxy answered in place of a server, or nil if the
// answer is not the proxy's.
func (n *network) proxyError(ctx context.Context, address string, status int, text string) error {
	u, err := parseOrigin(address)
	switch {
	case err != nil:
		return nil
	case status == 403:
		return n.guard.Refused(u)
	case (status == 502 || status == 504) && text == unreached:
		return n.unreachable(ctx, u)
	}
	return nil
}

// unreachable says why the proxy could not connect. A browser learns from it only
// that it could not, so the connection is tried again.
func (n *network) unreachable(ctx context.Context, at *url.URL) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	port := at.Port()
	switch {
	case port == "" && at.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	err := n.guard.Probe(ctx, net.JoinHostPort(at.Hostname(), port))
	var own *tool.Error
	var dns *net.DNSError
	var network net.Error
	host := tool.Truncate(at.Host)
	switch {
	case errors.As(err, &own) && (own.Kind == tool.Denied || own.Kind == tool.Invalid):
		return own
	case errors.As(err, &dns) && dns.IsNotFound:
		return tool.Errorf(op, tool.NotFound, "there is no host %s", host).WithHint("check the spelling of the address")
	case errors.As(err, &dns):
		return tool.Errorf(op, tool.Failed, "the name %s could not be looked up: %w", host, err).
			WithHint("the network may be down: try again")
	case errors.Is(err, syscall.ECONNREFUSED):
		return tool.Errorf(op, tool.Failed, "nothing listens at %s", host).
			WithHint("check the port, and that the server runs")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return tool.Errorf(op, tool.Timeout, "%s does not answer", host).WithHint("try again later")
	case err != nil:
		return &tool.Error{
			Op: op, Kind: tool.Failed, Message: host + " cannot be reached", Err: err,
			Hint: "check the address, or try again later",
		}
	default:
		return tool.Errorf(op, tool.Failed, "the connection to %s broke", host).WithHint("try again")
	}
}
