package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"callgate/internal/kernel"
)

// script is a client that says what it has to say and goes.
type script struct {
	io.Reader
	mu  sync.Mutex
	out bytes.Buffer
}

func (s *script) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

func (*script) Close() error { return nil }

// Whatever comes, every line that goes out is a message, and Serve ends.
func FuzzStream(f *testing.F) {
	s := newFixture(f, kernel.Config{})
	close(s.finish)
	for _, line := range []string{
		hello,
		hello + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"demo.wipe","arguments":{"what":"x"},` + meta + `}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"demo.wipe",` +
			`"inputResponses":{"x":{"action":"accept"}},"requestState":"y",` + meta + `}}`,
		`{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"callgate://mcp/x/y",` + meta + `}}`,
		`{"jsonrpc":"2.0","id":"5","method":"prompts/get","params":{"name":"a__b",` + meta + `}}`,
		"not a message", "[]", "[1]", "{}", "null", `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`,
		strings.Repeat("[", 10_000),
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := &script{Reader: strings.NewReader(text)}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		_ = s.server.Serve(ctx, c, s.opt)
		c.mu.Lock()
		defer c.mu.Unlock()
		for line := range bytes.Lines(c.out.Bytes()) {
			var m struct {
				Version string `json:"jsonrpc"`
			}
			if err := json.Unmarshal(line, &m); err != nil || m.Version != "2.0" {
				t.Fatalf("%q was answered with %q: %v", text, line, err)
			}
		}
	})
}

// A line that is no message is refused, and the next one is heard.
func TestBadLinesAreRefused(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	r, w := io.Pipe()
	c := &answers{Reader: r, lines: make(chan string, 8)}
	s.serves.Go(func() { _ = s.server.Serve(context.Background(), c, s.opt) })
	for _, bad := range []string{"hello?", "[1,2]", `{"a":1}`} {
		_, err := io.WriteString(w, bad+"\n")
		ok(t, err)
		if got := <-c.lines; !strings.Contains(got, "-32700") || !strings.Contains(got, `"id":null`) {
			t.Errorf("%s: %s", bad, got)
		}
	}
	_, err := io.WriteString(w, hello+"\n")
	ok(t, err)
	if got := <-c.lines; !strings.Contains(got, `"name":"callgate"`) {
		t.Errorf("after them: %s", got)
	}
	w.Close()
}

// answers is a client whose answers are read one by one.
type answers struct {
	io.Reader
	lines chan string
}

func (a *answers) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) { // answers are written together
		a.lines <- line
	}
	return len(p), nil
}

func (*answers) Close() error { return nil }
