package web_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/daemon/web"
	"callgate/internal/daemon/web/oidclogin"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/token"
)

// issuer is a small OpenID Connect provider: it asks nobody, and says what the test has it say.
type issuer struct {
	*httptest.Server
	key *rsa.PrivateKey

	mu    sync.Mutex
	codes map[string]url.Values // what the login was begun with
	says  func(claims map[string]any)
	forge func(jwt string) string // changes what was signed
}

func newIssuer(t *testing.T) *issuer {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	kerneltest.OK(t, err)
	i := &issuer{key: key, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	answer := func(w http.ResponseWriter, body any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
			"jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "one", "n": encoded(i.key.N.Bytes()),
			"e": encoded(big.NewInt(int64(i.key.E)).Bytes()),
		}}})
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		code := rand.Text()
		i.mu.Lock()
		i.codes[code] = r.URL.Query()
		i.mu.Unlock()
		back := r.FormValue("redirect_uri") + "?" + url.Values{"code": {code}, "state": {r.FormValue("state")}}.Encode()
		http.Redirect(w, r, back, http.StatusFound)
	})
	mux.HandleFunc("POST /token", i.token)
	return i
}

// token gives the token for a code, once, to whoever began the login.
func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	begun := i.codes[r.FormValue("code")]
	delete(i.codes, r.FormValue("code"))
	i.mu.Unlock()
	verifier := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	_, secret, _ := r.BasicAuth()
	if begun == nil || begun.Get("code_challenge") != encoded(verifier[:]) || secret != "s3cret" ||
		begun.Get("redirect_uri") != r.FormValue("redirect_uri") {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	claims := map[string]any{
		"iss": i.URL, "aud": "callgate", "sub": "u1", "nonce": begun.Get("nonce"), "exp": time.Now().Add(time.Hour).Unix(),
		"iat": time.Now().Unix(), "email": "Ada@example.org", "email_verified": true, "groups": []string{"ops"},
	}
	if i.says != nil {
		i.says(claims)
	}
	jwt := i.sign(claims)
	if i.forge != nil {
		jwt = i.forge(jwt)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": jwt})
}

func (i *issuer) sign(claims map[string]any) string {
	text, _ := json.Marshal(claims)
	return i.signText(`{"alg":"RS256","kid":"one"}`, string(text))
}

// signText signs a header and claims as they are written.
func (i *issuer) signText(header, claims string) string {
	body := encoded([]byte(header)) + "." + encoded([]byte(claims))
	sum := sha256.Sum256([]byte(body))
	signature, _ := rsa.SignPKCS1v15(nil, i.key, crypto.SHA256, sum[:])
	return body + "." + encoded(signature)
}

func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// withOIDC is a kernel whose people log in by a provider.
func withOIDC(t *testing.T, i *issuer, more ...string) *face {
	folder := t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "secret"), "s3cret\n")
	kerneltest.Write(t, filepath.Join(folder, "oidc.yaml"), "issuer: "+i.URL+`
client_id: callgate
client_secret_file: secret
people:
  - {claim: email, value: ada@example.org, role: admin}
  - {claim: groups, value: ops, role: viewer}
`+strings.Join(more, "\n"))
	p, err := oidclogin.Read(filepath.Join(folder, "oidc.yaml"))
	kerneltest.OK(t, err)
	return serve(t, func(o *web.Options) { o.OIDC = p })
}

// logIn goes through a login as a browser does, and returns the last answer with its text, and the login's cookie.
// Each request on the way may be changed.
func logIn(t *testing.T, f *face, change func(*http.Request)) (status int, text string, cookie *http.Cookie) {
	t.Helper()
	browser := browserOf(t)
	own, _, _ := strings.Cut(f.server.LoginURL(""), "/login")
	at, cookies := own+"/login/oidc", map[string]*http.Cookie{}
	for range 4 {
		r, err := http.NewRequestWithContext(t.Context(), "GET", at, nil)
		kerneltest.OK(t, err)
		if strings.HasPrefix(at, own) {
			for c := range maps.Values(cookies) {
				r.AddCookie(c)
			}
		}
		if change != nil {
			change(r)
		}
		answer, err := browser.Do(r)
		kerneltest.OK(t, err)
		body, err := io.ReadAll(answer.Body)
		kerneltest.OK(t, err)
		answer.Body.Close()
		for _, c := range answer.Cookies() {
			cookies[c.Name] = c
			if strings.HasPrefix(c.Value, "cgt_") {
				cookie = c
			}
		}
		status, text = answer.StatusCode, string(body)
		next, err := answer.Location()
		if err != nil {
			break
		}
		at = next.String()
	}
	return status, text, cookie
}

