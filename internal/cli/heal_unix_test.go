//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/client"
	"callgate/internal/daemon"
	"callgate/internal/protocol"
	"callgate/internal/statedir"
	"callgate/internal/version"
)

// oldKernel serves a state directory as another version of this program would:
// it says which it is, and when it is told to stop it finishes first.
func oldKernel(t *testing.T, state string, status protocol.Status) (stopped func() bool) {
	t.Helper()
	dir, err := statedir.At(state)
	if err != nil {
		t.Fatal(err)
	}
	held, err := dir.Hold()
	if err != nil {
		t.Fatal(err)
	}
	path, err := held.PrepareSocket()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var told sync.Once
	var asked atomic.Bool
	end := func() {
		told.Do(func() {
			_ = l.Close()
			_ = held.Release()
		})
	}
	t.Cleanup(end)
	mux := http.NewServeMux()
	mux.HandleFunc(protocol.RouteStatus, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(status) })
	mux.HandleFunc(protocol.RouteStop, func(w http.ResponseWriter, _ *http.Request) {
		asked.Store(true)
		time.AfterFunc(200*time.Millisecond, end) // whoever came first is served to the end
	})
	go func() { _ = http.Serve(l, mux) }()
	return asked.Load
}

// TestHealing starts bridges beside a kernel of another version. One that was
// started for its clients is replaced, once it has finished; one that somebody
// started by hand is left alone.
func TestHealing(t *testing.T) {
	t.Parallel()
	state, folder := newState(t), newFolder(t, plainApp)
	stopped := oldKernel(t, state, protocol.Status{Protocol: protocol.Version, Version: "0.0.1", Background: true})
	a := newAgent(t, state, folder, "agent")
	if !strings.Contains(a.errs.String(), "has version 0.0.1, this program "+version.Version+": it is replaced") || !stopped() {
		t.Errorf("it says %s", a.errs.String())
	}
	if got := a.call("demo.echo", `{"path":"x"}`); !strings.Contains(got, `"path":"x"`) {
		t.Errorf("a call of the new kernel gives %s", got)
	}

	state = filepath.Join(t.TempDir(), "s")
	stopped = oldKernel(t, state, protocol.Status{Protocol: protocol.Version + 1, Version: "9.0.0"})
	p := start(t, state, "mcp")
	if code := p.ends(t); code == 0 || !strings.Contains(p.err.String(), "version 9.0.0") || stopped() {
		t.Errorf("beside a kernel started by hand it ends with %d and says %s", code, p.err.String())
	}
}

// TestFrontOutlivesItsKernel serves clients over HTTP, and ends the kernel
// behind: the next client has another.
func TestFrontOutlivesItsKernel(t *testing.T) {
	t.Parallel()
	state, folder := newState(t), newFolder(t, plainApp)
	cmd := exec.Command("callgate", "-C", folder, "mcp", "--http", "127.0.0.1:0", "--token", "secret")
	cmd.Env = append(os.Environ(), "CALLGATE_STATE="+state, "GORACE="+quickRace)
	errs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	said := make([]byte, 4096)
	n, _ := errs.Read(said)
	address := between(t, string(said[:n]), "serving MCP at ", " for")
	hello := func() string {
		r, err := http.NewRequest(
			http.MethodPost,
			address,
			strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"web","version":"1"}}}`,
			),
		)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer secret")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return string(body)
	}
	if got := hello(); !strings.Contains(got, `"name":"callgate"`) {
		t.Fatalf("got %s", got)
	}
	first := kernelOf(t, state)
	down(t, state)
	if got := hello(); !strings.Contains(got, `"name":"callgate"`) {
		t.Errorf("after the kernel has gone: %s", got)
	}
	if second := kernelOf(t, state); second == first {
		t.Errorf("process %d serves again", second)
	}
}

// TestAnswersAfterTheEndOfInput pipes requests into a bridge, as a script does:
// every answer comes, though the input has long ended.
func TestAnswersAfterTheEndOfInput(t *testing.T) {
	t.Parallel()
	state, folder := newState(t), newFolder(t, plainApp)
	cmd := exec.Command("callgate", "-C", folder, "mcp")
	cmd.Env = append(os.Environ(), "CALLGATE_STATE="+state, "GORACE="+quickRace)
	cmd.Stdin = strings.NewReader(strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"script","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"demo.echo","arguments":{"path":"x"}}}`,
		`{"jsonrpc":"2.0","id":"three","method":"tools/list"}`, // and no end of the line
	}, "\n"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{`"id":1,`, `"id":2,`, `"id":"three",`} {
		if n := bytes.Count(out, []byte(`{"jsonrpc":"2.0",`+id+`"result":`)); n != 1 {
			t.Errorf("%d answers to %s in %s", n, id, out)
		}
	}
}

// Gone tells of a kernel that does not end.
func TestGone(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	oldKernel(t, state, protocol.Status{Background: true})
	dir, err := statedir.At(state)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := daemon.WaitStopped(ctx, dir); err == nil || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("one that goes on: %v", err)
	}
	c := client.New(client.Options{Dial: client.Unix(dir.Socket())})
	defer c.Close()
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := daemon.WaitStopped(t.Context(), dir); err != nil {
		t.Errorf("one that ends: %v", err)
	}
	if err := daemon.WaitStopped(t.Context(), dir); err != nil {
		t.Errorf("none: %v", err)
	}
}
