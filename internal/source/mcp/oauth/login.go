package oauth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
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
	Issuer       string // that the app file names; empty: none
	Port         int    // of the callback; 0: any
	Scopes       []string
	Required     bool // log in even if the server answers without a login
	Version      string
	Last         *Record // the login that is stored; nil: none is
	Accepted     string  // the key of the parties to which a person said yes; empty: they were not asked

	Client *http.Client                          // for the authorization server
	Probe  *http.Client                          // for the server itself, without a token
	Open   func(page string, from Parties) error // shows the page to a person, and who takes part
}

// Login runs the browser flow. The error is a [Question] where a person must say yes to its parties first.
func Login(ctx context.Context, r Request) (*Record, error) {
	if r.ClientSecret != "" && r.Issuer == "" {
		return nil, tool.Errorf(op, tool.Invalid, "the oauth block of the MCP server %s has a client_secret and no issuer: "+
			"whichever authorization server the MCP server names would be given the secret", r.Server).
			WithHint("add the issuer that gave you the client, such as issuer: https://auth.example.com")
	}
	ctx, cancel := context.WithTimeout(ctx, maxLogin)
	defer cancel()
	challenge, err := r.challenge(ctx)
	if err != nil {
		return nil, err
	}
	challenge.Body.Close()
	record, err := r.run(ctx, challenge)
	if err != nil {
		return nil, r.failed(err)
	}
	return record, nil
}

// run finds the authorization server, has a person log in there, and exchanges the code.
func (r Request) run(ctx context.Context, challenge *http.Response) (*Record, error) {
	asked, err := oauthex.ParseWWWAuthenticate(challenge.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil, fmt.Errorf("the server's WWW-Authenticate header cannot be read: %w", err)
	}
	resource, err := r.resource(ctx, asked)
	if err != nil {
		return nil, err
	}
	server, err := r.authorizationServer(ctx, resource.AuthorizationServers[0])
	if err != nil {
		return nil, err
	}
	parties := Parties{server.Issuer, origin(server.AuthorizationEndpoint), origin(server.TokenEndpoint)}
	if err := r.check(parties); err != nil {
		return nil, err
	}
	back, err := listen(r.Port)
	if err != nil {
		return nil, err
	}
	defer back.close()
	cfg, err := r.register(ctx, server, back.url)
	if err != nil {
		return nil, err
	}
	cfg.Scopes = r.scopes(asked, resource, server)
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	forResource := oauth2.SetAuthURLParam("resource", resource.Resource)
	page := cfg.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), forResource)
	answer, err := back.awaitCallback(ctx, state, func() error { return r.Open(page, parties) })
	if err != nil {
		return nil, err
	}
	if err := checkIssuer(answer.Get("iss"), server); err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, withoutRedirects(r.Client))
	token, err := cfg.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(verifier), forResource)
	if err != nil {
		return nil, fmt.Errorf("the code was not exchanged for a token: %w", err)
	}
	return newRecord(cfg, token, parties), nil
}

// resource finds what the server says of itself, and of its authorization server. A server of the protocol of March
// 2025 says nothing: then its own root is the authorization server.
func (r Request) resource(ctx context.Context, asked []oauthex.Challenge) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, err
	}
	root, own, above := *u, *u, *u
	root.Path, root.RawQuery = "", ""
	own.Path = "/.well-known/oauth-protected-resource/" + strings.TrimLeft(u.Path, "/")
	above.Path = "/.well-known/oauth-protected-resource"
	tries := [][2]string{{own.String(), r.URL}, {above.String(), root.String()}}
	for _, c := range asked {
		if at := c.Params["resource_metadata"]; at != "" {
			tries = slices.Insert(tries, 0, [2]string{at, r.URL})
			break
		}
	}
	for _, try := range tries {
		found, err := oauthex.GetProtectedResourceMetadata(ctx, try[0], try[1], r.Client)
		if err != nil || found == nil {
			continue
		}
		if len(found.AuthorizationServers) == 0 {
			return nil, errors.New("the server names no authorization server")
		}
		return found, nil
	}
	return &oauthex.ProtectedResourceMetadata{Resource: r.URL, AuthorizationServers: []string{root.String()}}, nil
}

// authorizationServer returns what an authorization server says of itself. One of the protocol of March 2025 that says
// nothing has its endpoints at fixed places.
func (r Request) authorizationServer(ctx context.Context, issuer string) (*oauthex.AuthServerMeta, error) {
	found, err := auth.GetAuthServerMetadata(ctx, issuer, r.Client)
	if err != nil {
		return nil, fmt.Errorf("the authorization server does not say how to log in: %w", err)
	}
	if found == nil {
		found = &oauthex.AuthServerMeta{
			Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token",
			RegistrationEndpoint: issuer + "/register",
		}
	}
	return found, nil
}

