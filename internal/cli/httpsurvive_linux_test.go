package cli_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// overHTTP is a client of callgate mcp --http.
type overHTTP struct {
	t       *testing.T
	url     string
	session string
}

// newOverHTTP starts callgate mcp --http, and is introduced.
func newOverHTTP(t *testing.T, state, folder string) *overHTTP {
	t.Helper()
	c := exec.Command("callgate", "-C", folder, "mcp", "--http", "127.0.0.1:0", "--no-auth")
	c.Env = append(os.Environ(), "CALLGATE_STATE="+state, "GORACE="+quickRace)
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	h := &overHTTP{t: t}
	lines := bufio.NewScanner(said)
	for h.url == "" && lines.Scan() {
		if _, after, found := strings.Cut(lines.Text(), "serving MCP at "); found {
			h.url, _, _ = strings.Cut(after, " ")
		}
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	h.introduce()
	return h
}

func (h *overHTTP) introduce() {
	h.t.Helper()
	h.session = ""
	if got := h.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"web","version":"1"}}}`); !strings.Contains(got, `"result"`) {
		h.t.Fatalf("it is introduced with %s", got)
	}
	h.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// post sends a message and returns what comes back.
func (h *overHTTP) post(body string) string {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		h.t.Error(err)
		return ""
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if h.session != "" {
		req.Header.Set("Mcp-Session-Id", h.session)
		req.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		h.session = id
	}
	data, err := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", string(data), " ", err)
}

// TestIDsOverHTTP checks that ids come back as they were written, that one in use is
// refused, and that a message beyond the limit is answered.
func TestIDsOverHTTP(t *testing.T) {
	t.Parallel()
	state, folder := newState(t), newFolder(t, plainApp)
	h := newOverHTTP(t, state, folder)
	for _, id := range []string{`1.5`, `12345678901234567890`, `"x"`, `7`, `1e3`, `9007199254740993`} {
		got := h.post(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
		if !strings.Contains(got, `"id":`+id+`,`) && !strings.Contains(got, `"id":`+id+`}`) {
			t.Errorf("the id %s comes back in %s", id, got)
		}
	}
	if got := h.post(`{"jsonrpc":"2.0","id":null,"method":"ping"}`); !strings.Contains(got, "-32600") {
		t.Errorf("without an id: %s", got)
	}
	first := make(chan string, 1)
	go func() {
		first <- h.post(`{"jsonrpc":"2.0","id":"a","method":"tools/call",` +
			`"params":{"name":"demo.wait","arguments":{"path":"x"}}}`)
	}()
	untilSays(t, state, "demo.wait", "locks")
	if got := h.post(`{"jsonrpc":"2.0","id":"\u0061","method":"ping"}`); !strings.Contains(got, "is in use") {
		t.Errorf("an id that is in use: %s", got)
	}
	long := strings.Repeat("x", 64<<20)
	if got := h.post(`{"jsonrpc":"2.0","method":"ping","params":{"x":"` + long + `"},"id":2.5}`); !strings.Contains(
		got, `"id":2.5`) || !strings.Contains(got, "64 MiB") {
		t.Errorf("a message that is too long: %s", got)
	}
	// The kernel goes away: the call is in doubt, and the client goes on.
	kill(t, kernelOf(t, state))
	select {
	case got := <-first:
		if !strings.Contains(got, "in_doubt") || !strings.Contains(got, `"id":"a"`) {
			t.Errorf("the call in flight: %s", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("the call in flight has no answer")
	}
	if got := h.post(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`); !strings.HasPrefix(got, "404") {
		t.Errorf("a session that the new kernel does not have: %s", got)
	}
	h.introduce()
	if got := h.post(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`); !strings.Contains(got, "filesystem") {
		t.Errorf("introduced again: %s", got)
	}
}
