package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver"
	"callgate/internal/kernel"
)

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// post sends a request of our own making to a handler.
func post(t testing.TB, h http.Handler, body string, change func(*http.Request)) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:7331/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestWhoMayComeIn(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	o := mcpserver.HTTPOptions{
		Options: s.opt, Token: token, Hosts: []string{"box.example"}, Origins: []string{"https://app.example"},
	}
	guarded := s.server.Handler(t.Context(), o)
	o.Token = ""
	unset := s.server.Handler(t.Context(), o)
	o.NoAuth = true
	free := s.server.Handler(t.Context(), o)
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for _, c := range []struct {
		name   string
		h      http.Handler
		change func(*http.Request)
		status int
	}{
		{"as it should be", guarded, nil, 200},
		{"localhost", guarded, host("localhost:7331"), 200},
		{"IPv6", guarded, host("[::1]:7331"), 200},
		{"a name that is ours", guarded, host("Box.Example:7331"), 200},
		{"a rebound name", guarded, host("evil.example:7331"), 403},
		{"a name that only begins well", guarded, host("127.0.0.1.evil.example"), 403},
		{"no name", guarded, host(""), 403},
		{"a local page", guarded, header("Origin", "http://localhost:3000"), 200},
		{"a page that may", guarded, header("Origin", "https://app.example"), 200},
		{"any page", guarded, header("Origin", "https://evil.example"), 403},
		{"a page that looks local", guarded, header("Origin", "http://localhost.evil.example"), 403},
		{"a page of no origin", guarded, header("Origin", "null"), 403},
		{"no token", guarded, header("Authorization", ""), 401},
		{"a wrong token", guarded, header("Authorization", "Bearer guessed"), 401},
		{"a part of it", guarded, header("Authorization", "Bearer "+token[:5]), 401},
		{"another scheme", guarded, header("Authorization", "Basic "+token), 401},
		{"no token is set", unset, header("Authorization", "Bearer "), 401},
		{"none is needed", free, header("Authorization", ""), 200},
	} {
		res := post(t, c.h, hello, c.change)
		if res.StatusCode != c.status {
			body, _ := io.ReadAll(res.Body)
			t.Errorf("%s: %s: %s", c.name, res.Status, body)
		}
	}
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

// Requests of the protocol without connections are known by their header, or by
// what they say of themselves.
func TestDoors(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	h := s.server.Handler(t.Context(), mcpserver.HTTPOptions{Options: s.opt, Token: token})
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
	fresh := func(r *http.Request) {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", "tools/list")
	}
	res := post(t, h, list, fresh)
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != 200 || res.Header.Get("Mcp-Session-Id") != "" ||
		!containsAll(string(body), `"resultType":"complete"`, `"cacheScope":"private"`) {
		t.Errorf("%s: %.300s", res.Status, body)
	}
	res = post(t, h, list, nil)
	if body, _ := io.ReadAll(res.Body); res.StatusCode != 400 || !bytes.Contains(body, []byte("-32020")) {
		t.Errorf("without its header: %s: %s", res.Status, body)
	}
	res = post(t, h, hello, nil)
	body, _ = io.ReadAll(res.Body)
	if res.StatusCode != 200 || res.Header.Get("Mcp-Session-Id") == "" || !containsAll(string(body), "2025-06-18") {
		t.Errorf("the stateful protocol: %s: %s", res.Status, body)
	}
}

// A broken stream is resumed where it broke off.
func TestStreamsResume(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	c := s.connect(t, way{http: true, version: old}, "tester", nil)
	send := func(method, body, last string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, s.url, strings.NewReader(body))
		ok(t, err)
		r.Header.Set("Mcp-Session-Id", c.ID())
		r.Header.Set("Mcp-Protocol-Version", old)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
		res, err := (&http.Client{Transport: bearer{}}).Do(r)
		ok(t, err)
		return res
	}
	const request = `{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"demo.slow","arguments":{}}}`
	res := send(http.MethodPost, request, "")
	<-s.began
	buf := make([]byte, 4096)
	n, err := res.Body.Read(buf)
	ok(t, err)
	_, id, found := strings.Cut(string(buf[:n]), "id: ")
	id, _, _ = strings.Cut(id, "\n")
	if !found {
		t.Fatalf("no event to go on from: %q", buf[:n])
	}
	res.Body.Close()
	close(s.finish)
	for tries := 0; ; tries++ { // the server may not have noticed yet that the stream broke
		res = send(http.MethodGet, "", id)
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode == http.StatusConflict && tries < 1000 {
			continue
		}
		if res.StatusCode != 200 || !strings.Contains(string(body), "finished") {
			t.Errorf("%s: %s", res.Status, body)
		}
		return
	}
}

// Requests under one name share a session, and so what was left behind.
func TestStatelessGuestsShareASession(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	c := s.connect(t, ways[3], "tester", nil)
	for range 3 {
		call(t, c, "demo.add", `{"a":1,"b":2}`)
	}
	if n := s.kernel.Sessions.Len(); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// The promise of an output schema is kept to the letter, since clients hold
// results against it.
func TestPromises(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	c := s.connect(t, ways[0], "tester", nil)
	for _, tl := range toolList(t, c) {
		if tl.OutputSchema == nil {
			continue
		}
		data, err := json.Marshal(tl.OutputSchema)
		ok(t, err)
		var root map[string]any
		ok(t, json.Unmarshal(data, &root))
		if root["type"] != "object" || root["required"] != nil {
			t.Errorf("%s promises %s", tl.Name, data)
		}
		if tl.Name == "demo__add" {
			res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tl.Name, Arguments: json.RawMessage(`{"a":1,"b":1}`)})
			ok(t, err)
			if res.StructuredContent == nil {
				t.Error("no structured content")
			}
		}
	}
}

// TestCloseClosesSessions closes a server that clients over HTTP are connected to:
// their sessions are closed when Close returns, and no new client is served.
func TestCloseClosesSessions(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	for _, w := range ways {
		if w.http {
			s.connect(t, w, "tester", nil)
		}
	}
	if n := s.kernel.Sessions.Len(); n == 0 {
		t.Fatal("no session is open")
	}
	s.server.Close()
	if n := s.kernel.Sessions.Len(); n != 0 {
		t.Errorf("%d sessions are open after Close", n)
	}
	srv := httptest.NewServer(s.server.Handler(t.Context(), mcpserver.HTTPOptions{Options: s.opt, Token: token}))
	defer srv.Close()
	client := sdk.NewClient(&sdk.Implementation{Name: "late", Version: "1"}, nil)
	transport := &sdk.StreamableClientTransport{Endpoint: srv.URL, HTTPClient: &http.Client{Transport: bearer{}}}
	if c, err := client.Connect(t.Context(), transport, nil); err == nil {
		_ = c.Close()
		t.Error("a client was served after Close")
	}
}
