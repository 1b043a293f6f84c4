// Package remote reaches MCP servers over HTTP, with an HTTP client that speaks
// to one origin only.
//
// # Law
//
// Headers and tokens go only to the server for which they were given: a
// redirect to another origin, or a server that names another origin to post to,
// is refused. Answers are bounded, and a server that sends events without end is slowed
// down. A server that wants a login is given the
// token; when it refuses that, the token is renewed once; after that the error
// says what to do.
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"callgate/internal/observe"
	"callgate/internal/source/mcp/sdkerror"
	"callgate/internal/source/mcp/throttle"
	"callgate/tool"
)

// MaxBody bounds an answer, and each event of a stream.
const MaxBody = 64 << 20

const op = "mcp.http"

// ErrSessionGone is the error of a request that a server did not take, because
// it no longer has the session: it was restarted, or the session timed out. The
// protocol's answer for it is 404. The SDK would report this answer as the end
// of every request on the connection, also of those that the server has taken.
var ErrSessionGone = errors.New("the server no longer has the session")

// ErrGateway is the error of a request that somebody in the middle passed on, and
// to which no answer came back: the server may have carried it out.
var ErrGateway = errors.New("the server behind the gateway did not answer")

// lostBehind reports whether an answer is that of a gateway which has none.
func lostBehind(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusGatewayTimeout
}

// sessionHeader names the session in requests.
const sessionHeader = "Mcp-Session-Id"

// Login has the token of one server. Both methods return "" when there is no
// token.
type Login interface {
	Token(ctx context.Context) (string, error)
	Renew(ctx context.Context, refused string) (string, error)
}

// Config is one server.
type Config struct {
	Server  string // its name, for errors
	URL     *url.URL
	Headers map[string]string
	Login   Login // optional
	Base    http.RoundTripper
	Plain   bool            // a refusal is returned as an answer, not as an error
	Meter   *throttle.Meter // slows down a server that sends without end; optional
}

// Transport carries requests to one server.
type Transport struct {
	Config
	posted atomic.Int64 // the status of the last answer to a POST
	asked  throttle.Asked
}

// Dialer is a transport for many servers, with bounds on how long connecting
// may take. Answers may take as long as their requests' contexts allow.
func Dialer() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// Client is an HTTP client over the transport.
func (t *Transport) Client() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: t.redirect}
}

// LastPostStatus is the status of the last answer to a POST, or 0.
func (t *Transport) LastPostStatus() int { return int(t.posted.Load()) }

func (t *Transport) redirect(req *http.Request, via []*http.Request) error {
	const most = 5
	switch {
	case !t.same(req.URL):
		return tool.Errorf(op, tool.Denied, "the MCP server %s redirects to %s, which is refused",
			t.Server, origin(req.URL)).WithHint("if that is its new address, change its url")
	case req.Method != via[0].Method:
		return tool.Errorf(op, tool.Unavailable, "the MCP server %s redirects in a way that loses the request", t.Server).
			WithHint("change its url to %s%s", origin(req.URL), req.URL.Path)
	case len(via) >= most:
		return tool.Errorf(op, tool.Unavailable, "the MCP server %s redirects without end", t.Server)
	}
	return nil
}

func (t *Transport) same(u *url.URL) bool { return origin(u) == origin(t.URL) }

