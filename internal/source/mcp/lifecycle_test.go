package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/gate/limits"
	"callgate/internal/programtest"
	"callgate/internal/source/mcp"
	"callgate/tool"
)

func TestServersOfAllAges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, protocol string }{
		{"normal", "2026-07-28"}, {"legacy", "2025-11-25"}, {"old", "2024-11-05"}, {"old-dies", "2024-11-05"}, {"old-mute",
			"2024-11-05"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			cfg := local(c.kind)
			if c.kind == "old-mute" {
				cfg.StartTimeout = 6 * time.Second // a sixth of it goes to the unanswered handshake
			}
			cache := t.TempDir()
			for _, time := range []string{"first", "second"} { // the second time knows which handshake to use
				s, byName := refreshed(t, cfg, mcp.Options{Cache: cache})
				if st := s.Status(); st.Protocol != c.protocol {
					t.Errorf("the %s time it speaks %s", time, st.Protocol)
				}
				if x := byName["tell"]; x != nil {
					r, err := call(t.Context(), x, "")
					if got := textOf(t, r, err); got != "told" {
						t.Errorf("it said %q", got)
					}
				}
			}
		})
	}
}

func TestStartsThatFail(t *testing.T) {
	t.Parallel()
	secret := func(name string) (string, error) {
		if name == "TOKEN" {
			return "s3cr3t-value", nil
		}
		return "", tool.Errorf("test", tool.Unavailable, "the secret %s has no value", name)
	}
	hung := local("hang")
	hung.StartTimeout = 300 * time.Millisecond
	exit := local("exit")
	exit.Args = []string{"--token={{secret.TOKEN}}"}
	lost := local("normal")
	lost.Env["KEY"] = "{{secret.OTHER}}"
	for _, c := range []struct {
		name string
		cfg  mcp.Config
		kind tool.Kind
		want []string
	}{
		{"no such program", mcp.Config{Name: "n", Command: "no-such-program-anywhere"}, tool.NotFound,
			[]string{"no-such-program-anywhere", "install it"}},
		{"it ends", exit, tool.Unavailable, []string{"actor", "exit status 3", "no licence found for [secret TOKEN]"}},
		{"it hangs", hung, tool.Unavailable, []string{"actor", "within 300ms", "start_timeout"}},
		{"a secret is missing", lost, tool.Unavailable, []string{"actor", "OTHER"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := server(t, c.cfg, mcp.Options{Secret: secret, Grace: 50 * time.Millisecond})
			err := s.Refresh(t.Context())
			expectError(t, err, c.kind, c.want...)
			if err != nil && strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("the error tells a secret: %v", err)
			}
			if st := s.Status(); st.State != mcp.Failed || st.LastError != err.Error() || st.NextTry.IsZero() {
				t.Errorf("status %+v", st)
			}
			for _, l := range s.Logs(-1) {
				if strings.Contains(l.Text, "s3cr3t") {
					t.Errorf("the log tells a secret: %s", l.Text)
				}
			}
		})
	}
}

func TestBreakerOpensAndRestartCloses(t *testing.T) {
	t.Parallel()
	flag := dir(t)("exists")
	cfg := local("normal")
	cfg.Command = "/bin/sh"
	cfg.Args = []string{"-c", `[ -e "$0" ] && exec "$1"; echo broken >&2; exit 9`, flag, os.Args[0]}
	s := server(t, cfg, mcp.Options{})
	for range 5 {
		expectError(t, s.Refresh(t.Context()), tool.Unavailable, "exit status 9", "broken")
	}
	err := s.Refresh(t.Context())
	expectError(t, err, tool.Unavailable, "failed 5 times in a row", "not tried before", "the last time", "exit status 9")
	if again := s.Refresh(t.Context()); len(again.Error()) > len(err.Error())+5 {
		t.Errorf("the error grows with each call: %v", again)
	}
	if st := s.Status(); st.State != mcp.CircuitOpen || !st.NextTry.After(time.Now()) {
		t.Errorf("status %+v", st)
	}
	touch(flag)
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := s.Status(); st.State != mcp.Running || st.LastError != "" {
		t.Errorf("status %+v", st)
	}
}