// Somebody whom the provider knows, and the configuration names, is let in with the role that it says.
func TestOIDCLogin(t *testing.T) {
	i := newIssuer(t)
	f := withOIDC(t, i)
	for says, want := range map[string]token.Role{"": token.Admin, "other": token.Viewer} {
		i.says = func(c map[string]any) {
			if says != "" {
				c["email"] = "bob@example.org"
			}
		}
		status, text, cookie := logIn(t, f, nil)
		if status != http.StatusOK || cookie == nil || !strings.Contains(text, "is logged in") {
			t.Fatalf("the login ends with %d %s", status, text)
		}
		if cookie.SameSite != http.SameSiteStrictMode || !cookie.HttpOnly {
			t.Errorf("the cookie is %v", cookie)
		}
		who, err := f.kernel.Tokens.UseLogin(t.Context(), cookie.Value, token.Viewer)
		if err != nil || who.Role != want || !strings.Contains(who.By, "@example.org by 127.0.0.1") {
			t.Errorf("it is %+v, %v", who, err)
		}
	}
	if _, page := f.ask("", "GET", "/", ""); !strings.Contains(page, "Log in with 127.0.0.1") {
		t.Errorf("the page to log in is %s", page)
	}
}

// What is wrong with a login, and whoever is not named, lets nobody in.
func TestOIDCRefuses(t *testing.T) {
	i := newIssuer(t)
	f := withOIDC(t, i)
	set := func(name string, value any) func(map[string]any) { return func(c map[string]any) { c[name] = value } }
	nobody := func(c map[string]any) { c["email"], c["groups"] = "eve@example.org", []string{"others"} }
	back := func(change func(*http.Request)) func(*http.Request) {
		return func(r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/back") {
				change(r)
			}
		}
	}
	for name, c := range map[string]struct {
		says   func(map[string]any)
		forge  func(string) string
		change func(*http.Request)
	}{
		"somebody else":         {says: nobody},
		"mail that is not hers": {says: func(c map[string]any) { nobody(c); c["email"], c["email_verified"] = "ada@example.org", false }},
		"another nonce":         {says: set("nonce", "another")},
		"another client":        {says: set("aud", "another")},
		"another issuer":        {says: set("iss", "https://evil.example")},
		"a token that expired":  {says: set("exp", time.Now().Add(-time.Hour).Unix())},
		"no signature": {forge: func(jwt string) string {
			parts := strings.Split(jwt, ".")
			return encoded([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
		}},
		"a changed token": {forge: func(jwt string) string {
			parts := strings.Split(jwt, ".")
			claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
			changed := strings.Replace(string(claims), `"sub":"u1"`, `"sub":"u2"`, 1)
			return parts[0] + "." + encoded([]byte(changed)) + "." + parts[2]
		}},
		"no token":          {forge: func(string) string { return "" }},
		"another state":     {change: back(func(r *http.Request) { r.URL.RawQuery += "x" })},
		"another browser":   {change: back(func(r *http.Request) { r.Header.Del("Cookie") })},
		"another code":      {change: back(func(r *http.Request) { r.URL.RawQuery = "code=x&state=" + r.URL.Query().Get("state") })},
		"the provider's no": {change: back(func(r *http.Request) { r.URL.RawQuery = "error=access_denied&state=" + r.URL.Query().Get("state") })},
	} {
		i.says, i.forge = c.says, c.forge
		status, text, cookie := logIn(t, f, c.change)
		if status != http.StatusUnauthorized || cookie != nil {
			t.Errorf("%s: %d %v %s", name, status, cookie, text)
		}
	}
	i.says, i.forge = nil, nil
	var used string
	logIn(t, f, back(func(r *http.Request) { used = r.URL.RequestURI() }))
	status, text, cookie := logIn(t, f, back(func(r *http.Request) { // a login that was ended is not ended again
		again, err := url.Parse(used)
		kerneltest.OK(t, err)
		r.URL.RawQuery = again.RawQuery
	}))
	if status != http.StatusUnauthorized || cookie != nil {
		t.Errorf("a login that has ended: %d %s", status, text)
	}
	if status, _ := f.ask("", "GET", "/login/oidc", ""); status != http.StatusUnauthorized {
		t.Errorf("a login under 127.0.0.1: %d", status)
	}
}

// A login stands for a user by the claim that the configuration says, with the teams that the provider says.
func TestOIDCUsers(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	for name, c := range map[string]struct {
		config string
		says   map[string]any
		want   token.Person // the zero value: they do not come in
	}{
		"sub": {"user: sub\nteams: groups", map[string]any{"name": "Ada Lovelace"},
			token.Person{User: "u1@127.0.0.1", FullName: "Ada Lovelace", Teams: []string{"ops"}}},
		"mail":                      {"user: email", nil, token.Person{User: "ada@example.org"}},
		"mail that is not verified": {"user: email", map[string]any{"email_verified": false}, token.Person{}},
		"a claim":                   {"user: nick", map[string]any{"nick": "ada"}, token.Person{User: "ada"}},
		"no such claim":             {"user: nick", nil, token.Person{}},
		"a claim that is a list":    {"user: nick", map[string]any{"nick": []string{"ada"}}, token.Person{}},
		"a hidden letter":           {"user: nick", map[string]any{"nick": "a\u200bda"}, token.Person{}},
		"the mark of users":         {"user: nick", map[string]any{"nick": "@ada"}, token.Person{}},
		"a team twice": {"user: nick\nteams: in", map[string]any{"nick": "ada", "in": []any{"a", "a", "b c", 7}},
			token.Person{User: "ada", Teams: []string{"a"}}},
	} {
		f := withOIDC(t, i, c.config)
		i.says = func(claims map[string]any) { maps.Copy(claims, c.says) }
		status, text, cookie := logIn(t, f, nil)
		if c.want.User == "" {
			if status != http.StatusUnauthorized || cookie != nil {
				t.Errorf("%s: %d %s", name, status, text)
			}
			continue
		}
		if cookie == nil {
			t.Fatalf("%s: %d %s", name, status, text)
		}
		who, err := f.kernel.Tokens.UseLogin(t.Context(), cookie.Value, token.Viewer)
		if err != nil || !reflect.DeepEqual(who.Person, c.want) {
			t.Errorf("%s: %+v, %v", name, who.Person, err)
		}
	}
}

// Who logs in sees in the console what is theirs, and a token of the same user is theirs too.
func TestOIDCUserSeesTheirOwn(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	f := withOIDC(t, i, "user: sub")
	i.says = func(c map[string]any) { c["email"] = "bob@example.org" } // a viewer
	f.make(f.token(token.Operator, of("ada")), "xyzzy")
	f.make(f.token(token.Operator, of("u1@127.0.0.1")), "plugh")
	_, _, cookie := logIn(t, f, nil)
	if cookie == nil {
		t.Fatal("nobody is logged in")
	}
	own, _, _ := strings.Cut(f.server.LoginURL(""), "/login")
	browser := browserOf(t)
	for _, path := range []string{"/v1/conversations", "/v1/approvals", "/v1/journal", "/sessions", "/approvals"} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", own+path, nil)
		kerneltest.OK(t, err)
		r.AddCookie(cookie)
		answer, err := browser.Do(r)
		kerneltest.OK(t, err)
		body, err := io.ReadAll(answer.Body)
		kerneltest.OK(t, err)
		answer.Body.Close()
		if strings.Contains(string(body), "xyzzy") {
			t.Errorf("%s shows another's: %s", path, body)
		}
		if strings.HasPrefix(path, "/v1/") && !strings.Contains(string(body), "plugh") {
			t.Errorf("%s: %d %s", path, answer.StatusCode, body)
		}
	}
}
