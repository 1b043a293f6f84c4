package web_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/daemon/web"
	"callgate/internal/daemon/web/oidclogin"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/token"
)

// withBearers is a kernel whose programs come with what the provider signed.
func withBearers(t *testing.T, i *issuer, bearer string) *face {
	t.Helper()
	name := filepath.Join(t.TempDir(), "oidc.yaml")
	kerneltest.Write(t, name, "issuer: "+i.URL+"\nclient_id: callgate\nuser: sub\nteams: groups\n"+
		"people: [{claim: email, value: ada@example.org, role: admin}]\nbearer: "+bearer+"\n")
	p, err := oidclogin.Read(name)
	kerneltest.OK(t, err)
	f := serve(t, func(o *web.Options) { o.OIDC = p })
	f.kernel.Tokens.Trust(p.Bearer)
	return f
}

// claims are those of a token for this server, changed.
func (i *issuer) claims(change func(map[string]any)) map[string]any {
	now := time.Now()
	c := map[string]any{
		"iss": i.URL, "aud": []string{"gate", "other"}, "sub": "u1", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"groups": []string{"research"},
	}
	if change != nil {
		change(c)
	}
	return c
}

const bearers = "{audience: [gate], roles: [{claim: groups, value: ops, role: operator}], mcp: [gate-mcp]}"

// forMCP makes claims those of a token for MCP clients.
func forMCP(c map[string]any) { c["aud"] = "gate-mcp" }