func TestServerDiesInTheMiddleOfCalls(t *testing.T) {
	t.Parallel()
	secret := func(string) (string, error) { return "s3cr3t-value", nil }
	cfg := local("normal")
	cfg.Env["KEY"] = "{{secret.K}}"
	file := dir(t)
	s, byName := refreshed(t, cfg, mcp.Options{Secret: secret})
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			args, _ := json.Marshal(map[string]string{"until": file("never"), "started": file(strconv.Itoa(i))})
			_, err := call(t.Context(), byName["wait"], string(args))
			expectError(t, err, tool.InDoubt, "mcp_actor.wait", "exit status 7", "look")
		})
		eventually(t, "the start of a call", func() bool { return exists(file(strconv.Itoa(i))) })
	}
	_, err := call(t.Context(), byName["die"], "")
	expectError(t, err, tool.InDoubt, "the MCP server actor ended during mcp_actor.die", "exit status 7",
		"fatal: out of cheese, [secret K]")
	wg.Wait()
	if st := s.Status(); st.Failures != 4 || st.State == mcp.CircuitOpen {
		t.Errorf("four calls that died with one server: %+v", st)
	}
	r, err := call(t.Context(), byName["echo"], `{"text":"back"}`)
	if got := textOf(t, r, err); got != "back" {
		t.Errorf("after that it said %q", got)
	}
	if st := s.Status(); st.State != mcp.Running || st.LastError != "" || !st.NextTry.IsZero() {
		t.Errorf("status %+v", st)
	}
}

func TestServerDiesBetweenCalls(t *testing.T) {
	t.Parallel()
	s, byName := refreshed(t, local("normal"), mcp.Options{})
	pid := s.Status().Pid
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	r, err := call(t.Context(), byName["pid"], "") // at once: it may or may not be known yet
	if err != nil {
		expectError(t, err, tool.InDoubt, "ended during")
		r, err = call(t.Context(), byName["pid"], "")
	}
	if got := textOf(t, r, err); got == strconv.Itoa(pid) {
		t.Error("the dead answer")
	}
}

func TestGarbageAndFloods(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"garbage", "flood"} {
		t.Run(kind, func(t *testing.T) {
			s, byName := refreshed(t, local(kind), mcp.Options{})
			for i := range 3 {
				r, err := call(t.Context(), byName["echo"], fmt.Sprintf(`{"text":"%d"}`, i))
				if got := textOf(t, r, err); got != strconv.Itoa(i) {
					t.Errorf("it said %q", got)
				}
			}
			size := 0
			var last mcp.LogLine
			for _, l := range s.Logs(-1) {
				size += len(l.Text)
				last = l
			}
			if size == 0 || size > 256<<10 {
				t.Errorf("%d bytes of log are kept", size)
			}
			if n := len(s.Logs(1)); n != 1 {
				t.Errorf("the last line is %d lines", n)
			}
			want := map[string]string{"garbage": "noise after it", "flood": "the last line"}[kind]
			if last.Text != want {
				t.Errorf("the last line is %q", tool.Truncate(last.Text))
			}
		})
	}
}

