package forward_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"callgate/internal/daemon/forward"
	"callgate/internal/daemon/web"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/internal/token"
	"callgate/tool"
)

func TestMain(m *testing.M) { kerneltest.Main(m, nil) }

// newShared starts nodes that share a database of PostgreSQL.
func newShared(t testing.TB, count int, tools ...*tool.Tool) (all []*node) {
	return newSharedAt(t, kerneltest.Postgres.URL(t), count, tools...)
}

func newSharedAt(t testing.TB, at string, count int, tools ...*tool.Tool) (all []*node) {
	for range count {
		k := kerneltest.OpenWith(t, kernel.Config{
			State: kerneltest.StateDir(t), Storage: at, Tools: tools, Lineage: terminal{},
		})
		n := &node{TB: t, id: kernel.NodeOf(k).ID, kernel: k, workspace: t.TempDir()}
		n.front(func(o *forward.Options) {
			o.Directory, o.Key = forward.Nodes(kernel.NodeOf(k)), kernel.NodeOf(k).Key
			o.Names = forward.ClaimedNames(kernel.NodeOf(k), k.Artifacts)
		})
		all = append(all, n)
	}
	return all
}

// web serves a node over the network, as a daemon does.
func (n *node) web() *web.Server {
	n.Helper()
	s, err := web.Listen("127.0.0.1:0", web.Options{
		API: n.forwarder, Tokens: n.kernel.Tokens, Workspace: n.workspace, Log: slog.New(slog.DiscardHandler),
		AppID: func(context.Context) (string, error) { return "", nil }, Note: func(string) {},
		Alive:    func(id string) bool { return n.forwarder.IsAway(id) },
		Draining: kernel.NodeOf(n.kernel).Draining,
	})
	kerneltest.OK(n, err)
	n.Cleanup(func() { kerneltest.OK(n, s.Close(context.Background())) })
	return s
}

