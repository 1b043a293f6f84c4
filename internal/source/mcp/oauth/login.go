package oauth

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"callgate/tool"
)

const (
	op       = "mcp.login"
	callback = "/callback"
	// maxLogin is how long a person may take.
	maxLogin = 10 * time.Minute
)

// Request is what a login needs.
type Request struct {
	Server       string // its name, for errors
	URL          string
	ClientID     string // of a registered client; empty: register one now
	ClientSecret string
	Port         int // of the callback; 0: any
	Scopes       []string
	Required     bool // log in even if the server answers without a login
	Version      string

	Client *http.Client           // for the authorization server
	Probe  *http.Client           // for the server itself, without a token
	Open   func(url string) error // shows the page to a person
}

// Login runs the browser flow.
func Login(ctx context.Context, r Request) (*Record, error) {
	ctx, cancel := context.WithTimeout(ctx, maxLogin)
	defer cancel()
	challenge, err := r.challenge(ctx)
	if err != nil {
		return nil, err
	}
	defer challenge.Body.Close()
	back, err := listen(r.Port)
	if err != nil {
		return nil, err
	}
	defer back.close()

	var record *Record
	cfg := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:           back.url,
		Client:                r.Client,
		RequestRefreshToken:   true,
		AcceptUnadvertisedIss: true,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return back.awaitCallback(ctx, args.URL, r.Open)
		},
		NewTokenSource: func(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			record = newRecord(c, t)
			return oauth2.StaticTokenSource(t), nil
		},
	}
	if len(r.Scopes) > 0 {
		cfg.ScopeFilter = func([]string) []string { return r.Scopes }
	}
	r.register(cfg)
	handler, err := auth.NewAuthorizationCodeHandler(cfg)
	if err != nil {
		return nil, r.failed(err)
	}
	if err := handler.Authorize(ctx, challenge.Request, challenge); err != nil {
		return nil, r.failed(err)
	}
	if record == nil {
		return nil, r.failed(errors.New("no token came back"))
	}
	return record, nil
}

// register names the client: a registered one, or a new one.
func (r Request) register(cfg *auth.AuthorizationCodeHandlerConfig) {
	if r.ClientID != "" {
		cfg.PreregisteredClient = &oauthex.ClientCredentials{ClientID: r.ClientID}
		if r.ClientSecret != "" {
			cfg.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: r.ClientSecret}
		}
		return
	}
	cfg.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{
		Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName:              "Callgate",
			RedirectURIs:            []string{cfg.RedirectURL},
			GrantTypes:              []string{"authorization_code", "refresh_token"},
			ResponseTypes:           []string{"code"},
			TokenEndpointAuthMethod: "none",
			SoftwareVersion:         r.Version,
			Scope:                   strings.Join(r.Scopes, " "),
		},
	}
}

func newRecord(c *oauth2.Config, t *oauth2.Token) *Record {
	return &Record{
		Access: t.AccessToken, Refresh: t.RefreshToken, Expiry: t.Expiry,
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, Scopes: c.Scopes,
		TokenURL: c.Endpoint.TokenURL, AuthStyle: c.Endpoint.AuthStyle,
	}
}

// failed is the error of a login that did not succeed.
func (r Request) failed(err error) error {
	var known *tool.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Errorf(op, tool.Timeout, "nobody logged in to the MCP server %s in time", r.Server).
			WithHint("run the login again")
	case errors.Is(err, context.Canceled):
		return tool.Errorf(op, tool.Cancelled, "the login to the MCP server %s was given up", r.Server)
	}
	e := tool.Errorf(op, tool.Failed, "the login to the MCP server %s failed: %v", r.Server, err)
	if r.ClientID == "" && strings.Contains(err.Error(), "registration") {
		e.Hint = "the server wants clients that it knows: register one with it, and put its id into the server's oauth block"
	}
	return e
}

// challenge sends the server a request without a token, and returns its refusal,
// which says where to log in. When the server does not refuse, challenge fails,
// unless a login is required.
func (r Request) challenge(ctx context.Context) (*http.Response, error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, strings.NewReader(hello))
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the MCP server %s has a url that cannot be used", r.Server)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := r.Probe.Do(req)
	if err != nil {
		return nil, tool.Errorf(op, tool.Unavailable, "the MCP server %s cannot be reached: %w", r.Server, err)
	}
	if resp.StatusCode == http.StatusUnauthorized {
		resp.Request = req // not the one after a redirect: the login is for the configured URL
		return resp, nil
	}
	resp.Body.Close()
	if !r.Required && resp.StatusCode < 400 {
		return nil, tool.Errorf(op, tool.Invalid, "the MCP server %s does not ask for a login", r.Server)
	}
	return &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// callbackServer listens on the port of this machine to which the browser is
// sent back.
type callbackServer struct {
	url     string
	servers []*http.Server
	state   chan string // the state that must come back
	answer  chan url.Values
}

// listen opens the port. A configured port is part of an address that was
// registered with the name localhost, so it is opened on both addresses of that
// name.
func listen(port int) (*callbackServer, error) {
	r := &callbackServer{state: make(chan string, 1), answer: make(chan url.Values, 1)}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, tool.Errorf(op, tool.Unavailable, "the port for the login's callback cannot be opened: %w", err).
			WithHint("free the port, or choose another callback_port")
	}
	listeners := []net.Listener{l}
	r.url = "http://" + l.Addr().String() + callback
	if port != 0 {
		r.url = fmt.Sprintf("http://localhost:%d%s", port, callback)
		if six, err := net.Listen("tcp", net.JoinHostPort("::1", strconv.Itoa(port))); err == nil {
			listeners = append(listeners, six)
		}
	}
	handler := r.handler()
	for _, l := range listeners {
		s := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		r.servers = append(r.servers, s)
		go s.Serve(l)
	}
	return r, nil
}

func (r *callbackServer) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, s := range r.servers {
		if s.Shutdown(ctx) != nil { // the browser still gets its last page
			s.Close()
		}
	}
}

// awaitCallback shows the page to a person, and waits until their browser is sent
// back.
func (r *callbackServer) awaitCallback(
	ctx context.Context, page string, open func(string) error,
) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(page)
	if err != nil {
		return nil, err
	}
	r.state <- u.Query().Get("state")
	if err := open(page); err != nil {
		return nil, tool.Errorf(op, tool.Unavailable, "the login page cannot be opened: %w", err)
	}
	select {
	case v := <-r.answer:
		if why := v.Get("error"); why != "" {
			why = strings.TrimSpace(why + " " + v.Get("error_description"))
			return nil, tool.Errorf(op, tool.Denied, "the authorization server said no: %s", tool.Truncate(why))
		}
		return &auth.AuthorizationResult{Code: v.Get("code"), State: v.Get("state"), Iss: v.Get("iss")}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// handler accepts the one request that has the right state. Others are refused,
// and the wait goes on.
func (r *callbackServer) handler() http.Handler {
	want := ""
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		select {
		case want = <-r.state:
		default:
		}
		v := req.URL.Query()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if req.URL.Path != callback || want == "" || v.Get("state") != want {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, page("This is not the login that was asked for."))
			return
		}
		want = ""
		r.answer <- v
		if v.Get("error") != "" {
			io.WriteString(w, page("The login was refused. You can close this page."))
			return
		}
		io.WriteString(w, page("You are logged in. You can close this page."))
	})
}

func page(text string) string {
	return "<!doctype html><title>Callgate</title><p>" + html.EscapeString(text) + "</p>\n"
}
