package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/daemon/httpapi"
	"callgate/internal/daemon/web"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
	"callgate/internal/token"
	"callgate/tool"
)

// face is a kernel that is served over the network.
type face struct {
	testing.TB
	kernel    *kernel.Kernel
	api       *httpapi.API
	server    *web.Server
	workspace string
}

func serve(t testing.TB, change ...func(*web.Options)) *face {
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	f := &face{TB: t, kernel: k, workspace: t.TempDir()}
	kerneltest.Write(t, filepath.Join(f.workspace, "hello.txt"), "hello")
	f.api = httpapi.New(k, httpapi.Lifecycle{Context: t.Context()})
	t.Cleanup(f.api.Close)
	var err error
	o := web.Options{
		API: f.api, Tokens: k.Tokens, Workspace: f.workspace, Log: slog.New(slog.DiscardHandler),
		AppID: func(ctx context.Context) (string, error) {
			l, err := k.Apps.Load(ctx, f.workspace, "")
			if err != nil {
				return "", err
			}
			return l.AppID(), nil
		},
		Alive: func(id string) bool { _, err := k.Sessions.Get(id); return err == nil },
		Note:  func(text string) { kerneltest.OK(t, k.Journal.Append(journal.Record{Kind: journal.Noted, Note: text})) },
	}
	for _, c := range change {
		c(&o)
	}
	f.server, err = web.Listen("127.0.0.1:0", o)
	kerneltest.OK(t, err)
	t.Cleanup(func() { kerneltest.OK(t, f.server.Close(context.Background())) })
	return f
}

func (f *face) token(role token.Role, change ...func(*token.Token)) (value string) {
	f.Helper()
	want := token.Token{Role: role}
	for _, c := range change {
		c(&want)
	}
	_, value, err := f.kernel.Tokens.Create(f.Context(), kerneltest.Human(f, f.kernel), want)
	kerneltest.OK(f, err)
	return value
}

