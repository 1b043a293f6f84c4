package backgroundcalls_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/programtest"
	"callgate/internal/sandbox"
	"callgate/internal/task"
	"callgate/tool"
)

// commands opens a session that may run commands.
func commands(t *testing.T, app string) (*kernel.Kernel, *session.Session) {
	t.Helper()
	if sandbox.Probe().Level == sandbox.Process {
		t.Skip("this machine cannot confine a command")
	}
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	return k, kerneltest.OpenAccepted(t, k, inFolder(t, app))
}

// bash writes a launch of a command.
func bash(command, more string) string {
	args, _ := json.Marshal(map[string]string{"command": command})
	return fmt.Sprintf(`{"name":"shell.bash","params":%s%s}`, args, more)
}

// running reports whether a process runs whose command line has a word.
func running(t testing.TB, word string) bool {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	ok(t, err)
	for _, name := range lines {
		if line, err := os.ReadFile(name); err == nil && bytes.Contains(line, []byte(word)) {
			return true
		}
	}
	return false
}

// marker is a length of sleep that no other process has.
func marker(t testing.TB) string {
	return fmt.Sprintf("98765.%d%d", os.Getpid(), len(t.Name()))
}

// A command reads what it is given until its input ends, and what it prints is shown
// while it runs.
func TestInput(t *testing.T) {
	t.Parallel()
	_, s := commands(t, free)
	_, begun := run(t, s, bash(`while read x; do echo "got $x"; done; echo over`, ""))
	if begun.Status != "running" {
		t.Fatalf("%+v", begun)
	}
	r, at := run(t, s, of(begun.TaskID, `"stdin":"one\n","wait_for":"got one","settle":0`))
	if at.Status != "running" || at.Matched == nil || !*at.Matched || !strings.Contains(at.Output, "got one") {
		t.Errorf("%+v: %s", at, r.Summary)
	}
	run(t, s, of(begun.TaskID, `"stdin":"two\n"`))
	r, at = run(t, s, of(begun.TaskID, `"eof":true,"wait":true`))
	if at.Status != "completed" || !strings.Contains(text(r), "got one\ngot two\nover") {
		t.Errorf("%+v: %s", at, text(r))
	}
	for _, late := range []string{`"stdin":"x"`, `"signal":"INT"`} {
		if r, _ := run(t, s, of(begun.TaskID, late)); tool.KindOf(r.Err()) != tool.Conflict {
			t.Errorf("%s to one that has ended: %+v", late, r)
		}
	}
}

// TestSignal tests that a signal reaches the command, which may end by it as it likes.
func TestSignal(t *testing.T) {
	t.Parallel()
	_, s := commands(t, free)
	for signal, sent := range map[string]string{"INT": "ctrl+c", "QUIT": "SIGQUIT", "HUP": "hup"} {
		_, at := run(t, s, bash(`trap 'echo asked to; exit 3' `+signal+`; echo ready; while :; do sleep 0.05; done`,
			`,"wait_for":"ready"`))
		if at.Matched == nil || !*at.Matched {
			t.Fatalf("%s: %+v", signal, at)
		}
		r, at := run(t, s, of(at.TaskID, `"signal":"`+sent+`","wait":true`))
		if at.Status != "failed" || !strings.Contains(text(r), "asked to") || !strings.Contains(at.Error, "3") {
			t.Fatalf("%s: %+v: %s %s", signal, at, r.Summary, text(r))
		}
	}
}

// TestSignalThatTheKernelIgnores tests the same of a kernel that was started with these signals ignored.
func TestSignalThatTheKernelIgnores(t *testing.T) {
	t.Parallel()
	programtest.RunIgnoring(t, "TestSignal", "HUP", "INT", "QUIT")
}

// A command that does not heed being told to end is ended by force, with all that it
// started.
func TestCancelByForce(t *testing.T) {
	t.Parallel()
	k, s := commands(t, free)
	word := marker(t)
	_, begun := run(t, s, bash(`trap '' TERM INT; (trap '' TERM; sleep `+word+`) & echo ready; while :; do sleep 0.05; done`,
		`,"wait_for":"ready"`))
	if !running(t, word) {
		t.Fatal("it does not run")
	}
	if _, at := run(t, s, of(begun.TaskID, `"cancel":true`)); at.Status != "cancelled" {
		t.Errorf("%+v", at)
	}
	kerneltest.Eventually(t, func() bool { return !running(t, word) })
	if n := k.Tasks.Running(); n != 0 {
		t.Errorf("%d tasks run", n)
	}
}