// A token of the provider is its user's, with the role that the configuration says, and the next one of the same
// person goes on with what they have.
func TestBearer(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	f := withBearers(t, i, bearers)
	viewer := i.sign(i.claims(nil))
	if status, text := f.ask(viewer, "GET", "/v1/conversations", ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	if status, text := f.ask(viewer, "POST", "/v1/tools/demo.read/call", "{}"); status != http.StatusForbidden ||
		!strings.Contains(text, "has the role viewer, and this needs operator") {
		t.Errorf("a call of a viewer: %d %s", status, text)
	}
	first, err := f.kernel.Tokens.Use(t.Context(), viewer, token.Viewer)
	kerneltest.OK(t, err)
	if first.User != "u1@127.0.0.1" || len(first.Teams) != 1 || first.Teams[0] != "research" || !first.Bearer {
		t.Errorf("it is %+v", first)
	}
	ops := i.sign(i.claims(func(c map[string]any) { c["groups"] = []string{"ops"} }))
	next, err := f.kernel.Tokens.Use(t.Context(), ops, token.Operator)
	if err != nil || next.ID != first.ID || next.Role != token.Operator || next.Teams[0] != "ops" {
		t.Errorf("the next is %+v, %v", next, err)
	}
	client, err := f.kernel.Tokens.Use(t.Context(), i.sign(i.claims(forMCP)), token.Client)
	if err != nil || client.ID != first.ID || client.Role != token.Client || client.User != first.User {
		t.Errorf("an MCP client is %+v, %v", client, err)
	}
	list, err := f.kernel.Tokens.List(t.Context(), kerneltest.Human(t, f.kernel))
	if err != nil || len(list) != 1 || list[0].ID != first.ID || list[0].Role != token.Operator {
		t.Errorf("they are listed as %+v, %v", list, err)
	}
	if known, err := f.kernel.Tokens.Find(t.Context(), first.ID); err != nil || known.User != first.User {
		t.Errorf("by its ID it is %+v, %v", known, err)
	}
}

// What was revoked does not count, and what the provider gives after that does.
func TestBearerRevoked(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	f := withBearers(t, i, bearers)
	jwt := i.sign(i.claims(nil))
	made, err := f.kernel.Tokens.Use(t.Context(), jwt, token.Viewer)
	kerneltest.OK(t, err)
	_, err = f.kernel.Tokens.Revoke(t.Context(), kerneltest.Human(t, f.kernel), made.ID)
	kerneltest.OK(t, err)
	status, text := f.ask(jwt, "GET", "/v1/conversations", "")
	if status != http.StatusUnauthorized || !strings.Contains(text, "was revoked") {
		t.Errorf("a token that was revoked: %d %s", status, text)
	}
	if _, err := f.kernel.Tokens.Find(t.Context(), made.ID); err == nil {
		t.Error("what it had begun goes on")
	}
	// The provider's clock may be ahead: what says that it was issued just after may have been issued before.
	ahead := i.sign(i.claims(func(c map[string]any) { c["iat"] = time.Now().Add(50 * time.Second).Unix() }))
	if status, text := f.ask(ahead, "GET", "/v1/conversations", ""); status != http.StatusUnauthorized {
		t.Errorf("a token that says it is younger than the revocation: %d %s", status, text)
	}
}

// Keys that the provider changes are fetched, and nonsense does not have it asked without end.
func TestBearerKeys(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	f := withBearers(t, i, bearers)
	if status, text := f.ask(i.sign(i.claims(nil)), "GET", "/v1/conversations", ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	old := i.sign(i.claims(nil))
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	kerneltest.OK(t, err)
	i.key = key
	if status, text := f.ask(i.sign(i.claims(nil)), "GET", "/v1/conversations", ""); status != http.StatusOK {
		t.Errorf("with the next key: %d %s", status, text)
	}
	for range 40 {
		if status, _ := f.ask(old, "GET", "/v1/conversations", ""); status == http.StatusOK {
			t.Fatal("the key of before still counts")
		}
	}
	if status, text := f.ask(old, "GET", "/v1/conversations", ""); !strings.Contains(text, "cannot be asked for now") {
		t.Errorf("the provider is asked without end: %d %s", status, text)
	}
	if status, text := f.ask(i.sign(i.claims(nil)), "GET", "/v1/conversations", ""); status != http.StatusOK {
		t.Errorf("a good token among bad ones: %d %s", status, text)
	}
}

// What is wrong with a token lets nobody in, and the answer says what.
func TestBearerRefused(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	f := withBearers(t, i, bearers)
	set := func(name string, value any) string {
		return i.sign(i.claims(func(c map[string]any) { c[name] = value }))
	}
	good := i.sign(i.claims(nil))
	parts := strings.Split(good, ".")
	shared := encoded([]byte(`{"alg":"HS256","kid":"one"}`)) + "." + parts[1]
	mac := hmac.New(sha256.New, i.key.N.Bytes())
	mac.Write([]byte(shared))
	const rs256 = `{"alg":"RS256","kid":"one"}`
	text := func(jwt string) string {
		claims, err := base64.RawURLEncoding.DecodeString(strings.Split(jwt, ".")[1])
		kerneltest.OK(t, err)
		return string(claims)
	}
	for name, jwt := range map[string]string{
		"a token for access": i.signText(`{"alg":"RS256","kid":"one","typ":"at+JWT"}`, text(good)),
		"its whole type":     i.signText(`{"alg":"RS256","kid":"one","typ":"application/at+jwt"}`, text(good)),
		"any JWT":            i.signText(`{"alg":"RS256","kid":"one","typ":"JWT"}`, text(good)),
	} {
		if status, answer := f.ask(jwt, "GET", "/v1/conversations", ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	for name, c := range map[string]struct{ jwt, want string }{
		"another audience": {set("aud", "elsewhere"), "it is for another server"},
		"no audience":      {set("aud", []string{}), "it is for another server"},
		"a login's own":    {set("aud", "callgate"), "it is for another server"},
		"another issuer":   {set("iss", "https://evil.example"), "another provider issued it"},
		"expired":          {set("exp", time.Now().Add(-time.Minute).Unix()), "it has expired"},
		"old":              {set("iat", time.Now().Add(-2*time.Hour).Unix()), "it was issued more than 1h0m0s ago"},
		"of the future":    {set("iat", time.Now().Add(time.Hour).Unix()), "it was issued in the future"},
		"without a time":   {set("iat", 0), "it does not say when it was issued"},
		"not yet":          {set("nbf", time.Now().Add(time.Hour).Unix()), "it cannot be verified"},
		"soon":             {set("nbf", time.Now().Add(4*time.Minute).Unix()), "it does not count yet"},
		"nobody":           {set("sub", ""), "it names nobody"},
		"an audience in other letters": {
			i.signText(rs256, strings.Replace(text(set("aud", "elsewhere")), `{`, `{"AUD":"gate",`, 1)), "it has two claims of one name"},
		"an end in other letters": {
			i.signText(rs256, strings.TrimSuffix(text(set("exp", 1)), "}")+`,"EXP":99999999999}`), "it has two claims of one name"},
		"a subject in other letters": {
			i.signText(rs256, strings.TrimSuffix(text(good), "}")+`,"SUB":"u2"}`), "it has two claims of one name"},
		"a subject with a long s": {
			i.signText(rs256, strings.TrimSuffix(text(good), "}")+`,"\u017fub":"u2"}`), "it has two claims of one name"},
		"a logout":          {i.signText(`{"alg":"RS256","kid":"one","typ":"logout+jwt"}`, text(good)), "it is no token for access"},
		"a path":            {set("sub", "a/../b"), "says no sub that can name a user"},
		"a sign for Kelvin": {set("sub", "\u212aim"), "says no sub that can name a user"},
		"no name":           {set("sub", "a b"), "says no sub that can name a user"},
		"no signature":      {encoded([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".", ""},
		"a shared key":      {shared + "." + encoded(mac.Sum(nil)), "not signed with an algorithm that counts here"},
		"changed":           {parts[0] + "." + encoded([]byte(`{"sub":"u2"}`)) + "." + parts[2], ""},
		"another's":         {parts[0] + "." + parts[1] + "." + strings.Split(set("sub", "u2"), ".")[2], ""},
		"nonsense":          {"a.b.c", ""},
		"long":              {good + strings.Repeat("A", 20_000), "too long"},
	} {
		status, answer := f.ask(c.jwt, "GET", "/v1/conversations", "")
		if status != http.StatusUnauthorized && !strings.Contains(c.want, "can name a user") || status == http.StatusOK || !strings.Contains(answer, c.want) {
			t.Errorf("%s: %d %s", name, status, answer)
		}
		if strings.Contains(answer, parts[2]) {
			t.Errorf("%s: the answer has the signature", name)
		}
	}
	without := withBearers(t, i, "{audience: [gate]}")
	if _, err := without.kernel.Tokens.Use(t.Context(), good, token.Client); err == nil {
		t.Error("an MCP client comes in where the configuration does not say so")
	}
}
