package page

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/fetch"
	cdpnetwork "github.com/chromedp/cdproto/network"

	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/devtools/devtoolstest"
	"callgate/tool"
)

// fakeGuard denies the host denied.test.
type fakeGuard struct {
	refused map[string]error // by host
	probe   error
}

func (g *fakeGuard) Check(u *url.URL) error {
	if u.Hostname() == "denied.test" || u.Scheme != "http" && u.Scheme != "https" {
		return tool.Errorf("guard", tool.Denied, "%s is not allowed", u.Host)
	}
	return nil
}

func (g *fakeGuard) Addr() string                        { return "127.0.0.1:1" }
func (g *fakeGuard) Credential() (user, password string) { return "user", "password" }
func (g *fakeGuard) Refused(u *url.URL) error            { return g.refused[u.Hostname()] }
func (g *fakeGuard) Probe(_ context.Context, hostport string) error {
	if g.probe == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", hostport, g.probe)
}

func TestLoadError(t *testing.T) {
	dns := func(missing bool) error { return &net.DNSError{Err: "x", IsNotFound: missing, IsTemporary: !missing} }
	denied := tool.Errorf("guard", tool.Denied, "a private address")
	refusing := fakeGuard{refused: map[string]error{"x.test": denied}}
	const tunnel, noAnswer = "net::ERR_TUNNEL_CONNECTION_FAILED", "net::ERR_EMPTY_RESPONSE"
	for name, c := range map[string]struct {
		guard   fakeGuard
		refused error // by the guard, before the request
		code    string
		kind    tool.Kind
		word    string
	}{
		"a code":                      {fakeGuard{}, nil, "net::ERR_NAME_NOT_RESOLVED", tool.NotFound, "no such host"},
		"a certificate":               {fakeGuard{}, nil, "net::ERR_CERT_DATE_INVALID", tool.Failed, "cert date invalid"},
		"refused before the request":  {fakeGuard{}, denied, "net::ERR_BLOCKED_BY_CLIENT", tool.Denied, "a private address"},
		"refused, by the address":     {fakeGuard{}, denied, "", tool.Denied, "a private address"},
		"refused, but another error":  {fakeGuard{}, denied, "net::ERR_TIMED_OUT", tool.Timeout, "in time"},
		"refused by the proxy":        {refusing, nil, tunnel, tool.Denied, "a private address"},
		"no host":                     {fakeGuard{probe: dns(true)}, nil, tunnel, tool.NotFound, "no host x.test"},
		"no name server":              {fakeGuard{probe: dns(false)}, nil, "net::ERR_PROXY_CONNECTION_FAILED", tool.Failed, "looked up"},
		"nothing listens":             {fakeGuard{probe: syscall.ECONNREFUSED}, nil, noAnswer, tool.Failed, "nothing listens at x.test:81"},
		"no answer":                   {fakeGuard{probe: context.DeadlineExceeded}, nil, "", tool.Timeout, "does not answer"},
		"denied only when connecting": {fakeGuard{probe: denied}, nil, "", tool.Denied, "a private address"},
		"something else":              {fakeGuard{probe: errors.New("odd")}, nil, "", tool.Failed, "cannot be reached"},
		"it works when tried again":   {fakeGuard{}, nil, "", tool.Failed, "broke"},
	} {
		t.Run(name, func(t *testing.T) {
			n := &network{guard: &c.guard, refused: c.refused}
			err := n.loadError(t.Context(), c.code, "http://x.test:81/page")
			if tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.word) {
				t.Errorf("explained as %v (%s), want %s with %q", err, tool.KindOf(err), c.kind, c.word)
			}
			if n.takeRefusal() != nil {
				t.Error("the refusal is kept for the next navigation")
			}
		})
	}
}

func TestProxyError(t *testing.T) {
	denied := tool.Errorf("guard", tool.Denied, "a private address")
	n := &network{guard: &fakeGuard{refused: map[string]error{"x.test": denied}, probe: syscall.ECONNREFUSED}}
	for name, c := range map[string]struct {
		address string
		status  int
		text    string
		word    string
	}{
		"a page":                   {"http://x.test/", 200, "hello", ""},
		"refused by the proxy":     {"http://x.test/", 403, "", "a private address"},
		"refused by the server":    {"http://y.test/", 403, "", ""},
		"unreached":                {"http://y.test/", 502, unreached, "nothing listens"},
		"unreached in time":        {"http://y.test/", 504, unreached, "nothing listens"},
		"an error of the server":   {"http://y.test/", 502, "bad gateway", ""},
		"an address nobody parses": {"http://[", 403, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := n.proxyError(t.Context(), c.address, c.status, c.text)
			if (err == nil) != (c.word == "") || err != nil && !strings.Contains(err.Error(), c.word) {
				t.Errorf("explained as %v, want %q", err, c.word)
			}
		})
	}
}

// What the guard refuses is refused in the browser, and only its own proxy gets its
// password.
func TestRequestsAndPasswords(t *testing.T) {
	var mu sync.Mutex
	var commands []string
	conn := devtools.Open(devtoolstest.New(func(m *cdproto.Message) []*cdproto.Message {
		mu.Lock()
		defer mu.Unlock()
		commands = append(commands, string(m.Method)+" "+string(m.Params))
		return nil
	}))
	defer conn.Close()
	last := func() string {
		mu.Lock()
		defer mu.Unlock()
		return commands[len(commands)-1]
	}
	n := &network{guard: &fakeGuard{}}
	for address, want := range map[string]string{
		"http://fine.test/": "continueRequest", "http://denied.test/": "failRequest", "about:blank": "continueRequest",
		"data:text/html,x": "continueRequest", "http://[": "failRequest", "file:///etc/passwd": "failRequest",
	} {
		n.decide(conn.Browser(), &fetch.EventRequestPaused{RequestID: "r", Request: &cdpnetwork.Request{URL: address}})
		if got := last(); !strings.Contains(got, want) || (n.takeRefusal() != nil) != (want == "failRequest") {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	for name, c := range map[string]struct {
		source fetch.AuthChallengeSource
		origin string
		want   bool
	}{
		"our proxy":      {fetch.AuthChallengeSourceProxy, "http://127.0.0.1:1", true},
		"another proxy":  {fetch.AuthChallengeSourceProxy, "http://127.0.0.1:2", false},
		"a server":       {fetch.AuthChallengeSourceServer, "http://127.0.0.1:1", false},
		"a server there": {fetch.AuthChallengeSourceServer, "http://x.test", false},
	} {
		n.authenticate(conn.Browser(), &fetch.EventAuthRequired{
			RequestID: "r", AuthChallenge: &fetch.AuthChallenge{Source: c.source, Origin: c.origin},
		})
		if got := last(); strings.Contains(got, "password") != c.want {
			t.Errorf("%s was answered %s", name, got)
		}
	}
}
