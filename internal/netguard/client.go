package netguard

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"callgate/internal/weburl"
	"callgate/tool"
)

// Transport returns a transport whose connections the guard makes. It ignores
// proxies of the environment, which would connect in the guard's place. It does
// not decompress bodies: a caller that does must bound what comes out.
func (g *Guard) Transport() *http.Transport {
	return &http.Transport{
		DialContext:            g.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  0, // the call's own time limit bounds it
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// Client returns a client with a transport of its own. Every request and every
// redirect is checked. A redirect to another host carries no header that could
// be a secret, and only GET and HEAD follow it; a redirect from https to http is
// refused unless the rules allow it. With maxRedirects of 0, the redirect itself
// is the response.
func (g *Guard) Client(maxRedirects int) *http.Client {
	return &http.Client{
		Transport:     checkedTransport{g, g.Transport()},
		CheckRedirect: g.Redirects(maxRedirects),
	}
}

// checkedTransport checks each request before it is sent.
type checkedTransport struct {
	guard     *Guard
	transport *http.Transport
}

// RoundTrip sends the request if its URL may be reached.
func (c checkedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := c.guard.Check(r.URL); err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	return c.transport.RoundTrip(r)
}

// CloseIdleConnections closes the connections that are not in use.
func (c checkedTransport) CloseIdleConnections() { c.transport.CloseIdleConnections() }

// Redirects returns the redirect policy of [Guard.Client] with another limit,
// for a client over the same connections.
func (g *Guard) Redirects(limit int) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		if limit <= 0 {
			return http.ErrUseLastResponse
		}
		last := via[len(via)-1].URL
		if len(via) > limit {
			return tool.Errorf(op, tool.Failed, "%d redirects were followed, and %s leads on to %s",
				limit, shown(last), shown(r.URL)).
				WithHint("ask for the address you want directly; the redirects may go in a circle")
		}
		if err := g.Check(r.URL); err != nil {
			return redirected(last, err)
		}
		if g.stay {
			if err := stays(last, r.URL); err != nil {
				return err
			}
		}
		if last.Scheme == "https" && r.URL.Scheme == "http" && !g.downgrade {
			return refuse("%s redirects to %s, from https to plain http", shown(last), shown(r.URL)).
				WithHint("ask for the http address yourself if it may travel in the open")
		}
		// A request that has left its host gets no secrets back, even if a later
		// redirect leads back to the host.
		first := via[0].URL
		left := func(u *url.URL) bool { return !sameHost(first, u) }
		if !left(r.URL) && !slices.ContainsFunc(via, func(v *http.Request) bool { return left(v.URL) }) {
			return nil
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return refuse("%s redirects the %s to %s, another host", shown(last), r.Method, shown(r.URL)).
				WithHint("nothing was sent there; send it to that address yourself if it is the right one")
		}
		for name := range r.Header {
			if !slices.Contains(harmlessHeaders, name) {
				delete(r.Header, name) // not Del: the name need not be canonical
			}
		}
		return nil
	}
}

// stays returns an error for a redirect to another destination.
func stays(from, to *url.URL) error {
	a, err := weburl.Parse(from.String())
	if err != nil {
		return invalid("%q is not an address: %v", shown(from), err)
	}
	b, err := weburl.Parse(to.String())
	if err != nil {
		return invalid("%s redirects to %q, which is not an address: %v", shown(from), shown(to), err)
	}
	if a.Covers(b) {
		return nil
	}
	return refuse("%s redirects to %s, another destination than the one that was asked for", shown(from), shown(to)).
		WithHint("nothing was sent there; if that is the new address, name it in the place of the old one")
}

// harmlessHeaders lists the headers that a redirect carries to another host. It
// lists what may stay, not what must go: nobody knows every name of a secret.
var harmlessHeaders = []string{
	"Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Range",
	"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "User-Agent",
}

// redirected adds to a refusal that a redirect led to it.
func redirected(from *url.URL, err error) error {
	e, ok := err.(*tool.Error)
	if !ok {
		return err
	}
	e.Message = shown(from) + " redirects to where it may not be followed: " + e.Message
	return e
}

// shown writes a URL without the parts that may hold secrets.
func shown(u *url.URL) string {
	return tool.Truncate((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
}

// sameHost reports whether a redirect from a to b stays on one server. A change
// from http to https on the usual ports stays.
func sameHost(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	if a.Scheme == b.Scheme {
		return portOf(a) == portOf(b)
	}
	return a.Scheme == "http" && b.Scheme == "https" && portOf(a) == "80" && portOf(b) == "443"
}

func portOf(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https", u.Scheme == "wss":
		return "443"
	default:
		return "80"
	}
}