func TestSlowStartIsWaitedFor(t *testing.T) {
	t.Parallel()
	flag := dir(t)("go")
	cfg := local("late")
	cfg.Env["LATE_UNTIL"] = flag
	s := server(t, cfg, mcp.Options{})
	var wg sync.WaitGroup
	for range 4 { // all wait for the one start
		wg.Go(func() {
			if err := s.Refresh(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "a start", func() bool { return s.Status().State == mcp.Starting })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expectError(t, s.Refresh(ctx), tool.Cancelled, "being started")
	touch(flag)
	wg.Wait()
	if st := s.Status(); st.State != mcp.Running || st.Protocol != "2026-07-28" {
		t.Errorf("status %+v", st)
	}
}

func TestStubbornServersAreKilled(t *testing.T) {
	t.Parallel()
	h := open(t, mcp.Options{Grace: 100 * time.Millisecond})
	s, err := h.Server(local("stubborn"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid := s.Status().Pid
	h.Close()
	if alive(pid) {
		t.Error("it runs on after the manager was closed")
	}
	if st := s.Status(); st.State != mcp.Stopped {
		t.Errorf("status %+v", st)
	}
	if _, err := h.Server(local("normal")); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("a closed manager returned a server: %v", err)
	}
}

func TestGrandchildrenDieToo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(t *testing.T, s *mcp.Server, byName map[string]*tool.Tool)
	}{
		{"when it is stopped", func(t *testing.T, s *mcp.Server, _ map[string]*tool.Tool) { s.Release() }},
		{"when it dies", func(t *testing.T, _ *mcp.Server, byName map[string]*tool.Tool) {
			if _, err := call(t.Context(), byName["die"], ""); err == nil {
				t.Error("it did not die")
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, byName := refreshed(t, local("grandchild"), mcp.Options{})
			r, err := call(t.Context(), byName["children"], "")
			pids := numbers(t, textOf(t, r, err))
			for _, pid := range pids {
				if !alive(pid) {
					t.Fatalf("%d never lived", pid)
				}
			}
			c.end(t, s, byName)
			eventually(t, "the end of the child in its group", func() bool { return !alive(pids[0]) })
			if runtime.GOOS == "linux" { // elsewhere a process that left the group is not found
				eventually(t, "the end of the child that left", func() bool { return !alive(pids[1]) })
			} else if p, err := os.FindProcess(pids[1]); err == nil {
				p.Kill()
			}
		})
	}
}

func numbers(t testing.TB, text string) []int {
	t.Helper()
	var list []int
	for _, word := range strings.Fields(text) {
		n, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}

// kernel is a process with a server that has grandchildren. It prints the IDs of
// all, and waits to be killed.
func kernel() {
	h := mcp.New(mcp.Options{})
	s, err := h.Server(local("grandchild"))
	if err == nil {
		err = s.Refresh(context.Background())
	}
	var list []*tool.Tool
	if err == nil {
		list, err = s.Tools(context.Background())
	}
	for _, x := range list {
		if x.ID.Name == "children" {
			r, err := call(context.Background(), x, "")
			fmt.Println(s.Status().Pid, r.Content[0].Text, err)
		}
	}
	if err != nil {
		fmt.Println(err)
	}
	programtest.Hang()
}

func TestAllDieWithTheKernel(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), kindVariable+"=kernel")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 200)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	pids := numbers(t, strings.TrimSuffix(strings.TrimSpace(string(line[:n])), "<nil>"))
	if len(pids) != 3 || !alive(pids[0]) || !alive(pids[1]) {
		t.Fatalf("the kernel says %q", line[:n])
	}
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "the end of the server", func() bool { return !alive(pids[0]) })
	eventually(t, "the end of its child", func() bool { return !alive(pids[1]) })
	if runtime.GOOS == "linux" {
		eventually(t, "the end of its child that left", func() bool { return !alive(pids[2]) })
	} else if p, err := os.FindProcess(pids[2]); err == nil {
		p.Kill()
	}
}

func TestEnvironmentOfServers(t *testing.T) {
	t.Setenv("CALLGATE_STATE", "/kernel")
	t.Setenv("SOME_API_TOKEN", "token")
	t.Setenv("WANTED", "yes")
	t.Setenv("LC_TEST", "fr")
	cfg := local("normal")
	cfg.Env["GIVEN"] = "{{secret.G}} and more"
	cfg.EnvAllow = []string{"WANTED"}
	_, byName := refreshed(t, cfg, mcp.Options{Secret: func(name string) (string, error) {
		return "value of " + name,
			nil
	}})
	r, err := call(t.Context(), byName["environment"], "")
	env := "\n" + textOf(t, r, err) + "\n"
	for _, want := range []string{"PATH=" + os.Getenv("PATH"), "WANTED=yes", "LC_TEST=fr", "GIVEN=value of G and more"} {
		if !strings.Contains(env, "\n"+want+"\n") {
			t.Errorf("the environment lacks %s", want)
		}
	}
	for _, not := range []string{"CALLGATE_", "SOME_API_TOKEN"} {
		if strings.Contains(env, not) {
			t.Errorf("the environment has %s: %s", not, env)
		}
	}
}