// scopes are those that are asked for.
func (r Request) scopes(
	asked []oauthex.Challenge, resource *oauthex.ProtectedResourceMetadata, server *oauthex.AuthServerMeta,
) []string {
	scopes := resource.ScopesSupported
	for _, c := range asked {
		if c.Scheme == "bearer" && c.Params["scope"] != "" {
			scopes = strings.Fields(c.Params["scope"])
			break
		}
	}
	if len(r.Scopes) > 0 {
		scopes = r.Scopes
	}
	const refresh = "offline_access"
	if slices.Contains(server.ScopesSupported, refresh) && !slices.Contains(scopes, refresh) {
		scopes = append(slices.Clone(scopes), refresh)
	}
	return scopes
}

// register names the client: a registered one, or a new one.
func (r Request) register(ctx context.Context, server *oauthex.AuthServerMeta, back string) (*oauth2.Config, error) {
	cfg := &oauth2.Config{
		ClientID: r.ClientID, ClientSecret: r.ClientSecret, RedirectURL: back,
		Endpoint: oauth2.Endpoint{AuthURL: server.AuthorizationEndpoint, TokenURL: server.TokenEndpoint},
	}
	if r.ClientID != "" {
		switch ways := server.TokenEndpointAuthMethodsSupported; {
		case r.ClientSecret == "", slices.Contains(ways, "client_secret_post"):
			cfg.Endpoint.AuthStyle = oauth2.AuthStyleInParams
		case slices.Contains(ways, "client_secret_basic"):
			cfg.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
		}
		return cfg, nil
	}
	if server.RegistrationEndpoint == "" {
		return nil, errors.New("the authorization server takes no registration of a client")
	}
	made, err := oauthex.RegisterClient(ctx, server.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		ClientName:              "Callgate",
		ApplicationType:         "native",
		RedirectURIs:            []string{back},
		GrantTypes:              []string{"authorization_code", "refresh_token"},
		ResponseTypes:           []string{"code"},
		TokenEndpointAuthMethod: "none",
		SoftwareVersion:         r.Version,
		Scope:                   strings.Join(r.Scopes, " "),
	}, r.Client)
	if err != nil {
		return nil, fmt.Errorf("the registration of a client failed: %w", err)
	}
	cfg.ClientID, cfg.ClientSecret = made.ClientID, made.ClientSecret
	switch made.TokenEndpointAuthMethod {
	case "client_secret_post", "none":
		cfg.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	default: // client_secret_basic is the default of RFC 7591
		cfg.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	}
	return cfg, nil
}

// checkIssuer checks the issuer that comes back with a code (RFC 9207). One that is not announced is compared too.
func checkIssuer(said string, server *oauthex.AuthServerMeta) error {
	switch {
	case said == "" && server.AuthorizationResponseIssParameterSupported:
		return errors.New("the code came back without the name of its issuer, which the authorization server announced")
	case said != "" && said != server.Issuer:
		return fmt.Errorf("the code is of another issuer, %s", tool.Truncate(said))
	}
	return nil
}

// withoutRedirects is a client that sends a code, a refresh token or a client's secret nowhere but where it is told to.
func withoutRedirects(c *http.Client) *http.Client {
	own := *c
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

func newRecord(c *oauth2.Config, t *oauth2.Token, p Parties) *Record {
	return &Record{
		Access: t.AccessToken, Refresh: t.RefreshToken, Expiry: t.Expiry,
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, Scopes: c.Scopes,
		TokenURL: c.Endpoint.TokenURL, AuthStyle: c.Endpoint.AuthStyle, Parties: p,
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

// awaitCallback has a page shown to a person, and waits until their browser is sent back with a state.
func (r *callbackServer) awaitCallback(ctx context.Context, state string, open func() error) (url.Values, error) {
	r.state <- state
	if err := open(); err != nil {
		return nil, tool.Errorf(op, tool.Unavailable, "the login page cannot be opened: %w", err)
	}
	select {
	case v := <-r.answer:
		if why := v.Get("error"); why != "" {
			why = strings.TrimSpace(why + " " + v.Get("error_description"))
			return nil, tool.Errorf(op, tool.Denied, "the authorization server said no: %s", tool.Truncate(why))
		}
		return v, nil
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
