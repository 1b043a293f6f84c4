package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/source/mcp/downstream"
	"callgate/internal/source/mcp/stdio/frame"
	"callgate/tool"
)

// wire is a client that writes its requests itself.
type wire struct {
	t  testing.TB
	s  *fixture
	id string // of its connection
}

func (s *fixture) wire(t testing.TB) *wire {
	s.serveHTTP(t)
	w := &wire{t: t, s: s}
	res := w.post(t.Context(), `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18",`+
		`"capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}`, nil)
	w.id = res.Header.Get("Mcp-Session-Id")
	res.Body.Close()
	w.post(t.Context(), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil).Body.Close()
	return w
}

func (w *wire) post(ctx context.Context, body string, header map[string]string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.s.url, strings.NewReader(body))
	ok(w.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if w.id != "" {
		r.Header.Set("Mcp-Session-Id", w.id)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	res, err := (&http.Client{Transport: bearer{}}).Do(r)
	ok(w.t, err)
	return res
}

// leave makes a request, and reads its response until ctx ends.
func (w *wire) leave(ctx context.Context, body string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.s.url, strings.NewReader(body))
	if err != nil {
		return
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Session-Id", w.id)
	if res, err := (&http.Client{Transport: bearer{}}).Do(r); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
}

// call makes a call, and returns the kind of the response and the messages in it.
func (w *wire) call(id int, name, args string, header map[string]string) (kind string, messages []string) {
	w.t.Helper()
	res := w.post(w.t.Context(), fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, args), header)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		w.t.Fatalf("%s", res.Status)
	}
	kind = res.Header.Get("Content-Type")
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if text := strings.TrimPrefix(lines.Text(), "data: "); strings.HasPrefix(text, "{") {
			messages = append(messages, text)
		}
	}
	ok(w.t, lines.Err())
	return kind, messages
}

// soon makes a call until it ends soon, which on a busy machine it may not the first time.
func (w *wire) soon(id int, name, args string, header map[string]string) (message string) {
	w.t.Helper()
	for range 200 {
		kind, got := w.call(id, name, args, header)
		if len(got) != 1 {
			w.t.Fatalf("%s %q", kind, got)
		}
		if kind == asJSON {
			return got[0]
		}
	}
	w.t.Fatal("it is always a stream")
	return ""
}

const (
	asJSON   = "application/json"
	asStream = "text/event-stream"
)

// sleeper is a tool that takes as many microseconds as it is told, and counts its calls.
func sleeper(calls *sync.Map) *tool.Tool {
	return define("demo.sleep", tool.Runtime{SideEffect: tool.Read},
		`{"type":"object","properties":{"n":{"type":"integer"},"us":{"type":"integer"}}}`,
		func(_ context.Context, c tool.Call, _ tool.Grant) (*tool.Result, error) {
			var args struct{ N, US int }
			if err := json.Unmarshal(c.Args, &args); err != nil {
				return nil, err
			}
			count, _ := calls.LoadOrStore(args.N, new(atomic.Int32))
			count.(*atomic.Int32).Add(1)
			<-time.After(time.Duration(args.US) * time.Microsecond) // what the test is about
			return tool.OK(fmt.Sprint("slept ", args.N), nil)
		})
}

