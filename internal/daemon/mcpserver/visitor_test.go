package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	tokens "callgate/internal/token"
)

// site is a server of clients over HTTP, with its profiles.
type site struct {
	*fixture
	url string
}

func newSite(t testing.TB, change func(*mcpserver.HTTPOptions)) *site {
	t.Helper()
	s := newFixture(t, kernel.Config{})
	s.addProfiles(t)
	o := mcpserver.HTTPOptions{Options: s.opt, Token: token}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := s.server.Handler(ctx, o)
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	mux.Handle("/mcp/p/{profile}", h)
	srv := httptest.NewServer(mux)
	t.Cleanup(func() { cancel(); srv.CloseClientConnections(); srv.Close() })
	return &site{s, srv.URL}
}

// make makes a token.
func (s *site) make(t testing.TB, want tokens.Token) (tokens.Token, string) {
	t.Helper()
	key, err := s.kernel.State().ReadHumanKey()
	ok(t, err)
	made, value, err := s.kernel.Tokens.Create(t.Context(), approval.Credential{Key: key, PID: approval.Unknown}, want)
	ok(t, err)
	return made, value
}

func (s *site) human(t testing.TB) approval.Credential {
	t.Helper()
	key, err := s.kernel.State().ReadHumanKey()
	ok(t, err)
	return approval.Credential{Key: key, PID: approval.Unknown}
}

// with adds a bearer token to every request.
type with string

func (value with) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(value))
	return http.DefaultTransport.RoundTrip(r)
}

// visit connects a client with a token.
func (s *site) visit(t testing.TB, path, value, version string, o *sdk.ClientOptions) (*sdk.ClientSession, error) {
	t.Helper()
	transport := &sdk.StreamableClientTransport{Endpoint: s.url + path, HTTPClient: &http.Client{Transport: with(value)}}
	client := sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "1"}, o)
	c, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

// TestTokensOfClients: which token is let in where, and what it is given there.
func TestTokensOfClients(t *testing.T) {
	s := newSite(t, nil)
	_, review := s.make(t, tokens.Token{Role: tokens.Client, Profile: "review", Name: "review"})
	_, all := s.make(t, tokens.Token{Role: tokens.Client, Name: "all"})
	_, approver := s.make(t, tokens.Token{Role: tokens.Approver, Name: "ci"})
	_, lost := s.make(t, tokens.Token{Role: tokens.Client, Profile: "gone", Name: "lost"})
	const everything, nothing = "demo__wipe demo__add", ""
	for _, c := range []struct {
		name, token, path string
		gives             string // tools that are shown, of those that are looked for
		says              string // in the refusal
	}{
		{"its profile", review, "/mcp/p/review", "demo__add", ""},
		{"another profile", review, "/mcp/p/danger", nothing, "the token review is for the profile review, and for nothing else"},
		{"the whole app", review, "/mcp", nothing, "connect at /mcp/p/review"},
		{"a profile that is not there", all, "/mcp/p/reviw", nothing, "did you mean review? the profiles are danger, files, review, tools"},
		{"all: the app", all, "/mcp", everything, ""},
		{"all: a profile", all, "/mcp/p/danger", "demo__wipe", ""},
		{"shared: the app", token, "/mcp", everything, ""},
		{"shared: a profile", token, "/mcp/p/review", "demo__add", ""},
		{"an approver", approver, "/mcp", nothing, "has the role approver, and this needs client"},
		{"a guess", review[:len(review)-1] + "1", "/mcp/p/review", nothing, "not one of this kernel's"},
		{"none", "", "/mcp/p/review", nothing, "a bearer token is needed"},
		{"a profile that is gone", lost, "/mcp/p/gone", nothing, "there is no profile \"gone\" here"},
	} {
		for _, version := range []string{old, ""} {
			session, err := s.visit(t, c.path, c.token, version, nil)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s, %s: %v", c.name, version, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v", c.name, version, err)
				continue
			}
			shown := names(t, session)
			for _, tool := range strings.Fields(everything) {
				if slices.Contains(shown, tool) != slices.Contains(strings.Fields(c.gives), tool) {
					t.Errorf("%s, %s: %s in %v", c.name, version, tool, shown)
				}
			}
		}
	}
	list, err := s.kernel.Tokens.List(t.Context(), s.human(t))
	ok(t, err)
	for _, one := range list {
		if used := one.Name == "review" || one.Name == "all" || one.Name == "lost"; one.LastUsed.IsZero() == used {
			t.Errorf("%s was used last at %v", one.Name, one.LastUsed)
		}
	}
}