// origin is the scheme, host and port of a URL.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// RoundTrip sends a request with the server's headers and token.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !t.same(req.URL) {
		closeBody(req)
		return nil, tool.Errorf(op, tool.Denied, "the MCP server %s names %s to send to, which is refused",
			t.Server, origin(req.URL)).WithHint("messages go only to the host of its url")
	}
	if req.Method == http.MethodPost {
		t.asked.Add()
	}
	token := ""
	if t.Login != nil {
		var err error
		if token, err = t.Login.Token(req.Context()); err != nil {
			closeBody(req)
			return nil, err
		}
	}
	resp, err := t.send(req, token)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized && token != "" && (req.Body == nil || req.GetBody != nil) {
		if fresh, err := t.Login.Renew(req.Context(), token); err == nil && fresh != "" {
			drain(resp)
			if resp, err = t.send(rewound(req), fresh); err != nil {
				return nil, err
			}
		}
	}
	if req.Method == http.MethodPost {
		t.posted.Store(int64(resp.StatusCode))
		if resp.StatusCode == http.StatusNotFound && req.Header.Get(sessionHeader) != "" {
			drain(resp)
			return nil, ErrSessionGone
		}
		if lostBehind(resp.StatusCode) {
			drain(resp)
			return nil, fmt.Errorf("%s: %w", resp.Status, ErrGateway)
		}
	}
	if err := t.refusal(resp, token); err != nil && !t.Plain {
		drain(resp)
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case kind != "text/event-stream":
		resp.Body = &limitedBody{resp.Body, MaxBody}
	case t.Meter != nil:
		resp.Body = throttle.NewEvents(req.Context(), resp.Body, t.Meter, &t.asked)
	}
	return resp, nil
}

func (t *Transport) send(req *http.Request, token string) (*http.Response, error) {
	req = req.Clone(req.Context())
	if place := observe.Traceparent(req.Context()); place != "" {
		req.Header.Set("Traceparent", place)
	}
	for name, value := range t.Headers {
		req.Header.Set(name, value)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := t.Base.RoundTrip(req)
	var failed *net.OpError
	if errors.As(err, &failed) && failed.Op == "dial" { // nobody was reached
		err = fmt.Errorf("%w: %w", sdkerror.ErrNotSent, err)
	}
	return resp, err
}

// rewound returns a copy of a request whose body is read from its start.
func rewound(req *http.Request) *http.Request {
	next := req.Clone(req.Context())
	if req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			next.Body = body
		}
	}
	return next
}

// refusal is the error for a server that refuses the request for want of a
// valid login; it says what to do.
func (t *Transport) refusal(resp *http.Response, token string) error {
	login := fmt.Sprintf("run: callgate mcp login %s", t.Server)
	switch {
	case resp.StatusCode == http.StatusUnauthorized && t.hasAuthorization():
		return tool.Errorf(op, tool.Denied, "the MCP server %s refuses the Authorization header it was given", t.Server).
			WithHint("correct it in the server's headers")
	case resp.StatusCode == http.StatusUnauthorized && token != "":
		return tool.Errorf(op, tool.Denied, "the login to the MCP server %s is no longer valid", t.Server).
			WithHint("%s", login)
	case resp.StatusCode == http.StatusUnauthorized:
		return tool.Errorf(op, tool.Denied, "the MCP server %s needs a login, and there is none", t.Server).
			WithHint("%s", login)
	case resp.StatusCode == http.StatusForbidden:
		if scope, ok := missingScope(resp); ok {
			return tool.Errorf(op, tool.Denied, "the login to the MCP server %s does not reach far enough; it asks for: %s",
				t.Server, tool.Truncate(scope)).WithHint("%s", login)
		}
	}
	return nil
}

// hasAuthorization reports whether the config itself gives an Authorization
// header.
func (t *Transport) hasAuthorization() bool {
	for name := range t.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

// missingScope returns the scope that the token lacks, as the server says.
func missingScope(resp *http.Response) (scope string, ok bool) {
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return "", false
	}
	for _, c := range challenges {
		if c.Params["error"] == "insufficient_scope" {
			return c.Params["scope"], true
		}
	}
	return "", false
}

// limitedBody is a body that fails past its limit.
type limitedBody struct {
	io.ReadCloser
	left int64
}

var errTooLarge = errors.New("the answer is too large")

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// drain reads a little of a body, so that its connection can be used again,
// and closes it.
func drain(resp *http.Response) {
	io.CopyN(io.Discard, resp.Body, 4<<10)
	resp.Body.Close()
}
