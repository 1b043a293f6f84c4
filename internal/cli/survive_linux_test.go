package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	untilDead(t, pid)
}

// byID returns the next answers by their ids.
func (a *agent) byID(n int) map[int]reply {
	a.t.Helper()
	all := map[int]reply{}
	for range n {
		r := a.hear()
		all[r.ID] = r
	}
	return all
}

// TestKernelKilledInMidCall kills the kernel while calls are in flight: one that began
// is in doubt and was not made again, one that waits for a human goes on waiting, and
// what only reads is answered.
func TestKernelKilledInMidCall(t *testing.T) {
	t.Parallel()
	state, folder := newState(t), newFolder(t, "runtime: {sandbox: relaxed}\ntools:\n  modules: {filesystem: {}}\n"+
		"  capabilities:\n    default_policy: auto\n    approve: [{module: demo, actions: [risky]}]\n")
	if err := os.WriteFile(filepath.Join(folder, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "held.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, state, folder, "agent")
	hold := a.request("demo.wait", `{"path":"held.txt"}`)
	untilSays(t, state, "demo.wait", "locks")
	asked := a.request("demo.risky", `{"path":"x"}`)
	approval := between(t, untilSays(t, state, "pending", "approvals", "list", "--json"), `"id": "`, `"`)
	queued := a.request("filesystem.edit", `{"path":"held.txt","op":"append","new":"at last\n"}`)
	untilSays(t, state, "filesystem.edit", "locks") // it waits for the lock, and has not begun
	kill(t, kernelOf(t, state))
	list := a.ask("tools/list", `{}`)
	got := a.byID(3)
	if r := got[hold]; !r.Result.IsError || !strings.Contains(r.text(), "in doubt") ||
		!strings.Contains(r.text(), "log doubts") {
		t.Errorf("the call that had begun: %+v", r)
	}
	if r := got[queued]; r.Result.IsError || !strings.Contains(r.text(), "at last") {
		t.Errorf("the call that had not begun: %+v", r)
	}
	if r := got[list]; len(r.Result.Tools) == 0 {
		t.Errorf("the list: %+v", r)
	}
	person(t, state, "approvals", "approve", approval)
	if r := a.hear(); r.ID != asked || r.Result.IsError || !strings.Contains(r.text(), `"path":"x"`) {
		t.Errorf("the call that waited for a human: %+v", r)
	}
	if r := a.call("filesystem.read", `{"path":"a.txt"}`); !strings.Contains(r, "hello") {
		t.Errorf("after that: %s", r)
	}
	if said := a.errs.String(); strings.Count(said, "ended; ") != 1 {
		t.Errorf("it says %q", said)
	}
	if out := runOK(t, state, folder, "log", "doubts"); !strings.Contains(out, "demo.wait") {
		t.Errorf("the doubts: %s", out)
	}
}

// TestKilledAgainAndAgain kills the kernel under a client that appends numbered lines
// one after another: each that was answered is there once, each in doubt at most once.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	state, folder := newState(t), newFolder(t, plainApp)
	file := filepath.Join(folder, "log.txt")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, state, folder, "agent")
	const lines, kills = 60, 6
	killed := make(chan struct{})
	next := make(chan struct{}, lines)
	go func() {
		defer close(killed)
		for range kills {
			for range 8 {
				<-next
			}
			pid := 0
			poll(30*time.Second, func() bool { pid = holder(state); return pid > 0 })
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	doubts := map[int]bool{}
	for i := range lines {
		next <- struct{}{}
		got := a.call("filesystem.edit", fmt.Sprintf(`{"path":"log.txt","op":"append","new":"line %d.\n"}`, i))
		switch {
		case strings.Contains(got, "in doubt"):
			doubts[i] = true
		case !strings.Contains(got, fmt.Sprintf("line %d.", i)):
			t.Errorf("line %d: %s", i, got)
		}
	}
	<-killed
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range lines {
		n := strings.Count(string(data), fmt.Sprintf("line %d.\n", i))
		if n > 1 || n == 0 && !doubts[i] {
			t.Errorf("line %d is there %d times; in doubt: %v", i, n, doubts[i])
		}
	}
	t.Logf("%d in doubt: %s", len(doubts), a.errs.String())
}

// holder is the process that holds a state directory; 0 if none is named.
func holder(state string) int {
	data, _ := os.ReadFile(filepath.Join(state, "lock"))
	pid := 0
	_, _ = fmt.Sscan(string(data), &pid)
	return pid
}

// TestToolsOfAStoppedKernel stops the kernel: a client that was here before is
// introduced and has its tools all the same, and its calls run when the kernel is awake.
// A client under another app file is shown nothing of them.
func TestToolsOfAStoppedKernel(t *testing.T) {
	t.Parallel()
	state, folder := newState(t), newFolder(t, plainApp)
	first := newAgent(t, state, folder, "agent")
	first.ask("tools/list", `{}`)
	want := fmt.Sprint(first.hear().Result.Tools)
	if !poll(30*time.Second, func() bool {
		kept, _ := filepath.Glob(filepath.Join(state, "clients", "*.json"))
		return len(kept) == 1
	}) {
		t.Fatal("nothing is kept")
	}
	kernel := kernelOf(t, state)
	if err := syscall.Kill(kernel, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wake := func() { _ = syscall.Kill(kernel, syscall.SIGCONT) }
	t.Cleanup(wake)
	began := time.Now()
	second := newAgent(t, state, folder, "agent")
	second.ask("tools/list", `{}`)
	if got := fmt.Sprint(second.hear().Result.Tools); got != want {
		t.Errorf("of a kernel that is stopped it is shown %s; want %s", got, want)
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("that took %v", took)
	}
	call := second.request("filesystem.list", `{"path":"."}`)
	wake()
	if r := second.hear(); r.ID != call || r.Result.IsError {
		t.Errorf("after that: %+v", r)
	}
	if err := os.WriteFile(filepath.Join(folder, "callgate.yaml"), []byte(plainApp+"    hidden_modules: [filesystem]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	third := newAgent(t, state, folder, "agent")
	third.ask("tools/list", `{}`)
	if got := fmt.Sprint(third.hear().Result.Tools); strings.Contains(got, "filesystem") {
		t.Errorf("what is hidden now is shown: %s", got)
	}
}