func TestConsentComesFirst(t *testing.T) {
	t.Parallel()
	var allowed bool
	opt := mcp.Options{MayStart: func(*mcp.Server) error {
		if !allowed {
			return errors.New("nobody has agreed to run it")
		}
		return nil
	}}
	s := server(t, local("normal"), opt)
	for range 7 { // missing consent is not a failure
		expectError(t, s.Refresh(t.Context()), tool.Denied, "nobody has agreed", "actor")
	}
	allowed = true
	if err := s.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestIdleServersStop(t *testing.T) {
	t.Parallel()
	cfg := local("normal")
	cfg.IdleStop = 20 * time.Millisecond
	s, byName := refreshed(t, cfg, mcp.Options{})
	r, err := call(t.Context(), byName["pid"], "")
	first := textOf(t, r, err)
	eventually(t, "its end", func() bool { return s.Status().State == mcp.NotStarted })
	r, err = call(t.Context(), byName["pid"], "")
	if textOf(t, r, err) == first {
		t.Error("it was never stopped")
	}
}

// A handler that is made ready has its server running, and is called there.
func TestReadyStartsAServer(t *testing.T) {
	t.Parallel()
	cfg := local("normal")
	cfg.IdleStop = time.Hour
	s, byName := refreshed(t, cfg, mcp.Options{})
	s.Disconnect()
	if st := s.Status(); st.State == mcp.Running {
		t.Fatalf("it is %s", st.State)
	}
	if err := limits.Ready(t.Context(), byName["pid"].Handler); err != nil {
		t.Fatal(err)
	}
	st := s.Status()
	r, err := call(t.Context(), byName["pid"], "")
	if got := textOf(t, r, err); st.State != mcp.Running || got != strconv.Itoa(st.Pid) {
		t.Errorf("it is %s as process %d, and the call was made by %s", st.State, st.Pid, got)
	}
}

func TestNothingRunsOnAfterTheManager(t *testing.T) {
	far := listen(t, streamable(true))
	before := runtime.NumGoroutine()
	for _, cfg := range []mcp.Config{local("normal"), local("legacy"), local("old-dies"), local("exit"), remote(far)} {
		h := mcp.New(mcp.Options{})
		for range 3 { // each would leave something behind
			s, err := h.Server(cfg)
			if err != nil {
				t.Fatal(err)
			}
			s.Refresh(t.Context()) // whether it works is not the point
			list, err := s.Tools(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range list {
				if x.ID.Name == "die" && cfg.URL == "" || x.ID.Name == "echo" {
					call(t.Context(), x, `{"text":"x"}`)
				}
			}
			s.Release()
		}
		h.Close()
	}
	gone := func() bool { // the test's own HTTP server keeps a connection or two
		runtime.GC()
		return runtime.NumGoroutine() <= before+2
	}
	if !poll(gone) {
		buf := make([]byte, 1<<20)
		t.Errorf("%d goroutines before and %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
	}
}

func TestCallsInProgressEndWithTheManager(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]mcp.Config{"near": local("normal"), "far": remote(listen(t, streamable(true))),
		"far, with a session": remote(listen(t, streamable(false)))} {
		t.Run(name, func(t *testing.T) {
			h := open(t, mcp.Options{})
			s, err := h.Server(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			wait, file := tools(t, s)["wait"], dir(t)
			ended := make(chan error, 1)
			go func() {
				_, err := call(t.Context(), wait, waiting(file, "a"))
				ended <- err
			}()
			eventually(t, "the start", func() bool { return exists(file("a.started")) })
			h.Close()
			expectError(t, <-ended, tool.InDoubt, "was stopped during")
			if cfg.URL != "" {
				eventually(t, "the cancelling", func() bool { return exists(file("a.cancelled")) })
			}
		})
	}
}
