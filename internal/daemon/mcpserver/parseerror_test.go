package mcpserver_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"callgate/internal/daemon/mcpserver"
	"callgate/internal/kernel"
)

const nanCall = `"method":"tools/call","params":{"name":"demo.wipe","arguments":{"what":NaN}}`

// refusal is what a test looks at of an error.
type refusal struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   struct {
		Code    int
		Message string
	}
}

// brokenMessages are messages that cannot be parsed, and the ids of their refusals.
var brokenMessages = []struct {
	name, message string
	ids           []string
}{
	{"the id first", `{"jsonrpc":"2.0","id":2,` + nanCall + `}`, []string{`2`}},
	{"the id last", `{` + nanCall + `,"jsonrpc":"2.0","id":"x"}`, []string{`"x"`}},
	{"a notification", `{"jsonrpc":"2.0",` + nanCall + `}`, []string{`null`}},
	{"an answer", `{"jsonrpc":"2.0","id":2,"result":{"progress":Infinity}}`, []string{`null`}},
	{"half of a message", `{"jsonrpc":"2.0","id":2,` + nanCall, []string{`null`}},
}

func checkRefusal(t *testing.T, name, text, id string) {
	t.Helper()
	var r refusal
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%s is answered with %q", name, text)
	}
	if r.Version != "2.0" || string(r.ID) != id || r.Error.Code != -32700 || r.Error.Message == "" {
		t.Errorf("%s is answered with %s, the id should be %s", name, text, id)
	}
}

// A client that waits for the answer to a request with NaN, which some JSON writers
// put out, gets it under the id of that request.
func TestParseErrorOverStream(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	r, w := io.Pipe()
	c := &answers{Reader: r, lines: make(chan string, 8)}
	s.serves.Go(func() { _ = s.server.Serve(context.Background(), c, s.opt) })
	say := func(line string) {
		_, err := io.WriteString(w, line+"\n")
		ok(t, err)
	}
	say(hello)
	<-c.lines
	batch := `[{"jsonrpc":"2.0","id":4,` + nanCall + `},{"jsonrpc":"2.0","id":5,"method":"ping"}]`
	for _, test := range append(brokenMessages[:len(brokenMessages):len(brokenMessages)], struct {
		name, message string
		ids           []string
	}{"a batch", batch, []string{`4`, `5`}}) {
		say(test.message)
		for _, id := range test.ids {
			checkRefusal(t, test.name, <-c.lines, id)
		}
	}
	say(`{"jsonrpc":"2.0","id":6,"method":"ping"}`)
	if got := <-c.lines; !strings.Contains(got, `"id":6,"result"`) {
		t.Errorf("after them: %s", got)
	}
	w.Close()
}

func TestParseErrorOverHTTP(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	h := s.server.Handler(t.Context(), mcpserver.HTTPOptions{Options: s.opt, Token: token})
	connection := post(t, h, hello, nil).Header.Get("Mcp-Session-Id")
	if connection == "" {
		t.Fatal("there is no connection")
	}
	connected := func(r *http.Request) {
		r.Header.Set("Mcp-Session-Id", connection)
		r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	}
	ways := map[string]func(*http.Request){
		"at first":     nil,
		"connected":    connected,
		"stateless":    func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", "2026-07-28") },
		"without type": func(r *http.Request) { r.Header.Del("Content-Type") },
	}
	for way, change := range ways {
		for _, test := range brokenMessages {
			res := post(t, h, test.message, change)
			body, err := io.ReadAll(res.Body)
			ok(t, err)
			if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusBadRequest || kind != "application/json" {
				t.Errorf("%s, %s: %d, %s", way, test.name, res.StatusCode, kind)
			}
			checkRefusal(t, way+", "+test.name, string(body), test.ids[0])
		}
	}
	res := post(t, h, `{"jsonrpc":"2.0","id":6,"method":"ping"}`, connected)
	if body, _ := io.ReadAll(res.Body); !strings.Contains(string(body), `"id":6,"result"`) {
		t.Errorf("after them: %s", body)
	}
}