// TestOneProfileForAll serves one profile, whatever is asked for.
func TestOneProfileForAll(t *testing.T) {
	s := newSite(t, func(o *mcpserver.HTTPOptions) { o.Session.Profile = "review" })
	_, review := s.make(t, tokens.Token{Role: tokens.Client, Profile: "review"})
	for path, says := range map[string]string{
		"/mcp": "", "/mcp/p/review": "", "/mcp/p/danger": "gives the profile review only",
	} {
		for _, value := range []string{token, review} {
			c, err := s.visit(t, path, value, old, nil)
			switch {
			case says != "" && (err == nil || !strings.Contains(err.Error(), says)):
				t.Errorf("%s: %v", path, err)
			case says == "" && err != nil:
				t.Errorf("%s: %v", path, err)
			case says == "" && slices.Contains(names(t, c), "demo__wipe"):
				t.Errorf("%s gives everything", path)
			}
		}
	}
}

// TestRevokedTokenEnds: the sessions of a token end with it, and those of others go
// on.
func TestRevokedTokenEnds(t *testing.T) {
	for _, version := range []string{old, ""} {
		s := newSite(t, nil)
		made, value := s.make(t, tokens.Token{Role: tokens.Client, Profile: "review"})
		_, other := s.make(t, tokens.Token{Role: tokens.Client, Profile: "review"})
		c, err := s.visit(t, "/mcp/p/review", value, version, nil)
		ok(t, err)
		call(t, c, "demo.add", `{"a":1,"b":2}`)
		stays, err := s.visit(t, "/mcp/p/review", other, version, nil)
		ok(t, err)
		if n := s.kernel.Sessions.Len(); n != 2 {
			t.Fatalf("%d sessions: one token finds another's", n)
		}
		_, err = s.kernel.Tokens.Revoke(t.Context(), s.human(t), made.Name)
		ok(t, err)
		_, err = c.CallTool(t.Context(), &sdk.CallToolParams{Name: "demo.add", Arguments: json.RawMessage(`{"a":1,"b":2}`)})
		if err == nil {
			t.Error("a revoked token calls")
		}
		eventually(t, "the end of its session", func() bool { return s.kernel.Sessions.Len() == 1 })
		if _, err := s.visit(t, "/mcp/p/review", value, version, nil); err == nil || !strings.Contains(err.Error(), "revoked") {
			t.Errorf("a revoked token is let in: %v", err)
		}
		if _, said := call(t, stays, "demo.add", `{"a":1,"b":2}`); !strings.Contains(said, "3") {
			t.Errorf("the other says %s", said)
		}
	}
}

// TestRevokedWhileItWaits: a call that is under way when its token is revoked is
// cancelled.
func TestRevokedWhileItWaits(t *testing.T) {
	s := newSite(t, nil)
	made, value := s.make(t, tokens.Token{Role: tokens.Client})
	c, err := s.visit(t, "/mcp", value, old, nil)
	ok(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: "demo.slow", Arguments: json.RawMessage(`{}`)})
		ended <- err
	}()
	<-s.began
	_, err = s.kernel.Tokens.Revoke(t.Context(), s.human(t), made.Name)
	ok(t, err)
	eventually(t, "the end of its session", func() bool { return s.kernel.Sessions.Len() == 0 })
	_ = c.Close()
	<-ended
}

// TestRevokedWhileAHumanIsAsked: what a revoked token asked for is denied, also where
// its client has left, and what others asked for goes on waiting.
func TestRevokedWhileAHumanIsAsked(t *testing.T) {
	s := newSite(t, nil)
	made, value := s.make(t, tokens.Token{Role: tokens.Client, Name: "laptop"})
	for _, one := range []string{value, token} {
		c, err := s.visit(t, "/mcp", one, old, nil)
		ok(t, err)
		if _, said := call(t, c, "demo.wipe", `{"what":"disk"}`); !strings.Contains(said, "waiting for approval") {
			t.Fatalf("said %s", said)
		}
		_ = c.Close()
	}
	eventually(t, "the end of the sessions", func() bool { return s.kernel.Sessions.Len() == 0 })
	_, err := s.kernel.Tokens.Revoke(t.Context(), s.human(t), made.ID)
	ok(t, err)
	if left := s.pending(t); len(left) != 1 || left[0].Asker.Token != "" {
		t.Errorf("these wait: %+v", left)
	}
	denied, err := s.kernel.Approvals.List(t.Context(), approval.Denied, 0)
	ok(t, err)
	if len(denied) != 1 || denied[0].Answer.Feedback != "the token laptop was revoked" {
		t.Errorf("denied: %+v", denied)
	}
	if s.wiped.Load() != 0 {
		t.Error("it was wiped")
	}
}

