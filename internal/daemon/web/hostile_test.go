package web_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/daemon/web"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol"
	"callgate/internal/token"
)

// An operator cannot have its own calls approved by saying that a human did so in a form.
func TestNoTokenSpeaksForAForm(t *testing.T) {
	f := serve(t)
	operator := f.token(token.Operator)
	for _, body := range []string{
		`{"client":"an editor","approval":"a1","approve":true}`, `{"client":"an editor","question":"q1","reply":{}}`,
	} {
		status, answer := f.ask(operator, "POST", "/v1/conversations/t1/form", body)
		if status != http.StatusNotFound || !strings.Contains(answer, "there is no POST") {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
}

// Only an administrator has folders and files read beside those that are served: what is wrong with a file tells
// what is in it.
func TestPlaces(t *testing.T) {
	f := serve(t)
	secret := filepath.Join(t.TempDir(), "secret.key")
	kerneltest.Write(t, secret, "hunter2: [")
	elsewhere := t.TempDir()
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/sessions", jsonOf(t, protocol.OpenSession{Workspace: f.workspace, AppFile: secret})},
		{"POST", "/v1/sessions", jsonOf(t, protocol.OpenSession{Workspace: elsewhere})},
		{"POST", "/v1/conversations", `{"workspace":"` + f.workspace + `","app_file":"` + secret + `"}`},
		{"POST", "/v1/conversations", `{"workspace":"` + elsewhere + `"}`},
		{"GET", "/v1/tools?app=" + url.QueryEscape(secret), ""},
		{"GET", "/v1/tools?workspace=" + url.QueryEscape(elsewhere), ""},
		{"POST", "/v1/tools/filesystem.read/call?workspace=/", `{"args":{"path":"/etc/hosts"}}`},
		{"POST", "/v1/plan", `{"workspace":"` + f.workspace + `","app_file":"` + secret + `"}`},
		{"POST", "/v1/rules/try", `{"workspace":"` + f.workspace + `","file":"` + secret + `"}`},
		{"POST", "/v1/background/start", `{"workspace":"` + f.workspace + `","app_file":"` + secret + `"}`},
	} {
		for _, role := range []token.Role{token.Viewer, token.Operator, token.Approver} {
			status, answer := f.ask(f.token(role), c.method, c.path, c.body)
			if status < 400 || strings.Contains(answer, "hunter2") {
				t.Errorf("%s as %s: %d %s", c.path, role, status, answer)
			}
		}
		profiled := f.token(token.Operator, func(t *token.Token) { t.Profile = "review" })
		if status, answer := f.ask(profiled, c.method, c.path, c.body); status != http.StatusForbidden {
			t.Errorf("%s with a profile: %d %s", c.path, status, answer)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	kerneltest.OK(t, os.Symlink(f.workspace, link))
	for _, named := range []string{f.workspace, link, f.workspace + "/."} {
		body := jsonOf(t, protocol.OpenSession{Workspace: named})
		if status, answer := f.ask(f.token(token.Operator), "POST", "/v1/sessions", body); status != http.StatusOK {
			t.Errorf("the folder that is served, as %s: %d %s", named, status, answer)
		}
	}
}

// A conversation of another folder is not gone on with by who may not open one there.
func TestResumedElsewhere(t *testing.T) {
	f := serve(t)
	elsewhere := t.TempDir()
	admin := f.token(token.Admin)
	_, body := f.ask(admin, "POST", "/v1/conversations", `{"workspace":"`+elsewhere+`"}`)
	var opened protocol.Conversation
	kerneltest.OK(t, json.Unmarshal([]byte(body), &opened))
	f.ask(admin, "DELETE", "/v1/sessions/"+opened.ID, "")
	resume := `{"resume":"` + opened.ID + `"}`
	if status, body := f.ask(f.token(token.Operator), "POST", "/v1/conversations", resume); status != http.StatusForbidden {
		t.Errorf("an operator goes on with it: %d %s", status, body)
	}
	fork := "/v1/conversations/" + opened.ID + "/fork"
	if status, body := f.ask(f.token(token.Operator), "POST", fork, "{}"); status != http.StatusForbidden {
		t.Errorf("an operator forks it: %d %s", status, body)
	}
	if status, body := f.ask(admin, "POST", "/v1/conversations", resume); status != http.StatusOK {
		t.Errorf("an administrator does not: %d %s", status, body)
	}
}

// browserOf is a client that finds this machine under every name below localhost, as browsers do. It follows no
// redirects, and keeps no cookies.
func browserOf(t *testing.T) *http.Client {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err == nil && strings.HasSuffix(host, ".localhost") {
			address = net.JoinHostPort("127.0.0.1", port)
		}
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}
	transport := &http.Transport{DialContext: dial}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// The cookie of a browser is sent to every server of its host. So it counts under a name alone that no other server
// has, and is no token.
func TestCookieIsOfOneName(t *testing.T) {
	f := serve(t)
	code, err := f.kernel.Tokens.OfferLogin(kerneltest.Human(t, f.kernel))
	kerneltest.OK(t, err)
	browser := browserOf(t)
	send := func(method, at string, change func(*http.Request)) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, at, nil)
		kerneltest.OK(t, err)
		change(r)
		answer, err := browser.Do(r)
		kerneltest.OK(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		kerneltest.OK(t, err)
		return answer, string(text)
	}
	nothing := func(*http.Request) {}
	link, err := url.Parse(f.server.LoginURL(code))
	kerneltest.OK(t, err)
	for _, name := range []string{"127.0.0.1", "localhost"} {
		answer, text := send("GET", "http://"+net.JoinHostPort("127.0.0.1", link.Port())+link.RequestURI(),
			func(r *http.Request) { r.Host = net.JoinHostPort(name, link.Port()) })
		if answer.StatusCode != 401 || len(answer.Cookies()) > 0 || strings.Contains(text+answer.Header.Get("Location"), link.Hostname()) {
			t.Errorf("at %s: %d %v %s", name, answer.StatusCode, answer.Header, text)
		}
	}
	send("HEAD", link.String(), nothing) // of a program that shows what a link leads to
	send("GET", link.String(), header("Sec-Purpose", "prefetch"))
	answer, text := send("GET", link.String(), nothing)
	if answer.StatusCode != http.StatusSeeOther || len(answer.Cookies()) != 1 {
		t.Fatalf("the link leads to %d %s", answer.StatusCode, text)
	}
	cookie := answer.Cookies()[0]
	with := func(r *http.Request) { r.AddCookie(cookie) }
	if answer, _ := send("GET", "http://"+link.Host+"/", with); answer.StatusCode != http.StatusOK {
		t.Errorf("under its own name: %d", answer.StatusCode)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "other.localhost"} {
		answer, _ := send("GET", f.server.URL()+"/", func(r *http.Request) { with(r); r.Host = host })
		if answer.StatusCode == http.StatusOK {
			t.Errorf("under the name %s the cookie counts", host)
		}
	}
	for _, at := range []string{f.server.URL() + "/v1/tokens", "http://" + link.Host + "/v1/tokens"} {
		if answer, text := send("GET", at, header("Authorization", "Bearer "+cookie.Value)); answer.StatusCode != 403 {
			t.Errorf("the cookie counts as a token: %d %s", answer.StatusCode, text)
		}
	}
	program := f.token(token.Admin)
	answer, _ = send("GET", "http://"+link.Host+"/", func(r *http.Request) {
		r.AddCookie(&http.Cookie{Name: cookie.Name, Value: program})
	})
	if answer.StatusCode == http.StatusOK {
		t.Error("a program's token counts as a cookie")
	}
}

// A login is no token for processes of this machine either.
func TestLoginIsNoToken(t *testing.T) {
	f := serve(t)
	code, err := f.kernel.Tokens.OfferLogin(kerneltest.Human(t, f.kernel))
	kerneltest.OK(t, err)
	_, value, err := f.kernel.Tokens.Login(t.Context(), code)
	kerneltest.OK(t, err)
	if who, err := f.kernel.Tokens.Use(t.Context(), value, token.Approver); err == nil {
		t.Errorf("it is the token %v", who)
	}
	if _, err := f.kernel.Tokens.UseLogin(t.Context(), value, token.Approver); err != nil {
		t.Errorf("it is no login: %v", err)
	}
}

// What a session of a token does ends with the token, also when nobody has closed the session yet.
func TestCallsEndWithTheToken(t *testing.T) {
	f := serve(t)
	made, _, err := f.kernel.Tokens.Create(t.Context(), kerneltest.Human(t, f.kernel), token.Token{Role: token.Operator})
	kerneltest.OK(t, err)
	s, err := f.kernel.OpenSession(t.Context(), session.Spec{
		Workspace: f.workspace, Requester: approval.Requester{PID: approval.Hidden, Token: made.ID},
	})
	kerneltest.OK(t, err)
	read := session.CallRequest{Name: "filesystem.read", Args: json.RawMessage(`{"path":"hello.txt"}`)}
	kerneltest.OK(t, s.Call(t.Context(), read).Err())
	_, err = f.kernel.Tokens.Revoke(t.Context(), kerneltest.Human(t, f.kernel), made.ID)
	kerneltest.OK(t, err)
	if err := s.Call(t.Context(), read).Err(); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("a call of a token that was revoked: %v", err)
	}
	if err := s.CallAll(t.Context(), []session.CallRequest{read}, nil)[0].Err(); err == nil {
		t.Error("a batch of a token that was revoked was made")
	}
}

// The ID that a client gives its call names a call of its own, and never another's.
func TestIDsAreOfTheirToken(t *testing.T) {
	f := serve(t)
	call := func(value, text string) string {
		_, body := f.ask(value, "POST", "/v1/tools/memory.remember/call",
			`{"id":"cabc","args":{"content":"`+text+`"}}`)
		return body
	}
	mine, other := f.token(token.Operator), f.token(token.Operator)
	first := call(mine, "a secret of mine")
	if again := call(mine, "a secret of mine"); again != first {
		t.Errorf("asked again:\n%s\n%s", first, again)
	}
	if theirs := call(other, "something else"); theirs == first || strings.Contains(theirs, "secret of mine") {
		t.Errorf("another token is answered %s", theirs)
	}
	if strings.Contains(first, `"cabc"`) {
		t.Errorf("the call has the ID that its client chose: %s", first)
	}
}

// A session that was closed behind the back of who names none is opened again.
func TestImpliedSessionIsOpenedAgain(t *testing.T) {
	f := serve(t)
	operator := f.token(token.Operator)
	read := func() int {
		status, _ := f.ask(operator, "POST", "/v1/tools/filesystem.read/call", `{"args":{"path":"hello.txt"}}`)
		return status
	}
	if status := read(); status != http.StatusOK {
		t.Fatal(status)
	}
	records, err := f.kernel.Journal.Read(t.Context(), journal.Query{Kind: journal.Ended, Newest: true, Limit: 1})
	kerneltest.OK(t, err)
	s, err := f.kernel.Sessions.Get(records[0].Principal.Session)
	kerneltest.OK(t, err)
	s.Close()
	if status := read(); status != http.StatusOK {
		t.Errorf("the next call: %d", status)
	}
}

// One token has so many sessions open, and those that it closes count no more.
func TestSessionsAreBounded(t *testing.T) {
	f := serve(t)
	viewer := f.token(token.Viewer)
	open := func() (int, string) {
		status, body := f.ask(viewer, "POST", "/v1/sessions", "{}")
		var s protocol.Session
		_ = json.Unmarshal([]byte(body), &s)
		return status, s.ID
	}
	var last string
	for range web.MaxSessions {
		status, id := open()
		if status != http.StatusOK {
			t.Fatal(status)
		}
		last = id
	}
	if status, _ := open(); status != http.StatusTooManyRequests {
		t.Errorf("one too many: %d", status)
	}
	if status, _ := f.ask(f.token(token.Viewer), "POST", "/v1/sessions", "{}"); status != http.StatusOK {
		t.Errorf("another token: %d", status)
	}
	f.ask(viewer, "DELETE", "/v1/sessions/"+last, "")
	if status, _ := open(); status != http.StatusOK {
		t.Errorf("after one was closed: %d", status)
	}
}

// Whoever owns a conversation may have it do less without asking; more is for who could say yes.
func TestOperatorsTighten(t *testing.T) {
	f := serve(t)
	operator := f.token(token.Operator)
	_, body := f.ask(operator, "POST", "/v1/conversations", "{}")
	var c protocol.Conversation
	kerneltest.OK(t, json.Unmarshal([]byte(body), &c))
	for mode, want := range map[protocol.PermissionMode]int{protocol.ModePlan: 200, protocol.ModeAcceptEdits: 403} {
		status, body := f.ask(operator, "POST", "/v1/conversations/"+c.ID+"/permissions", jsonOf(t, protocol.SetPermissions{Mode: mode}))
		if status != want {
			t.Errorf("the mode %s: %d %s", mode, status, body)
		}
	}
}