// A command is left running by its own call, or goes on when it takes longer than
// somebody waits for it. One that fails at once is told as failed.
func TestCommandsThatGoOn(t *testing.T) {
	t.Parallel()
	k, s := commands(t, "tools:\n  capabilities: {default_policy: auto}\n"+
		"  modules: {shell: {config: {background_after_seconds: 1}}}\n")
	call := func(args string, movable bool) (*tool.Result, string) {
		t.Helper()
		r := s.Call(t.Context(), session.CallRequest{Name: "shell.bash", Args: json.RawMessage(args), Movable: movable})
		var told struct {
			ID string `json:"task_id"`
		}
		ok(t, json.Unmarshal(r.Data, &told))
		return r, told.ID
	}
	r, id := call(`{"command":"echo begun; cat; echo over","run_in_background":true}`, false)
	if id == "" || !strings.Contains(r.Summary, "goes on in the background") {
		t.Fatalf("%+v", r)
	}
	if r, at := run(t, s, of(id, `"stdin":"said\n","eof":true,"wait":true`)); at.Status != "completed" ||
		!strings.Contains(text(r), "begun\nsaid\nover") {
		t.Errorf("%+v: %s", at, text(r))
	}
	r, id = call(`{"command":"echo begun; until test -e gate; do sleep 0.05; done; echo over"}`, true)
	if id == "" || !strings.Contains(text(r), "begun") {
		t.Fatalf("%+v", r)
	}
	write(t, filepath.Join(s.Workspace(), "gate"), "")
	if r, at := run(t, s, of(id, `"wait":true`)); at.Status != "completed" || !strings.Contains(text(r), "over") {
		t.Errorf("%+v: %s", at, text(r))
	}
	if r, id := call(`{"command":"sleep 1.5; echo over"}`, false); id != "" || r.Status != tool.Success {
		t.Errorf("whoever waits has it whole: %+v", r)
	}
	if r := kerneltest.Call(t, s, "shell.bash", `{"command":"exit 7","run_in_background":true}`); r.Status != tool.Failure ||
		!strings.Contains(r.Summary, "7") {
		t.Errorf("%+v", r)
	}
	if n := len(listed(t, k)); n != 2 {
		t.Errorf("%d tasks", n)
	}
}

// doomedVariable has this program be a kernel that is killed while its commands go on.
const doomedVariable = "CALLGATE_TEST_DOOMED"

func playDoomed(state string) {
	ctx := context.Background()
	k, err := kernel.Open(ctx, kernel.Config{State: state})
	if err != nil {
		panic(err)
	}
	s, err := k.OpenSession(ctx, session.Spec{Workspace: os.Getenv("CALLGATE_TEST_FOLDER")})
	if err != nil {
		panic(err)
	}
	word := os.Getenv("CALLGATE_TEST_WORD")
	for _, args := range []string{`{"name":"shell.bash","params":{"command":"sleep ` + word + `"}}`,
		`{"command":"sleep ` + word + `","run_in_background":true}`} {
		name := "background_run"
		if strings.Contains(args, "run_in_background") {
			name = "shell.bash"
		}
		r := s.Call(ctx, session.CallRequest{Name: name, Args: json.RawMessage(args)})
		var told struct {
			ID string `json:"task_id"`
		}
		_ = json.Unmarshal(r.Data, &told)
		fmt.Println(told.ID)
	}
	programtest.Hang()
}

// A kernel is killed while a task and a call that was moved run: their processes are
// gone, the next kernel says of both that they are in doubt, once, and makes neither again.
func TestKilledKernel(t *testing.T) {
	t.Parallel()
	k, s := commands(t, free)
	state, folder := kerneltest.StateDir(t), s.Workspace()
	s.Close()
	ok(t, k.Close())
	k = kerneltest.Open(t, state)
	kerneltest.OpenAccepted(t, k, folder).Close()
	ok(t, k.Close())
	word := marker(t)
	doomed := exec.Command(os.Args[0])
	doomed.Env = append(os.Environ(), doomedVariable+"="+state, "CALLGATE_TEST_FOLDER="+folder, "CALLGATE_TEST_WORD="+word,
		"CALLGATE_KEYRING=off")
	out, err := doomed.StdoutPipe()
	ok(t, err)
	ok(t, doomed.Start())
	var first, moved string
	_, err = fmt.Fscan(out, &first, &moved)
	if err != nil || len(first) != 12 || len(moved) != 12 || !running(t, word) {
		_ = doomed.Process.Kill()
		t.Fatalf("%q and %q run: %v", first, moved, err)
	}
	ok(t, doomed.Process.Kill())
	_, _ = io.Copy(io.Discard, out)
	_ = doomed.Wait()
	kerneltest.Eventually(t, func() bool { return !running(t, word) })
	k = kerneltest.Open(t, state)
	for _, id := range []string{first, moved} {
		if got := ended(t, k, id); got.State != task.InDoubt {
			t.Errorf("%s: %s, %+v", id, got.State, got.Outcome)
		}
	}
	if running(t, word) {
		t.Error("it was made again")
	}
	s = kerneltest.OpenSession(t, k, folder)
	for _, id := range []string{first, moved} {
		if r, at := run(t, s, of(id, "")); at.Status != "in_doubt" || len(r.Warnings) > 0 {
			t.Errorf("%+v, %q", at, r.Warnings)
		}
	}
}