// TestExpiredTokenEnds: a session ends when its token does, with no request made.
func TestExpiredTokenEnds(t *testing.T) {
	s := newSite(t, nil)
	end := time.Now().Add(2 * time.Second)
	_, value := s.make(t, tokens.Token{Role: tokens.Client, Name: "brief", Expires: end})
	c, err := s.visit(t, "/mcp", value, old, nil)
	ok(t, err)
	call(t, c, "demo.add", `{"a":1,"b":2}`)
	eventually(t, "the end of its session", func() bool { return s.kernel.Sessions.Len() == 0 })
	if time.Now().Before(end) {
		t.Error("it ended early")
	}
	if _, err := s.visit(t, "/mcp", value, old, nil); err == nil || !strings.Contains(err.Error(), "the token brief expired") {
		t.Errorf("an expired token is let in: %v", err)
	}
}

// TestSessionsAreTheirTokens: who knows the ID of another's session is not in it.
func TestSessionsAreTheirTokens(t *testing.T) {
	s := newSite(t, nil)
	_, review := s.make(t, tokens.Token{Role: tokens.Client, Profile: "review"})
	_, all := s.make(t, tokens.Token{Role: tokens.Client})
	whole, err := s.visit(t, "/mcp", all, old, nil)
	ok(t, err)
	const list = `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`
	for path, value := range map[string]string{"/mcp/p/review": review, "/mcp": token, "/mcp/p/danger": all} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(list))
		ok(t, err)
		r.Header.Set("Mcp-Session-Id", whole.ID())
		r.Header.Set("Mcp-Protocol-Version", old)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		res, err := (&http.Client{Transport: with(value)}).Do(r)
		ok(t, err)
		res.Body.Close()
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}

// TestClientTokensApproveNothing: a form never reaches the holder of a client token,
// also where forms reach other clients.
func TestClientTokensApproveNothing(t *testing.T) {
	for _, version := range []string{old, ""} {
		s := newSite(t, nil)
		_, all := s.make(t, tokens.Token{Role: tokens.Client})
		for value, forms := range map[string]int{all: 0, token: 1} {
			h := &human{answers: []sdk.ElicitResult{says("accept", "approve", true)}}
			c, err := s.visit(t, "/mcp", value, version, h.options())
			ok(t, err)
			_, said := call(t, c, "demo.wipe", `{"what":"`+value[:4]+`"}`)
			if len(h.saw) != forms || strings.Contains(said, "waiting for approval") != (forms == 0) {
				t.Errorf("%d forms: %s", len(h.saw), said)
			}
		}
		if n := s.wiped.Load(); n != 1 {
			t.Errorf("it was wiped %d times", n)
		}
		_, err := s.kernel.Tokens.Use(t.Context(), all, tokens.Approver)
		if err == nil {
			t.Error("it counts as an approver's")
		}
	}
}

// What an MCP client asks with a token that stands for a user is that user's.
func TestVisitorOfAUser(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, value := s.make(t, tokens.Token{Role: tokens.Client, Person: tokens.Person{User: "ada"}})
	c, err := s.visit(t, "/mcp", value, "", nil)
	ok(t, err)
	_, err = c.CallTool(t.Context(), &sdk.CallToolParams{
		Name: "search_tools", Arguments: map[string]any{"query": "read a file"},
	})
	ok(t, err)
	records, err := s.kernel.Journal.Read(t.Context(), journal.Query{Newest: true, Limit: 50})
	ok(t, err)
	asked := 0
	for _, r := range records {
		if r.Principal == nil || r.Principal.Session == "" {
			continue
		}
		if asked++; r.Principal.User != "@ada" {
			t.Errorf("%s is of %q", r.Name, r.Principal.User)
		}
	}
	if asked == 0 {
		t.Error("nothing is on record")
	}
}
