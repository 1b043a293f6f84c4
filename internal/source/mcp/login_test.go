package mcp_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"callgate/internal/secret"
	"callgate/internal/source/mcp"
	"callgate/internal/source/mcp/oauth"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

// guard is a server that wants a login, and its authorization server.
type guard struct {
	t   testing.TB
	url string

	mu       sync.Mutex
	access   map[string]bool       // valid tokens
	refresh  map[string]bool       //
	codes    map[string]url.Values // the request that each code was given for
	clients  map[string]string     // redirect address of each client
	secret   string                // of the registered client
	n        int
	deny     bool
	open     bool // no login is needed
	lifetime int  // of the tokens that a login gives, in seconds; renewed ones last an hour
	renewed  int
}

func newGuard(t testing.TB) *guard {
	g := &guard{t: t, access: map[string]bool{}, refresh: map[string]bool{}, codes: map[string]url.Values{},
		clients: map[string]string{}, lifetime: 3600}
	mux := http.NewServeMux()
	behind := streamable(true)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		in := g.open || g.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		g.mu.Unlock()
		if !in {
			w.Header().Set("WWW-Authenticate",
				fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp", scope="tools"`, g.url))
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		behind.ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		reply(w, object{"resource": g.url + "/mcp", "authorization_servers": []string{g.url}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) {
		reply(w, object{
			"issuer": g.url, "authorization_endpoint": g.url + "/authorize", "token_endpoint": g.url + "/token",
			"registration_endpoint":    g.url + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"scopes_supported":                      []string{"tools", "offline_access"},
			"token_endpoint_auth_methods_supported": []string{"client_secret_post", "none"},
		})
	})
	mux.HandleFunc("/register", g.register)
	mux.HandleFunc("/authorize", g.authorize)
	mux.HandleFunc("/token", g.token)
	g.url = listen(t, mux)
	return g
}

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(value)
}

func (g *guard) register(w http.ResponseWriter, r *http.Request) {
	var in struct {
		RedirectURIs []string `json:"redirect_uris"`
		GrantTypes   []string `json:"grant_types"`
	}
	json.NewDecoder(r.Body).Decode(&in)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(in.GrantTypes, "refresh_token") || len(in.RedirectURIs) != 1 {
		g.t.Errorf("registered with %+v", in)
	}
	g.n++
	id := fmt.Sprintf("client-%d", g.n)
	g.clients[id] = in.RedirectURIs[0]
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	json.NewEncoder(w).Encode(object{"client_id": id, "redirect_uris": in.RedirectURIs,
		"token_endpoint_auth_method": "none"})
}

func (g *guard) authorize(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := r.URL.Query()
	if q.Get("redirect_uri") != g.clients[q.Get("client_id")] || q.Get("code_challenge_method") != "S256" ||
		q.Get("state") == "" || q.Get("resource") != g.url+"/mcp" {
		g.t.Errorf("asked to authorize %v", q)
	}
	back, _ := url.Parse(q.Get("redirect_uri"))
	v := url.Values{"state": {q.Get("state")}}
	if g.deny {
		v.Set("error", "access_denied")
		v.Set("error_description", "not you")
	} else {
		g.n++
		code := fmt.Sprintf("code-%d", g.n)
		g.codes[code] = q
		v.Set("code", code)
	}
	back.RawQuery = v.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (g *guard) token(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r.ParseForm()
	ok, lifetime := false, g.lifetime
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		q := g.codes[r.Form.Get("code")]
		delete(g.codes, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		ok = q != nil && q.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:]) &&
			q.Get("client_id") == r.Form.Get("client_id") &&
			q.Get("redirect_uri") == r.Form.Get("redirect_uri") && r.Form.Get("client_secret") == g.secret &&
			r.Form.Get("resource") == g.url+"/mcp"
	case "refresh_token":
		ok = g.refresh[r.Form.Get("refresh_token")]
		delete(g.refresh, r.Form.Get("refresh_token")) // each is valid once
		g.renewed++
		lifetime = 3600
	}
	if !ok {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		json.NewEncoder(w).Encode(object{"error": "invalid_grant"})
		return
	}
	g.n++
	access, refresh := fmt.Sprintf("access-%d", g.n), fmt.Sprintf("refresh-%d", g.n)
	g.access[access], g.refresh[refresh] = true, true
	reply(w, object{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": lifetime})
}

// change changes the guard.
func (g *guard) change(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	do()
}

// browse is a browser whose user agrees to everything.
func browse(page string) error {
	resp, err := http.Get(page)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return err
}

// agree is what shows a page to that user.
func agree(page string, _ mcp.LoginParties) error { return browse(page) }

// openLogins opens logins as a kernel does.
func openLogins(t *testing.T) mcp.Logins {
	t.Helper()
	folder := t.TempDir()
	vault, err := secret.Open(filepath.Join(folder, "secrets.box"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), filepath.Join(folder, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return oauth.NewSealed(db.Stores().Documents, vault)
}

func TestLogin(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	logins := openLogins(t)
	cfg := remote(g.url + "/mcp")
	s := server(t, cfg, mcp.Options{Logins: logins})
	for range 6 { // a missing login is not a failure
		expectError(t, s.Refresh(t.Context()), tool.Denied, "the MCP server far needs a login, and there is none",
			"callgate mcp login far")
	}
	if err := s.Authorize(t.Context(), "", agree); err != nil {
		t.Fatal(err)
	}
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	echo := tools(t, s)["echo"]
	r, err := call(t.Context(), echo, `{"text":"in"}`)
	if got := textOf(t, r, err); got != "in" {
		t.Errorf("it said %q", got)
	}
	if stored, err := logins.Load(t.Context(), cfg.AccountKey()); err != nil || stored == nil || stored.Refresh == "" {
		t.Errorf("stored is %v, %v", stored, err)
	}

	// A void token is renewed without an error.
	g.change(func() { clear(g.access) })
	r, err = call(t.Context(), echo, `{"text":"renewed"}`)
	if got := textOf(t, r, err); got != "renewed" || g.renewed != 1 {
		t.Errorf("it said %q after %d renewals", got, g.renewed)
	}

	// Another kernel finds the login, and a changed setting does not lose it.
	cfg.Concurrency = 3
	again := server(t, cfg, mcp.Options{Logins: logins})
	if err := again.Refresh(t.Context()); err != nil {
		t.Error(err)
	}

	// Both tokens are void.
	g.change(func() { clear(g.access); clear(g.refresh) })
	_, err = call(t.Context(), echo, `{"text":"x"}`)
	expectError(t, err, tool.Denied, "the login to the MCP server far is no longer valid", "callgate mcp login far")

	// A login made elsewhere is found.
	if err := again.Authorize(t.Context(), "", agree); err != nil {
		t.Fatal(err)
	}
	r, err = call(t.Context(), echo, `{"text":"back"}`)
	if got := textOf(t, r, err); got != "back" {
		t.Errorf("it said %q", got)
	}
}

// The login itself starts a fetch in the background, which may be the first to
// renew the token: so the test leaves the lifetimes alone once it has begun.
func TestExpiredTokensAreRenewedOnce(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	g.lifetime = 1 // a token is renewed when it lasts less than 30 seconds
	s := server(t, remote(g.url+"/mcp"), mcp.Options{})
	if err := s.Authorize(t.Context(), "", agree); err != nil {
		t.Fatal(err)
	}
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	echo := tools(t, s)["echo"]
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := call(t.Context(), echo, `{"text":"x"}`); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if g.change(func() {}); g.renewed != 1 {
		t.Errorf("renewed %d times", g.renewed)
	}
}

func TestKnownClient(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	g.clients["known"] = fmt.Sprintf("http://localhost:%d/callback", port)
	g.secret = "s3cr3t-value"
	cfg := remote(g.url + "/mcp")
	cfg.OAuth = &mcp.OAuth{ClientID: "known", ClientSecret: "{{secret.S}}", CallbackPort: port, Scopes: []string{"mine"}, Issuer: g.url}
	var page string
	s := server(t, cfg, mcp.Options{Secret: func(string) (string, error) { return "s3cr3t-value", nil }})
	err = s.Authorize(t.Context(), "", func(url string, _ mcp.LoginParties) error { page = url; return browse(url) })
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	scopes := strings.Fields(u.Query().Get("scope"))
	slices.Sort(scopes)
	if !slices.Equal(scopes, []string{"mine", "offline_access"}) || strings.Contains(page, "s3cr3t") {
		t.Errorf("the page is %s", page)
	}
	if err := s.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestLoginsThatFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*guard)
		open   func(string, mcp.LoginParties) error
		kind   tool.Kind
		want   string
	}{
		{"refused", func(g *guard) { g.deny = true }, agree, tool.Denied, "access_denied not you"},
		{"no browser", func(*guard) {}, func(string, mcp.LoginParties) error { return errors.New("no screen") }, tool.Unavailable, "no screen"},
		{"not asked for", func(g *guard) { g.open = true }, agree, tool.Invalid, "does not ask for a login"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGuard(t)
			c.change(g)
			err := server(t, remote(g.url+"/mcp"), mcp.Options{}).Authorize(t.Context(), "", c.open)
			expectError(t, err, c.kind, c.want)
		})
	}
	err := server(t, local("normal"), mcp.Options{}).Authorize(t.Context(), "", agree)
	expectError(t, err, tool.Invalid, "local command")
}

// Other programs that find the port can neither end the login nor replace it.
func TestOtherProgramsAtTheCallback(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	s := server(t, remote(g.url+"/mcp"), mcp.Options{})
	err := s.Authorize(t.Context(), "", func(page string, _ mcp.LoginParties) error {
		u, err := url.Parse(page)
		if err != nil {
			return err
		}
		back := u.Query().Get("redirect_uri")
		for _, query := range []string{"?code=mine", "?code=mine&state=guessed", "?error=access_denied&state="} {
			resp, err := http.Get(back + query)
			if err != nil {
				return err
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("%s was answered %s", query, resp.Status)
			}
		}
		return browse(page)
	})
	if err != nil {
		t.Error(err)
	}
}
