//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/internal/statedir"
)

// process is the program in a process of its own.
type process struct {
	*exec.Cmd
	out, err bytes.Buffer
}

// start runs the program on a state directory.
func start(t *testing.T, state string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command("callgate", args...)}
	p.Env = append(os.Environ(), "CALLGATE_STATE="+state, "GORACE="+quickRace)
	p.Dir = t.TempDir()
	p.Stdout, p.Stderr = &p.out, &p.err
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killAndWait(p.Process) })
	return p
}

// ends waits for the process and returns its exit code, or minus the signal
// that killed it.
func (p *process) ends(t *testing.T) int {
	t.Helper()
	watchdog := time.AfterFunc(time.Minute, func() { _ = p.Process.Kill() })
	defer watchdog.Stop()
	_ = p.Wait()
	status := p.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return -int(status.Signal())
	}
	return status.ExitStatus()
}

// untilSays runs a command again until it says something.
func untilSays(t *testing.T, state, want string, args ...string) string {
	t.Helper()
	var out, errs string
	if !poll(time.Minute, func() bool {
		_, out, errs = inProcess(t, state, "", args...)
		return strings.Contains(out, want)
	}) {
		t.Fatalf("callgate %s never says %q, but %s%s", strings.Join(args, " "), want, out, errs)
	}
	return out
}

// killAndWait ends a process and returns once it is gone: until then it may write into a
// folder that the test is about to remove.
func killAndWait(p *os.Process) {
	_ = p.Kill()
	_, _ = p.Wait()
}

// up starts a kernel and returns once it serves.
func up(t *testing.T, state string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command("callgate", "up")}
	p.Env = append(os.Environ(), "CALLGATE_STATE="+state, "GORACE="+quickRace)
	p.Stderr = &p.err
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killAndWait(p.Process) })
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the kernel did not start: %v: %s", err, p.err.String())
		}
		if strings.Contains(line, "Ctrl-C") {
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return p
		}
	}
}

// untilHolds waits until a process holds a state directory: it is the kernel, or
// soon will be.
func untilHolds(t *testing.T, state string, pid int) {
	t.Helper()
	dir, err := statedir.At(state)
	if err != nil {
		t.Fatal(err)
	}
	if !poll(time.Minute, func() bool { return dir.Holder() == pid }) {
		t.Fatalf("process %d does not hold %s", pid, state)
	}
}

func TestInterruptedCall(t *testing.T) {
	t.Parallel()
	for _, withKernel := range []bool{false, true} {
		name := "of a kernel of its own"
		if withKernel {
			name = "of a running kernel"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := filepath.Join(t.TempDir(), "s")
			if withKernel {
				up(t, state)
			}
			call := start(t, state, "tools", "call", "demo.wait", "--path", "x")
			if !withKernel { // else the command that looks would be its kernel, for a moment
				untilHolds(t, state, call.Process.Pid)
			}
			untilSays(t, state, "demo.wait", "locks")
			_ = call.Process.Signal(os.Interrupt)
			if code := call.ends(t); code != 130 {
				t.Errorf("exit code %d, want 130", code)
			}
			if !strings.Contains(call.err.String(), "cancelled") || !strings.Contains(call.err.String(), "log show c") {
				t.Errorf("it does not say what happened: %s", call.err.String())
			}
			if call.out.Len() > 0 {
				t.Errorf("standard output holds %q", call.out.String())
			}
			untilSays(t, state, "nothing is locked", "locks")
			untilSays(t, state, `"error":"cancelled"`, "log", "tail", "--json")
		})
	}
}

func TestInterruptedWhileWaitingForAHuman(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	up(t, state)
	call := start(t, state, "tools", "call", "demo.risky", "--path", "x", "--json")
	untilSays(t, state, "pending", "approvals", "list")
	_ = call.Process.Signal(syscall.SIGTERM)
	if code := call.ends(t); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if !strings.Contains(call.out.String(), "still waits for a human") || !strings.Contains(call.out.String(), `"approval": "a`) {
		t.Errorf("it does not say that the question stands: %s", call.out.String())
	}
	if list := untilSays(t, state, "ID", "approvals", "list"); !strings.Contains(list, "pending") {
		t.Errorf("the question is gone: %s", list)
	}
}

func TestUpEndsOnceCallsHave(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	kernel := up(t, state)
	call := start(t, state, "tools", "call", "demo.wait", "--path", "x")
	untilSays(t, state, "demo.wait", "locks")
	_ = kernel.Process.Signal(syscall.SIGTERM)
	untilGone(t, filepath.Join(state, "kernel.sock"))
	_ = call.Process.Signal(os.Interrupt) // the end waits for it
	call.ends(t)
	if code := kernel.ends(t); code != 0 {
		t.Errorf("exit code %d, want 0: %s", code, kernel.err.String())
	}
	if !strings.Contains(kernel.err.String(), "finishing 1 call") {
		t.Errorf("it does not say what it waits for: %s", kernel.err.String())
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	kernel := up(t, state)
	start(t, state, "tools", "call", "demo.wait", "--path", "x")
	untilSays(t, state, "demo.wait", "locks")
	_ = kernel.Process.Signal(os.Interrupt)
	untilGone(t, filepath.Join(state, "kernel.sock"))
	_ = kernel.Process.Signal(os.Interrupt)
	// Where this test was started with the signal ignored, so was the kernel.
	if code := kernel.ends(t); code != -int(syscall.SIGINT) && code != 128+int(syscall.SIGINT) {
		t.Errorf("it ended with %d, and was not ended by the second signal", code)
	}
}

// untilGone waits for a socket to go: then a signal was heard, and nobody new
// is let in.
func untilGone(t *testing.T, socket string) {
	t.Helper()
	if !poll(time.Minute, func() bool {
		_, err := os.Stat(socket)
		return err != nil
	}) {
		t.Fatal("the kernel goes on")
	}
}

func TestNoProcessIsLeftBehind(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	asked := start(t, state, "tools", "call", "demo.risky", "--path", "x", "--no-wait", "--json")
	if code := asked.ends(t); code != 4 {
		t.Fatalf("exit code %d, want 4", code)
	}
	id := between(t, asked.out.String(), `"approval": "`, `"`)
	// A kernel is started to be answered, and ends with the answer.
	person(t, state, "approvals", "approve", id)
	look := start(t, state, "doctor", "--json")
	look.ends(t)
	if !strings.Contains(look.out.String(), "not running; it starts") {
		t.Errorf("a kernel runs on: %s", look.out.String())
	}
}

func between(t *testing.T, text, before, after string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, before)
	found, _, ok2 := strings.Cut(rest, after)
	if !ok || !ok2 {
		t.Fatalf("nothing between %q and %q in %s", before, after, text)
	}
	return found
}
