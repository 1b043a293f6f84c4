package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/daemon/mcpserver"
	"callgate/internal/daemon/web/oidclogin"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/token"
)

// These tests hold what a genuine credential means: an audience is for one face, the asker is not the approver, and a revocation ends
// everything of a subject.

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

// mcpFace serves the kernel's clients of MCP over HTTP.
func (f *face) mcpFace(t testing.TB) *httptest.Server {
	t.Helper()
	server := mcpserver.New(f.kernel)
	t.Cleanup(server.Close)
	served := httptest.NewServer(server.Handler(t.Context(), mcpserver.HTTPOptions{
		Options: mcpserver.Options{Session: session.Spec{Workspace: f.workspace}}, Token: "that of all clients",
	}))
	t.Cleanup(func() { served.CloseClientConnections(); served.Close() })
	return served
}

func askMCP(ctx context.Context, t testing.TB, at *httptest.Server, method, jwt, connection, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, at.URL, strings.NewReader(body))
	kerneltest.OK(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+jwt)
	if connection != "" {
		r.Header.Set("Mcp-Session-Id", connection)
	}
	answer, err := http.DefaultClient.Do(r)
	kerneltest.OK(t, err)
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// mcp serves clients of MCP, and returns what sends a message of one.
func (f *face) mcp(t testing.TB) func(jwt, connection, body string) (status int, answer, id string) {
	at := f.mcpFace(t)
	return func(jwt, connection, body string) (int, string, string) {
		answer := askMCP(t.Context(), t, at, http.MethodPost, jwt, connection, body)
		text, err := io.ReadAll(answer.Body)
		kerneltest.OK(t, err)
		return answer.StatusCode, string(text), answer.Header.Get("Mcp-Session-Id")
	}
}

