package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/source/mcp"
	"callgate/tool"
)

// waiting is the arguments of a call that runs until a file exists.
func waiting(file func(string) string, name string) string {
	args, _ := json.Marshal(map[string]string{"until": file(name + ".go"), "started": file(name + ".started"),
		"cancelled": file(name + ".cancelled")})
	return string(args)
}

func TestTimeoutCancelsAtTheServer(t *testing.T) {
	t.Parallel()
	cfg := local("normal")
	cfg.CallTimeout = 200 * time.Millisecond
	file := dir(t)
	s, byName := refreshed(t, cfg, mcp.Options{})
	_, err := call(t.Context(), byName["wait"], waiting(file, "a"))
	expectError(t, err, tool.InDoubt, "actor", "mcp_actor.wait", "200ms")
	eventually(t, "the cancelling", func() bool { return exists(file("a.cancelled")) })
	if st := s.Status(); st.State != mcp.Running || !st.NextTry.IsZero() {
		t.Errorf("a slow call is not a broken server: %+v", st)
	}
}

func TestCancelReachesTheServer(t *testing.T) {
	t.Parallel()
	file := dir(t)
	_, byName := refreshed(t, local("normal"), mcp.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		poll(func() bool { return exists(file("a.started")) })
		cancel(errors.New("enough"))
	}()
	_, err := call(ctx, byName["wait"], waiting(file, "a"))
	expectError(t, err, tool.Cancelled, "actor")
	eventually(t, "the cancelling", func() bool { return exists(file("a.cancelled")) })

	late, stop := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, tool.Errorf("test", tool.Timeout, "too slow"))
	defer stop()
	_, err = call(late, byName["wait"], waiting(file, "b"))
	expectError(t, err, tool.InDoubt)
}

// watcher records the output of a call.
type watcher struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *watcher) grant() tool.Grant {
	return tool.Grant{Emit: func(stream string, chunk []byte) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.text.WriteString(stream + ": " + string(chunk))
	}}
}

func (w *watcher) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestProgressIsPassedOnAndExtends(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"normal", "legacy"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cfg := local(kind)
			cfg.CallTimeout = time.Second
			file := dir(t)
			_, byName := refreshed(t, cfg, mcp.Options{})
			var w watcher
			go func() { // long after the call would have been given up without progress
				poll(func() bool { return strings.Count(w.String(), "\n") > 75 })
				touch(file("a.go"))
			}()
			c := tool.Call{ID: "c", Args: json.RawMessage(waiting(file, "a"))}
			r, err := byName["work"].Handler.Execute(t.Context(), c, w.grant())
			if got := textOf(t, r, err); got != "worked" {
				t.Errorf("it said %q", got)
			}
			if !strings.HasPrefix(w.String(), "progress: 1/10 step\nprogress: 2/10 step\n") {
				t.Errorf("progress was shown as %q", w.String())
			}
		})
	}
}

func TestCallsWaitInLine(t *testing.T) {
	t.Parallel()
	cfg := local("normal")
	cfg.Concurrency = 2
	file := dir(t)
	s, byName := refreshed(t, cfg, mcp.Options{})
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		wg.Go(func() {
			r, err := call(t.Context(), byName["wait"], waiting(file, name))
			if got := textOf(t, r, err); got != "waited" {
				t.Errorf("%s said %q", name, got)
			}
		})
		eventually(t, "the start", func() bool { return exists(file(name + ".started")) })
	}
	ctx, cancel := context.WithCancel(t.Context())
	var w watcher
	wg.Go(func() {
		_, err := byName["echo"].Handler.Execute(ctx, tool.Call{ID: "c", Args: json.RawMessage(`{"text":"x"}`)}, w.grant())
		expectError(t, err, tool.Cancelled, "waited in line", "2 calls at a time")
	})
	eventually(t, "the line", func() bool { return s.Status().Waiting == 1 && w.String() != "" })
	if st := s.Status(); st.InFlight != 2 || !strings.Contains(w.String(),
		"waiting: the MCP server actor has 2 calls already") {
		t.Errorf("status %+v, told %q", st, w.String())
	}
	cancel()
	var third sync.WaitGroup
	third.Go(func() {
		r, err := call(t.Context(), byName["echo"], `{"text":"third"}`)
		if got := textOf(t, r, err); got != "third" {
			t.Errorf("it said %q", got)
		}
	})
	eventually(t, "the line", func() bool { return s.Status().Waiting == 1 })
	touch(file("a.go"))
	third.Wait()
	touch(file("b.go"))
	wg.Wait()
}

// A server that stops reading delays only the call that it does not read.
func TestDeafServers(t *testing.T) {
	t.Parallel()
	cfg := local("deaf")
	cfg.CallTimeout = 300 * time.Millisecond
	s, byName := refreshed(t, cfg, mcp.Options{Grace: 50 * time.Millisecond})
	pid := s.Status().Pid
	long, err := json.Marshal(map[string]string{"text": strings.Repeat("x", 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			_, err := call(t.Context(), byName["tell"], string(long))
			expectError(t, err, tool.InDoubt, "did not answer")
		})
	}
	wg.Wait()
	// It answers nothing at all, so it is stopped, and the next call finds a
	// fresh one.
	eventually(t, "its end", func() bool { return !alive(pid) })
	_, err = call(t.Context(), byName["tell"], "")
	expectError(t, err, tool.InDoubt)
	if now := s.Status().Pid; now == pid || now == 0 {
		t.Errorf("the process was %d and is %d", pid, now)
	}
}

// A call that has time left when the server is found deaf, by an earlier call, is
// told the same as that one: no answer came, and it may have happened.
func TestDeafServerEndsLaterCalls(t *testing.T) {
	t.Parallel()
	cfg := local("deaf")
	cfg.CallTimeout = 2500 * time.Millisecond // longer than the probe
	_, byName := refreshed(t, cfg, mcp.Options{Grace: 50 * time.Millisecond})
	_, err := call(t.Context(), byName["tell"], "")
	expectError(t, err, tool.InDoubt, "did not answer", "within")
	_, err = call(t.Context(), byName["tell"], "")
	expectError(t, err, tool.InDoubt, "did not answer", "was stopped")
}

func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	s, byName := refreshed(t, local("normal"), mcp.Options{})
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 10 {
				r, err := call(t.Context(), byName["echo"], `{"text":"x"}`)
				if err != nil || r.Summary != "x" {
					t.Error(r, err)
				}
			}
		})
	}
	wg.Wait()
	if st := s.Status(); st.Calls != 320 || st.InFlight != 0 || st.Waiting != 0 {
		t.Errorf("status %+v", st)
	}
}
