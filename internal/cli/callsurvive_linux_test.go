package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKernelKilledUnderACommand kills the kernel under a command's call: one that had
// begun is in doubt, with exit code 8, and one that waited for a lock is made by the
// next kernel, once.
func TestKernelKilledUnderACommand(t *testing.T) {
	t.Parallel()
	state, folder := newState(t), newFolder(t, plainApp)
	if err := os.WriteFile(filepath.Join(folder, "held.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(args ...string) (*exec.Cmd, *heardSoFar) {
		t.Helper()
		said := &heardSoFar{}
		c := exec.Command("callgate", append([]string{"-C", folder, "tools", "call"}, args...)...)
		c.Env = append(os.Environ(), "CALLGATE_STATE="+state, "GORACE="+quickRace)
		c.Stdout, c.Stderr = said, said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { killAndWait(c.Process) })
		return c, said
	}
	newAgent(t, state, folder, "agent") // its bridge has started a kernel
	begun, saidBegun := start("demo.wait", "--path", "held.txt")
	untilSays(t, state, "demo.wait", "locks")
	queued, saidQueued := start("filesystem.edit", "--args", `{"path":"held.txt","op":"append","new":"once\n"}`)
	untilSays(t, state, "filesystem.edit", "locks")
	kill(t, kernelOf(t, state))
	_ = begun.Wait()
	if code := begun.ProcessState.ExitCode(); code != 8 || !strings.Contains(saidBegun.String(), "log doubts") {
		t.Errorf("the call that had begun ends with %d: %s", code, saidBegun)
	}
	_ = queued.Wait()
	if code := queued.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the call that had not begun ends with %d: %s", code, saidQueued)
	}
	data, _ := os.ReadFile(filepath.Join(folder, "held.txt"))
	if string(data) != "once\n" {
		t.Errorf("the file has %q", data)
	}
	_, _, said := inProcess(t, state, "", "log", "prune", "--older-than", "0h")
	if !strings.Contains(said, "first call in doubt") || !strings.Contains(said, "callgate log resolve") {
		t.Errorf("of the records that a doubt keeps it is said: %s", said)
	}
}