// A configuration that lets one token in at both faces is refused, with the line that mends it.
func TestOneAudienceOneFace(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	for name, c := range map[string]struct{ bearer, want string }{
		"as in earlier versions": {"{audience: [gate], mcp: true}", "mcp: [callgate-mcp]"},
		"one audience for both":  {"{audience: [gate, x], mcp: [x]}", "mcp: [callgate-mcp]"},
		"the text of one":        {"{audience: [gate], mcp: gate}", "mcp: [callgate-mcp]"},
		"an empty one":           {"{audience: [gate], mcp: ['']}", "mcp: [callgate-mcp]"},
		"no audience":            {"{audience: [gate], mcp: {x: 1}}", "mcp: [callgate-mcp]"},
		"that of logins":         {"{audience: [callgate]}", "audience: [callgate-api]"},
		"that of logins for MCP": {"{audience: [gate], mcp: [callgate]}", "audience: [callgate-api]"},
	} {
		at := filepath.Join(t.TempDir(), "oidc.yaml")
		kerneltest.Write(t, at, "issuer: "+i.URL+"\nclient_id: callgate\nuser: sub\n"+
			"people: [{claim: email, value: ada@example.org, role: admin}]\nbearer: "+c.bearer+"\n")
		if _, err := oidclogin.Read(at); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, bearer := range map[string]string{
		"none": "{audience: [gate]}", "no clients": "{audience: [gate], mcp: false}", "a text": "{audience: [gate], mcp: gate-mcp}",
	} {
		f := withBearers(t, i, bearer)
		status, text := f.ask(i.sign(i.claims(nil)), "GET", "/v1/conversations", "")
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	f := withBearers(t, i, bearers)
	both := i.sign(i.claims(func(c map[string]any) { c["aud"] = []string{"gate", "gate-mcp"} }))
	for name, c := range map[string]struct{ jwt, want string }{
		"that of a client": {i.sign(i.claims(forMCP)), "it is for an MCP client, and does not count at the API"},
		"for both":         {both, "a token counts at one of them"},
	} {
		if status, text := f.ask(c.jwt, "GET", "/v1/conversations", ""); status != http.StatusUnauthorized ||
			!strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
}

// The attack: an agent that has the token of its MCP client makes a call, and answers the question itself. It does not
// with that token, and the same subject does not with another; a token that a human made for the user does.
func TestAskerIsNotApprover(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	f := withBearers(t, i, "{audience: [gate], roles: [{claim: groups, value: ops, role: admin}], mcp: [gate-mcp]}")
	post := f.mcp(t)
	ops := func(change func(map[string]any)) string {
		return i.sign(i.claims(func(c map[string]any) {
			c["groups"] = []string{"ops"}
			if change != nil {
				change(c)
			}
		}))
	}
	waits := func() (id string) {
		kerneltest.Eventually(t, func() bool {
			list, err := f.kernel.Approvals.List(t.Context(), approval.Pending, 10)
			kerneltest.OK(t, err)
			if len(list) == 1 {
				id = list[0].ID
			}
			return id != ""
		})
		return id
	}
	answer := func(jwt, id string) (int, string) {
		return f.ask(jwt, "POST", "/v1/approvals/"+id+"/answer", `{"approve":true}`)
	}
	client := ops(forMCP)
	_, _, connection := post(client, "", hello)
	post(client, connection, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	said := make(chan string, 1)
	go func() {
		_, text, _ := post(client, connection, `{"jsonrpc":"2.0","id":2,"method":"tools/call",`+
			`"params":{"name":"shell__bash","arguments":{"command":"touch made && echo said"}}}`)
		said <- text
	}()
	id := waits()
	if status, text := answer(client, id); status != http.StatusUnauthorized {
		t.Errorf("with the client's own token: %d %s", status, text)
	}
	if status, text := answer(ops(nil), id); status != http.StatusForbidden || !strings.Contains(text, "the asker cannot approve it") {
		t.Errorf("the same subject at the API: %d %s", status, text)
	}
	if status, text := f.ask(ops(nil), "POST", "/v1/approvals/"+id+"/answer", `{"approve":false}`); status != http.StatusOK {
		t.Errorf("a no of the asker: %d %s", status, text)
	}
	if text := <-said; strings.Contains(text, "said\\n") {
		t.Errorf("the call has run: %s", text)
	}
	// The same at the API alone.
	done := make(chan int, 1)
	go func() {
		status, _ := f.ask(ops(nil), "POST", "/v1/tools/shell.bash/call", `{"args":{"command":"touch made && echo said"}}`)
		done <- status
	}()
	id = waits()
	if status, text := answer(ops(nil), id); status != http.StatusForbidden {
		t.Errorf("an asker at the API: %d %s", status, text)
	}
	made := f.token(token.Approver, func(t *token.Token) { t.User = "u1@127.0.0.1" })
	if status, text := answer(made, id); status != http.StatusOK {
		t.Fatalf("with a token that a human made for them: %d %s", status, text)
	}
	if status := <-done; status != http.StatusOK {
		t.Errorf("the call that was approved: %d", status)
	}
}

// A revocation is of a subject: it ends what they have at both faces at once, with the streams that are open.
func TestRevokedAtBothFaces(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	f := withBearers(t, i, bearers)
	at := f.mcpFace(t)
	api, client := i.sign(i.claims(nil)), i.sign(i.claims(forMCP))
	connection := askMCP(t.Context(), t, at, http.MethodPost, client, "", hello).Header.Get("Mcp-Session-Id")
	stream := askMCP(t.Context(), t, at, http.MethodGet, client, connection, "")
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("no stream: %s", stream.Status)
	}
	if status, text := f.ask(api, "GET", "/v1/conversations", ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	human := kerneltest.Human(t, f.kernel)
	list, err := f.kernel.Tokens.List(t.Context(), human)
	kerneltest.OK(t, err)
	if len(list) != 1 || list[0].Role != token.Viewer {
		t.Fatalf("the person is listed as %+v", list)
	}
	_, err = f.kernel.Tokens.Revoke(t.Context(), human, list[0].ID)
	kerneltest.OK(t, err)
	if _, err := io.Copy(io.Discard, stream.Body); err != nil && !strings.Contains(err.Error(), "EOF") {
		t.Errorf("the stream ended with %v", err)
	}
	if answer := askMCP(t.Context(), t, at, http.MethodPost, client, connection, hello); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("at MCP: %s", answer.Status)
	}
	if status, text := f.ask(api, "GET", "/v1/conversations", ""); status != http.StatusUnauthorized {
		t.Errorf("at the API: %d %s", status, text)
	}
}

// A stream of MCP ends with the token that it was opened with.
func TestStreamOfMCPEndsWithItsToken(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	f := withBearers(t, i, bearers)
	at := f.mcpFace(t)
	if status, text := f.ask(i.sign(i.claims(nil)), "GET", "/v1/conversations", ""); status != http.StatusOK { // an hour's
		t.Fatalf("%d %s", status, text)
	}
	end := time.Now().Add(3 * time.Second)
	client := i.sign(i.claims(func(c map[string]any) { forMCP(c); c["exp"] = end.Unix() }))
	connection := askMCP(t.Context(), t, at, http.MethodPost, client, "", hello).Header.Get("Mcp-Session-Id")
	stream := askMCP(t.Context(), t, at, http.MethodGet, client, connection, "")
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("no stream: %s", stream.Status)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(stream.Body).WriteTo(io.Discard)
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Until(end) + 20*time.Second):
		t.Fatal("the stream goes on after its token has expired")
	}
	if answer := askMCP(t.Context(), t, at, http.MethodGet, client, connection, ""); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("a new one: %s", answer.Status)
	}
	next := i.sign(i.claims(forMCP)) // the next token goes on with the connection
	if answer := askMCP(t.Context(), t, at, http.MethodGet, next, connection, ""); answer.StatusCode != http.StatusOK {
		t.Errorf("with the next token: %s", answer.Status)
	}
}