// A plain call that ends soon is the response. What takes longer, or says more, is a stream of events, as all was
// before; and both say the same.
func TestPlainCallsOverHTTP(t *testing.T) {
	t.Parallel()
	var count sync.Map
	s := newFixture(t, kernel.Config{}, sleeper(&count))
	w := s.wire(t)
	soon := w.soon(1, "demo.add", `{"a":1,"b":2}`, nil)
	for name, header := range map[string]map[string]string{
		"forged": {"Callgate-Begun-Call": "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, "protocol": {"Mcp-Protocol-Version": "2025-06-18"},
	} {
		if got := w.soon(1, "demo.add", `{"a":1,"b":2}`, header); got != soon {
			t.Errorf("%s: %q, and else %q", name, got, soon)
		}
	}
	for name, header := range map[string]map[string]string{
		"other case": {"Accept": "Application/JSON, text/Event-stream"}, "another protocol": {"Mcp-Protocol-Version": "2025-03-26"},
	} {
		if kind, got := w.call(1, "demo.add", `{"a":1,"b":2}`, header); kind != asStream || len(got) != 1 || got[0] != soon {
			t.Errorf("%s: %s %q, and else %q", name, kind, got, soon)
		}
	}
	kind, late := w.call(2, "demo.sleep", `{"n":1,"us":60000}`, nil)
	if kind != asStream || len(late) != 1 || !strings.Contains(late[0], "slept 1") {
		t.Errorf("%s %q", kind, late)
	}
	if got := w.soon(3, "nosuch.tool", `{}`, nil); !strings.Contains(got, "nosuch.tool") {
		t.Errorf("%q", got)
	}
}

// Calls that end when the SDK is about to get them are made once each, and answered once each.
func TestPlainCallsOverHTTPAreMadeOnce(t *testing.T) {
	t.Parallel()
	var count sync.Map
	s := newFixture(t, kernel.Config{}, sleeper(&count))
	w := s.wire(t)
	var all sync.WaitGroup
	for caller := range 8 {
		all.Go(func() {
			for i := range 12 {
				n := caller*100 + i + 1
				kind, got := w.call(n, "demo.sleep", fmt.Sprintf(`{"n":%d,"us":%d}`, n, 14_000+1000*i), nil)
				id, _, isPlain := frame.Response([]byte(got[0]))
				if len(got) != 1 || !isPlain || id != int64(n) || !strings.Contains(got[0], fmt.Sprintf(`"slept %d"`, n)) {
					t.Errorf("%d: %s %q", n, kind, got)
				}
				if i%4 == 0 { // and others come between them
					w.post(t.Context(), `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, nil).Body.Close()
				}
			}
		})
	}
	all.Wait()
	n := 0
	count.Range(func(key, value any) bool {
		if n++; value.(*atomic.Int32).Load() != 1 {
			t.Errorf("%v was called %d times", key, value.(*atomic.Int32).Load())
		}
		return true
	})
	if n != 8*12 {
		t.Errorf("%d calls", n)
	}
}

// A call is cancelled by a notification that comes right after it, also when its client has left the request.
func TestPlainCallsOverHTTPAreCancelled(t *testing.T) {
	t.Parallel()
	s := newFixture(t, kernel.Config{})
	w := s.wire(t)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		w.leave(ctx, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"demo.slow","arguments":{}}}`)
	}()
	<-s.began
	leave()
	<-left
	w.post(t.Context(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, nil).Body.Close()
	s.endsCancelled(t)
}

// TestPlainCallIsCancelledBeforeItsSession cancels a plain call that waits for a new session, because the
// kernel has closed the session of its connection. The cancellation waits for the call, and ends it.
func TestPlainCallIsCancelledBeforeItsSession(t *testing.T) {
	t.Parallel()
	s := newFixture(t, kernel.Config{})
	folder := s.opt.Session.Workspace
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), `
tools:
  modules: {filesystem: {setup: [{action: write, params: {path: made.txt, content: made}}]}}
  capabilities: {default_policy: auto}
`)
	own := kerneltest.OpenAccepted(t, s.kernel, folder)
	w := s.wire(t)
	w.soon(1, "demo.add", `{"a":1,"b":2}`, nil)
	for _, id := range s.kernel.Sessions.IDs() {
		if id != own.ID() {
			its, err := s.kernel.Sessions.Get(id)
			ok(t, err)
			its.Close()
		}
	}
	var all sync.WaitGroup
	defer all.Wait()
	holding, release := context.WithCancel(t.Context())
	defer release()
	all.Go(func() { own.Call(holding, session.CallRequest{Name: "demo.hold", Args: json.RawMessage(`{}`)}) })
	<-s.began // the setup of another session waits for its lock
	asking, leave := context.WithCancel(t.Context())
	defer leave()
	all.Go(func() {
		w.leave(asking, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"demo.slow","arguments":{}}}`)
	})
	kerneltest.Eventually(t, func() bool { return len(s.kernel.Locks.Snapshot().Waiting) > 0 })
	told := make(chan struct{})
	all.Go(func() {
		defer close(told)
		w.post(t.Context(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, nil).Body.Close()
	})
	select {
	case <-told:
		close(s.finish) // else the call does not end
		t.Fatal("the cancellation did not find its call")
	case <-time.After(300 * time.Millisecond):
	}
	release()
	<-told
	// It may end before it is on record. It does not end by itself.
	kerneltest.Eventually(t, func() bool { return s.kernel.Sessions.Calls() == 0 })
	all.Wait()
}

// What a call logs comes before its answer.
func TestPlainCallsOverHTTPLog(t *testing.T) {
	t.Parallel()
	var s *fixture
	s = newFixture(t, kernel.Config{}, define("demo.log", tool.Runtime{SideEffect: tool.Read}, `{"type":"object"}`,
		func(_ context.Context, c tool.Call, _ tool.Grant) (*tool.Result, error) {
			s.kernel.Clients.Get(c.ID).Log(&downstream.Log{Level: "warning", Data: "on the way"})
			return tool.OK("done", nil)
		}))
	w := s.wire(t)
	w.post(t.Context(), `{"jsonrpc":"2.0","id":9,"method":"logging/setLevel","params":{"level":"debug"}}`, nil).Body.Close()
	kind, got := w.call(1, "demo.log", `{}`, nil)
	if kind != asStream || len(got) != 2 || !strings.Contains(got[0], "on the way") || !strings.Contains(got[1], "done") {
		t.Errorf("%s %q", kind, got)
	}
}