// with sends a request with a token.
func (n *node) with(value, method, address, text string, change ...func(*http.Request)) (int, string) {
	n.Helper()
	r, err := http.NewRequestWithContext(n.Context(), method, address, strings.NewReader(text))
	kerneltest.OK(n, err)
	r.Header.Set("Authorization", "Bearer "+value)
	for _, c := range change {
		c(r)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	kerneltest.OK(n, err)
	got, _ := body(n, resp)
	return resp.StatusCode, got
}

func (n *node) token(role token.Role) (value string, made token.Token) {
	n.Helper()
	// The person types the code: nobody else of this machine has a terminal here.
	who := kerneltest.Human(n, n.kernel)
	made, value, err := n.kernel.Tokens.Create(n.Context(), who, token.Token{Role: role})
	kerneltest.OK(n, err)
	return value, made
}

// On a database that nodes share, a token made at one node works through every node, and what one node asks is answered
// at another: with a token, in the console, and at a terminal.
func TestSharedDatabase(t *testing.T) {
	t.Parallel()
	all := newShared(t, 3, risky(t), quick(t))
	a, b, c := all[0], all[1], all[2]
	at := b.web().URL()
	operator, _ := a.token(token.Operator)
	approver, made := a.token(token.Approver)

	// A session at a is opened through b, and used through b.
	status, text := b.with(operator, "POST", at+"/v1/sessions?node="+a.id, `{}`)
	var opened protocol.Session
	kerneltest.OK(t, json.Unmarshal([]byte(text), &opened))
	if status != http.StatusOK || opened.Workspace != a.workspace {
		t.Fatalf("%d %s", status, text)
	}
	if status, text = b.with(operator, "POST", c.web().URL()+"/v1/sessions/"+opened.ID+"/calls",
		`{"name":"test.quick","args":{}}`); status != http.StatusOK || !strings.Contains(text, "done") {
		t.Errorf("through a third node: %d %s", status, text)
	}
	if status, text = b.with(approver, "POST", at+"/v1/sessions/"+opened.ID+"/calls",
		`{"name":"test.quick","args":{}}`); status != http.StatusForbidden {
		t.Errorf("an approver calls: %d %s", status, text)
	}

	// With a token.
	id := a.ask(a.open(a.client(), a.workspace))
	answer := at + "/v1/approvals/" + id + "/answer"
	if status, text = b.with(operator, "POST", answer, `{"approve":true}`); status != http.StatusForbidden {
		t.Errorf("an operator says yes: %d %s", status, text)
	}
	status, text = b.with(approver, "POST", answer, `{"approve":true}`)
	if status != http.StatusOK || !strings.Contains(text, made.Name) {
		t.Errorf("an approver says yes: %d %s", status, text)
	}
	answered, err := a.kernel.Approvals.Get(t.Context(), id)
	kerneltest.OK(t, err)
	result, err := c.client().Collect(t.Context(), answered.Call.ID) // what became of a call is told by any node
	kerneltest.OK(t, err)
	if result.Status != tool.Success {
		t.Errorf("the call is %s: %s", result.Status, result.Summary)
	}
	// At the terminal, with the token.
	id = a.ask(a.open(a.client(), a.workspace))
	resp := b.request("POST", "/v1/approvals/"+id+"/answer", strings.NewReader(`{"approve":true}`),
		func(r *http.Request) { r.Header.Set(protocol.TokenHeader, approver) })
	if text, _ := body(t, resp); resp.StatusCode != http.StatusOK {
		t.Errorf("at a terminal: %s %s", resp.Status, text)
	}
	// A token that was revoked at one node counts at no other.
	_, err = b.kernel.Tokens.Revoke(t.Context(), kerneltest.Human(t, b.kernel), made.ID)
	kerneltest.OK(t, err)
	id = a.ask(a.open(a.client(), a.workspace))
	if status, text = b.with(approver, "POST", at+"/v1/approvals/"+id+"/answer", `{"approve":true}`); status < 400 {
		t.Errorf("a token that was revoked: %d %s", status, text)
	}
	list, err := c.client().Approvals(t.Context(), protocol.ApprovalPending)
	kerneltest.OK(t, err)
	if len(list) != 1 || list[0].ID != id {
		t.Errorf("c lists %v", list)
	}
}

// A person in the console of one node answers what another asks.
func TestConsoleElsewhere(t *testing.T) {
	t.Parallel()
	all := newShared(t, 2, risky(t))
	a, b := all[0], all[1]
	id := a.ask(a.open(a.client(), a.workspace))
	server := b.web()
	code, err := b.kernel.Tokens.OfferOwnLogin()
	kerneltest.OK(t, err)
	jar, err := cookiejar.New(nil)
	kerneltest.OK(t, err)
	browser := &http.Client{Jar: jar, Transport: toServer(server.URL())}
	page := func(path string) string {
		resp, err := browser.Get(path)
		kerneltest.OK(t, err)
		text, _ := body(t, resp)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s", path, resp.Status, text)
		}
		return text
	}
	login := server.LoginURL(code)
	page(login)
	base, err := url.Parse(login)
	kerneltest.OK(t, err)
	origin := base.Scheme + "://" + base.Host
	shown := page(origin + "/approvals/" + id)
	csrf := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(shown)
	if csrf == nil || !strings.Contains(shown, "test.risky") {
		t.Fatalf("the page of the approval: %s", tool.Truncate(shown))
	}
	resp, err := browser.PostForm(origin+"/approvals/"+id, url.Values{"csrf": {csrf[1]}, "action": {"approve"}})
	kerneltest.OK(t, err)
	text, _ := body(t, resp)
	if got, err := a.kernel.Approvals.Get(t.Context(), id); err != nil || got.State == "pending" {
		t.Errorf("%v: it is %s; %s %s", err, got.State, resp.Status, tool.Truncate(text))
	}
}

// toServer reaches a server whatever name it is called by.
func toServer(at string) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		out := r.Clone(r.Context())
		out.URL.Host, out.Host = strings.TrimPrefix(at, "http://"), r.URL.Host
		return http.DefaultTransport.RoundTrip(out)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip makes a request.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// BenchmarkCall is what a call takes that is answered here, and one that another node answers.
func BenchmarkCall(b *testing.B) {
	all := newWorld(b, "ab", quick(b))
	for name, to := range map[string]*node{"here": all[1], "forwarded": all[0]} {
		b.Run(name, func(b *testing.B) {
			s := all[1].open(all[1].client(at(to.id)), to.workspace)
			for b.Loop() {
				_, err := s.Call(b.Context(), protocol.CallRequest{Name: "test.quick"})
				kerneltest.OK(b, err)
			}
		})
	}
}