// Logins that strangers begin and do not finish prevent no other login.
func TestLoginsThatStrangersBegin(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	p := providerOf(t, i)
	for range 3000 {
		_, _, err := p.Begin(t.Context(), "http://127.0.0.1/back")
		kerneltest.OK(t, err)
	}
	if status, text, cookie := logIn(t, withOIDC(t, i), nil); status != http.StatusOK || cookie == nil {
		t.Errorf("a login among them: %d %s", status, text)
	}
}

// A request gives up on a provider that does not answer after its own time limit, however many others wait for it.
func TestProviderThatHangs(t *testing.T) {
	t.Parallel()
	asked, free := make(chan struct{}, 10), make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-free
	}))
	t.Cleanup(func() { close(free); hangs.Close() })
	p, err := oidclogin.New(oidclogin.Config{
		Issuer: hangs.URL, ClientID: "callgate", People: []oidclogin.Rule{{Claim: "sub", Value: "u1", Role: token.Viewer}},
	})
	kerneltest.OK(t, err)
	first, leave := context.WithCancel(t.Context())
	defer leave()
	waits := make(chan error, 1)
	go func() {
		_, _, err := p.Begin(first, "http://127.0.0.1/back")
		waits <- err
	}()
	<-asked
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	second := make(chan error, 1)
	go func() {
		_, _, err := p.Begin(gone, "http://127.0.0.1/back")
		second <- err
	}()
	select {
	case err := <-second:
		if err == nil {
			t.Error("a login began")
		}
	case err := <-waits:
		t.Fatalf("the first ended before the second, with %v", err)
	case <-time.After(10 * time.Second): // the provider has twice that
		t.Fatal("the second waits for the first")
	}
}

// A cookie of a login is good for that login in that time, and for no other.
func TestCookieOfALogin(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	p, other := providerOf(t, i), providerOf(t, i)
	_, mine, err := p.Begin(t.Context(), "http://127.0.0.1/back")
	kerneltest.OK(t, err)
	for _, secret := range []string{"nonce", "Nonce", "verifier", "127.0.0.1"} {
		if strings.Contains(mine, secret) {
			t.Errorf("the cookie shows %s", secret)
		}
	}
	changed := []byte(mine)
	changed[20] ^= 1
	for name, cookie := range map[string]string{"none": "", "changed": string(changed), "nonsense": "x"} {
		if _, err := p.End(t.Context(), map[string][]string{"state": {""}, "code": {"x"}}, cookie); err == nil ||
			!strings.Contains(err.Error(), "was not begun here") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := other.End(t.Context(), map[string][]string{"state": {"x"}}, mine); err == nil {
		t.Error("another process takes it")
	}
}

func providerOf(t *testing.T, i *issuer) *oidclogin.Provider {
	t.Helper()
	p, err := oidclogin.New(oidclogin.Config{
		Issuer: i.URL, ClientID: "callgate", ClientSecret: "s3cret",
		People: []oidclogin.Rule{{Claim: "email", Value: "ada@example.org", Role: token.Admin}},
	})
	kerneltest.OK(t, err)
	return p
}

// If an administrator names some other file as the app file, the error gives the positions of its mistakes and quotes nothing.
func TestAppFileIsNotShown(t *testing.T) {
	t.Parallel()
	f := serve(t)
	secret := filepath.Join(t.TempDir(), "shadow")
	kerneltest.Write(t, secret, "root:*:20228:0:99999:7:::\nada:$y$j9T$deadbeef:20228:0\n- x: [\n")
	admin := f.token(token.Admin)
	body, err := json.Marshal(map[string]any{"workspace": f.workspace, "app_file": secret})
	kerneltest.OK(t, err)
	for name, ask := range map[string]func() (int, string){
		"a tool's list": func() (int, string) { return f.ask(admin, "GET", "/v1/tools?app="+secret, "") },
		"a session":     func() (int, string) { return f.ask(admin, "POST", "/v1/sessions", string(body)) },
	} {
		status, text := ask()
		if status < 400 || !strings.Contains(text, secret+":") {
			t.Errorf("%s: %d %s", name, status, text)
		}
		for _, line := range []string{"20228", "deadbeef", "99999"} {
			if strings.Contains(text, line) {
				t.Errorf("%s shows %s: %s", name, line, text)
			}
		}
	}
}