// ask sends a request with a token and returns the status and the body.
func (f *face) ask(value, method, path, body string, change ...func(*http.Request)) (int, string) {
	f.Helper()
	r, err := http.NewRequestWithContext(f.Context(), method, f.server.URL()+path, strings.NewReader(body))
	kerneltest.OK(f, err)
	if value != "" {
		r.Header.Set("Authorization", "Bearer "+value)
	}
	for _, c := range change {
		c(r)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	kerneltest.OK(f, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	kerneltest.OK(f, err)
	return answer.StatusCode, string(text)
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// Every route of the protocol has a role, or is for this machine alone.
func TestEveryRouteHasARole(t *testing.T) {
	f := serve(t)
	local := []string{
		protocol.RouteStop, protocol.RouteRelease, protocol.RouteMCP, protocol.RouteMCPProfile, protocol.RouteLogin,
		protocol.RouteCreateToken, protocol.RouteChallenge, protocol.RouteConsentChallenge, protocol.RouteConsole,
		protocol.RouteQuestionChallenge, protocol.RouteCreateKey, protocol.RouteTrustKey, protocol.RouteSign,
		protocol.RouteAnswerForm, operations.RouteOwnBench,
	}
	over := web.Routes()
	for _, r := range f.api.Routes() {
		if slices.Contains(over, r) == slices.Contains(local, r) {
			t.Errorf("%s: served over the network is %v, and so is for this machine alone", r, slices.Contains(over, r))
		}
	}
	for _, r := range over {
		if !slices.Contains(f.api.Routes(), r) {
			t.Errorf("%s has a role, and there is no such route", r)
		}
	}
}

// What each role may do.
func TestRoles(t *testing.T) {
	f := serve(t)
	for _, c := range []struct {
		method, path, body string
		least              []token.Role // who may; the others are refused
	}{
		{"GET", "/v1/status", "", []token.Role{token.Viewer, token.Operator, token.Approver, token.Admin}},
		{"GET", "/v1/approvals", "", []token.Role{token.Viewer, token.Operator, token.Approver, token.Admin}},
		{"GET", "/v1/tools", "", []token.Role{token.Viewer, token.Operator, token.Approver, token.Admin}},
		{"POST", "/v1/tools/filesystem.read/call", `{"args":{"path":"hello.txt"}}`, []token.Role{token.Operator, token.Admin}},
		{"POST", "/v1/grants/revoke", `{"ids":[]}`, []token.Role{token.Approver, token.Admin}},
		{"GET", "/v1/undo", "", []token.Role{token.Approver, token.Admin}},
		{"GET", "/v1/tokens", "", []token.Role{token.Admin}},
		{"GET", "/v1/secrets", "", []token.Role{token.Admin}},
		{"PUT", "/v1/secrets/API_KEY", `{"value":"eA=="}`, []token.Role{token.Admin}},
		{"POST", "/v1/tokens", `{"role":"admin"}`, nil},
		{"POST", "/v1/stop", "", nil},
		{"POST", "/v1/console", "{}", nil},
	} {
		for _, role := range token.Roles() {
			status, body := f.ask(f.token(role), c.method, c.path, c.body)
			if may := slices.Contains(c.least, role); may != (status < 300) {
				t.Errorf("%s %s as %s: %d %s", c.method, c.path, role, status, body)
			}
		}
	}
}

// A call that asks a human is answered by who may, over the network, and by nobody else.
func TestApproval(t *testing.T) {
	f := serve(t)
	operator, viewer, approver := f.token(token.Operator), f.token(token.Viewer), f.token(token.Approver)
	type done struct {
		status int
		body   string
	}
	ended := make(chan done, 1)
	go func() {
		status, body := f.ask(operator, "POST", "/v1/tools/shell.bash/call", `{"args":{"command":"touch made && echo said"}}`)
		ended <- done{status, body}
	}()
	var waiting []protocol.Approval
	kerneltest.Eventually(t, func() bool {
		_, body := f.ask(viewer, "GET", "/v1/approvals?state=pending", "")
		kerneltest.OK(t, json.Unmarshal([]byte(body), &waiting))
		return len(waiting) == 1
	})
	answer := "/v1/approvals/" + waiting[0].ID + "/answer"
	key := kerneltest.Human(t, f.kernel).Key
	for who, value := range map[string]string{"viewer": viewer, "operator": operator} {
		status, body := f.ask(value, "POST", answer, `{"approve":true}`, header(protocol.KeyHeader, key),
			header(protocol.TokenHeader, approver))
		if status != http.StatusForbidden {
			t.Errorf("the %s answered with other people's proofs: %d %s", who, status, body)
		}
	}
	if status, body := f.ask(approver, "POST", answer, `{"approve":true,"by":"somebody else"}`); status != http.StatusOK {
		t.Fatalf("the approver was refused: %d %s", status, body)
	}
	got := <-ended
	if got.status != http.StatusOK || !strings.Contains(got.body, "said") {
		t.Errorf("the call ended with %d %s", got.status, got.body)
	}
	records, err := f.kernel.Journal.Read(t.Context(), journal.Query{Kind: journal.Noted, Newest: true, Limit: 20})
	kerneltest.OK(t, err)
	refused := slices.ContainsFunc(records, func(r journal.Record) bool {
		return strings.Contains(r.Note, "refused over the network: POST "+answer)
	})
	if !refused {
		t.Errorf("who tried to approve is not on record: %v", records)
	}
}

// What is refused before anything else is looked at.
func TestDoors(t *testing.T) {
	f := serve(t)
	admin := f.token(token.Admin)
	for name, c := range map[string]struct {
		token, method, path string
		change              func(*http.Request)
		status              int
	}{
		"no token":                 {"", "GET", "/v1/status", nil, 401},
		"wrong token":              {"cgt_aaaaaaaa_bbbb", "GET", "/v1/status", nil, 403},
		"changed token":            {admin[:len(admin)-1] + "?", "GET", "/v1/status", nil, 403},
		"another host":             {admin, "GET", "/v1/status", func(r *http.Request) { r.Host = "evil.example" }, 403},
		"a host of another":        {admin, "GET", "/v1/status", func(r *http.Request) { r.Host = "127.0.0.1.evil.example:80" }, 403},
		"another origin":           {admin, "POST", "/v1/sessions", header("Origin", "http://evil.example"), 403},
		"another site":             {admin, "POST", "/v1/sessions", header("Sec-Fetch-Site", "cross-site"), 403},
		"basic":                    {"", "GET", "/v1/status", header("Authorization", "Basic Zm9vOmJhcg=="), 403},
		"a key in its place":       {"", "GET", "/v1/status", header(protocol.KeyHeader, kerneltest.Human(t, f.kernel).Key), 401},
		"a token of a process":     {"", "GET", "/v1/status", header(protocol.TokenHeader, admin), 401},
		"a path below another":     {admin, "GET", "/v1/approvals/..%2f..%2ftokens", nil, 404},
		"an unknown route":         {admin, "GET", "/v1/nothing", nil, 404},
		"an unknown route, nobody": {"", "GET", "/v1/nothing", nil, 401},
		"MCP over HTTP":            {admin, "POST", protocol.MCPHTTPPath, header(protocol.MCPClientHeader, `{"NoAuth":true}`), 404},
	} {
		if c.change == nil {
			c.change = func(*http.Request) {}
		}
		if status, body := f.ask(c.token, c.method, c.path, "{}", c.change); status != c.status {
			t.Errorf("%s: %d, not %d: %s", name, status, c.status, body)
		}
	}
}

// A problem says what it is, in the words of RFC 9457 and in ours.
func TestProblems(t *testing.T) {
	f := serve(t)
	_, body := f.ask(f.token(token.Viewer), "GET", "/v1/approvals/none", "")
	var p map[string]any
	kerneltest.OK(t, json.Unmarshal([]byte(body), &p))
	if p["type"] != "urn:callgate:not_found" || p["status"] != 404. || p["kind"] != "not_found" ||
		p["detail"] != p["message"] || p["detail"] == "" || p["hint"] == "" {
		t.Errorf("the problem is %s", body)
	}
}

// A body that is too large, or is not JSON, or never comes, is an error and nothing else.
func TestBodies(t *testing.T) {
	f := serve(t)
	operator := f.token(token.Operator)
	large := `{"args":{"path":"` + strings.Repeat("a", 65<<20) + `"}}`
	for body, want := range map[string]int{large: 400, "{": 400, `{"args":{},"unknown":1}`: 400, `{"name":"shell.bash"}`: 400} {
		status, answer := f.ask(operator, "POST", "/v1/tools/filesystem.read/call", body)
		if status != want {
			t.Errorf("a body of %d bytes: %d %s", len(body), status, tool.Truncate(answer))
		}
	}
}

// A link lets one browser in, once; what it then does carries the page's CSRF token.
func TestLogin(t *testing.T) {
	f := serve(t)
	code, err := f.kernel.Tokens.OfferLogin(kerneltest.Human(t, f.kernel))
	kerneltest.OK(t, err)
	jar, err := cookiejar.New(nil)
	kerneltest.OK(t, err)
	stranger := browserOf(t)
	browser := &http.Client{Jar: jar, Transport: stranger.Transport}
	get := func(c *http.Client, url string) (int, string) {
		t.Helper()
		answer, err := c.Get(url)
		kerneltest.OK(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		kerneltest.OK(t, err)
		return answer.StatusCode, string(text)
	}
	if status, body := get(browser, f.server.URL()); status != 401 || !strings.Contains(body, "callgate console") {
		t.Errorf("a stranger sees %d %s", status, body)
	}
	status, page := get(browser, f.server.LoginURL(code))
	_, csrf, _ := strings.Cut(page, `data-csrf="`)
	csrf, _, _ = strings.Cut(csrf, `"`)
	if status != 200 || csrf == "" {
		t.Fatalf("the link leads to %d %s", status, page)
	}
	if status, body := get(stranger, f.server.LoginURL(code)); status != 401 {
		t.Errorf("the link worked twice: %d %s", status, body)
	}
	own, _, _ := strings.Cut(f.server.LoginURL(""), "/login")
	post := func(change func(*http.Request)) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", own+"/v1/sessions",
			strings.NewReader(`{"workspace":"`+f.workspace+`"}`))
		kerneltest.OK(t, err)
		change(r)
		answer, err := browser.Do(r)
		kerneltest.OK(t, err)
		defer answer.Body.Close()
		return answer.StatusCode
	}
	if status := post(func(*http.Request) {}); status != 403 {
		t.Errorf("a request without a CSRF token: %d", status)
	}
	if status := post(header(web.CSRFHeader, csrf[1:])); status != 403 {
		t.Errorf("a request with another CSRF token: %d", status)
	}
	if status := post(header(web.CSRFHeader, csrf)); status != 200 {
		t.Errorf("a request of the page: %d", status)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", own+"/logout", nil)
	kerneltest.OK(t, err)
	r.Header.Set(web.CSRFHeader, csrf)
	answer, err := browser.Do(r)
	kerneltest.OK(t, err)
	answer.Body.Close()
	if status := post(header(web.CSRFHeader, csrf)); status == 200 {
		t.Error("the login counts after it ended")
	}
}

// Sessions of one token are not another's, and end with it.
func TestSessionsAreOfTheirToken(t *testing.T) {
	f := serve(t)
	mine, other := f.token(token.Operator, func(t *token.Token) { t.Name = "mine" }), f.token(token.Operator)
	_, body := f.ask(mine, "POST", "/v1/sessions", `{"workspace":"`+f.workspace+`"}`)
	var s protocol.Session
	kerneltest.OK(t, json.Unmarshal([]byte(body), &s))
	call := func(value string) int {
		status, _ := f.ask(value, "POST", "/v1/sessions/"+s.ID+"/calls", `{"name":"filesystem.read","args":{"path":"hello.txt"}}`)
		return status
	}
	if own, others := call(mine), call(other); own != 200 || others != 403 {
		t.Errorf("the session's own token is answered %d, another one %d", own, others)
	}
	_, err := f.kernel.Tokens.Revoke(t.Context(), kerneltest.Human(t, f.kernel), "mine")
	kerneltest.OK(t, err)
	if n := f.kernel.Sessions.Len(); n != 0 {
		t.Errorf("%d sessions are left of a token that was revoked", n)
	}
}

// A token of one profile sees and does no more than that part of the app.
func TestProfile(t *testing.T) {
	f := serve(t)
	value := f.token(token.Operator, func(t *token.Token) { t.Profile = "review" })
	for path, want := range map[string]int{
		"/v1/status": 200, "/v1/journal": 403, "/v1/approvals": 403, "/v1/conversations": 403, "/v1/tools": 404,
	} {
		if status, body := f.ask(value, "GET", path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := f.ask(value, "POST", "/v1/conversations", `{"workspace":"`+f.workspace+`"}`); status != 403 {
		t.Errorf("a conversation was opened: %d %s", status, body)
	}
}

// A call is made once for an Idempotency-Key, also in another session.
func TestIdempotencyKey(t *testing.T) {
	f := serve(t)
	operator, admin := f.token(token.Operator), f.token(token.Admin)
	write := func(value, text string) string {
		_, body := f.ask(value, "POST", "/v1/tools/memory.remember/call", `{"args":{"content":"`+text+`"}}`,
			header("Idempotency-Key", "one"))
		return body
	}
	first, again, others := write(operator, "a"), write(operator, "a"), write(admin, "b")
	if first != again {
		t.Errorf("the same key had another answer:\n%s\n%s", first, again)
	}
	if first == others {
		t.Errorf("another token's key had the same answer: %s", others)
	}
	if changed := write(operator, "c"); !strings.Contains(changed, "was used for another call") {
		t.Errorf("another call under the same key: %s", changed)
	}
}

// The journal is followed by server-sent events, from where one was.
func TestFollow(t *testing.T) {
	f := serve(t)
	for _, note := range []string{"one", "two", "three"} {
		kerneltest.OK(t, f.kernel.Journal.Append(journal.Record{Kind: journal.Noted, Note: note}))
	}
	kerneltest.OK(t, f.kernel.Journal.Flush(t.Context()))
	records, err := f.kernel.Journal.Read(t.Context(), journal.Query{Kind: journal.Noted})
	kerneltest.OK(t, err)
	at := slices.IndexFunc(records, func(r journal.Record) bool { return r.Note == "two" })
	r, err := http.NewRequestWithContext(t.Context(), "GET", f.server.URL()+"/v1/journal/follow", nil)
	kerneltest.OK(t, err)
	r.Header.Set("Authorization", "Bearer "+f.token(token.Viewer))
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Last-Event-ID", jsonOf(t, records[at].Seq))
	answer, err := http.DefaultTransport.RoundTrip(r)
	kerneltest.OK(t, err)
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	var got []string
	for len(got) < 3 && lines.Scan() {
		got = append(got, lines.Text())
	}
	if len(got) < 3 || got[0] != "id: "+jsonOf(t, records[at].Seq+1) || got[1] != "event: record" || !strings.Contains(got[2], `"three"`) {
		t.Errorf("the stream goes on with %q", got)
	}
}

func jsonOf(t *testing.T, v any) string {
	data, err := json.Marshal(v)
	kerneltest.OK(t, err)
	return string(bytes.TrimSpace(data))
}

// A stream ends with the token that it was opened with.
func TestStreamEndsWithItsToken(t *testing.T) {
	f := serve(t)
	r, err := http.NewRequestWithContext(t.Context(), "GET", f.server.URL()+"/v1/journal/follow", nil)
	kerneltest.OK(t, err)
	r.Header.Set("Authorization", "Bearer "+f.token(token.Viewer, func(t *token.Token) { t.Name = "screen" }))
	answer, err := http.DefaultTransport.RoundTrip(r)
	kerneltest.OK(t, err)
	defer answer.Body.Close()
	_, err = f.kernel.Tokens.Revoke(t.Context(), kerneltest.Human(t, f.kernel), "screen")
	kerneltest.OK(t, err)
	_, err = io.Copy(io.Discard, answer.Body) // it would never end
	kerneltest.OK(t, err)
}

// Where other machines could listen in, nothing is served without TLS.
func TestNoPlainNetwork(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.org:0"} {
		if s, err := web.Listen(address, web.Options{}); tool.KindOf(err) != tool.Denied {
			t.Errorf("%s: %v %v", address, s, err)
		}
	}
}

// Expired tokens let nobody in.
func TestExpired(t *testing.T) {
	f := serve(t)
	value := f.token(token.Viewer, func(t *token.Token) { t.Expires = time.Now().Add(300 * time.Millisecond) })
	kerneltest.Eventually(t, func() bool {
		status, _ := f.ask(value, "GET", "/v1/status", "")
		return status == http.StatusForbidden
	})
}

// A conversation is forked, and the fork gone on with.
func TestFork(t *testing.T) {
	f := serve(t)
	operator := f.token(token.Operator)
	_, body := f.ask(operator, "POST", "/v1/conversations", "{}")
	var opened protocol.Conversation
	kerneltest.OK(t, json.Unmarshal([]byte(body), &opened))
	f.ask(operator, "POST", "/v1/conversations/"+opened.ID+"/messages", `{"text":"filesystem.read path=hello.txt"}`)
	var made protocol.ConversationInfo
	_, body = f.ask(operator, "POST", "/v1/conversations/"+opened.ID+"/fork", "{}")
	kerneltest.OK(t, json.Unmarshal([]byte(body), &made))
	if made.Forked != opened.ID || made.Turns != 1 || made.ID == opened.ID {
		t.Fatalf("the fork is %s", body)
	}
	status, body := f.ask(operator, "POST", "/v1/conversations", `{"resume":"`+made.ID+`"}`)
	if status != http.StatusOK {
		t.Fatalf("it is not gone on with: %d %s", status, body)
	}
	_, body = f.ask(operator, "POST", "/v1/conversations/"+made.ID+"/messages", `{"text":"filesystem.read path=hello.txt"}`)
	if !strings.Contains(body, "hello") {
		t.Errorf("its next turn is %s", body)
	}
}
