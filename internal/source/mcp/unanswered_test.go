package mcp_test

import (
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"callgate/internal/source/mcp"
	"callgate/tool"
)

// TestWhatAnUnansweredCallSays: a call that may have changed something is in
// doubt, whatever kept its answer away; one that only reads is not; one that was
// not sent is unavailable.
func TestWhatAnUnansweredCallSays(t *testing.T) {
	t.Parallel()
	reading := map[string]mcp.ToolConfig{"wait": {SideEffect: tool.Read, Risk: tool.Low}}
	for name, c := range map[string]struct {
		tools map[string]mcp.ToolConfig
		limit time.Duration
		kill  bool
		kind  tool.Kind
		words string
	}{
		"a change, killed":      {kill: true, kind: tool.InDoubt, words: "look at what it was to change"},
		"a read, killed":        {tools: reading, kill: true, kind: tool.Unavailable, words: "ended during"},
		"a change, not in time": {limit: 200 * time.Millisecond, kind: tool.InDoubt, words: "did not answer"},
		"a read, not in time":   {tools: reading, limit: 200 * time.Millisecond, kind: tool.Timeout, words: "did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := local("normal")
			cfg.Tools, cfg.CallTimeout = c.tools, c.limit
			file := dir(t)
			s, byName := refreshed(t, cfg, mcp.Options{})
			ended := make(chan error, 1)
			go func() {
				_, err := call(t.Context(), byName["wait"], waiting(file, "a"))
				ended <- err
			}()
			eventually(t, "the start", func() bool { return exists(file("a.started")) })
			if c.kill {
				p, err := os.FindProcess(s.Status().Pid)
				if err != nil {
					t.Fatal(err)
				}
				p.Kill()
			}
			err := <-ended
			expectError(t, err, c.kind, c.words)
			if c.kind != tool.InDoubt && strings.Contains(err.Error(), "may have happened") {
				t.Errorf("a read cannot have happened: %v", err)
			}
		})
	}
}

// TestRemoteChangesInDoubt: what stands between us and a server may know as little
// as we do; a server that was never reached did nothing.
func TestRemoteChangesInDoubt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		kind   tool.Kind
	}{
		"a gateway lost the server": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, tool.InDoubt},
		"a gateway waited in vain":  {func(w http.ResponseWriter) { w.WriteHeader(http.StatusGatewayTimeout) }, tool.InDoubt},
		"the connection was cut":    {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, tool.InDoubt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler, down := streamable(true), make(chan struct{})
			url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-down:
					c.answer(w)
				default:
					handler.ServeHTTP(w, r)
				}
			}))
			_, byName := refreshed(t, remote(url), mcp.Options{})
			close(down)
			_, err := call(t.Context(), byName["die"], "")
			expectError(t, err, c.kind, "far")
		})
	}
}

// TestRemoteNeverReached: a change that could not be sent did not happen.
func TestRemoteNeverReached(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: streamable(true)}
	go server.Serve(l)
	_, byName := refreshed(t, remote("http://"+l.Addr().String()), mcp.Options{})
	server.Close()
	_, _ = call(t.Context(), byName["echo"], `{"text":"x"}`) // over a connection that was open, and is closed now
	_, err = call(t.Context(), byName["die"], "")
	expectError(t, err, tool.Unavailable, "far", "refused")
}
