//go:build unix

package daemon_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/daemon"
	"callgate/internal/statedir"
	"callgate/tool"
)

// background has this binary serve a state directory when Spawn starts it, and
// returns its command line. The kernel is stopped with the test.
func background(t *testing.T, state string) (command string) {
	t.Helper()
	part, err := json.Marshal(map[string]string{"State": state})
	ok(t, err)
	t.Setenv(roleVar, "background")
	t.Setenv("CALLGATE_TEST_PART", string(part))
	command, err = os.Executable()
	ok(t, err)
	t.Cleanup(func() {
		c := dial(state, "")
		defer c.Close()
		ok(t, c.Stop(context.Background()))
		ok(t, daemon.WaitStopped(context.Background(), statedir.Dir(state)))
	})
	return command
}

// TestSpawn starts a kernel in the background. A second Spawn finds it.
func TestSpawn(t *testing.T) {
	state := t.TempDir()
	command := background(t, state)
	c := dial(state, "")
	defer c.Close()
	var pids []int
	for range 2 {
		ok(t, daemon.Spawn(t.Context(), statedir.Dir(state), daemon.Program{Args: []string{command}}))
		status, err := c.Status(t.Context())
		ok(t, err)
		if !status.Background {
			t.Errorf("the kernel says that it is not in the background: %+v", status)
		}
		pids = append(pids, status.PID)
	}
	if pids[0] != pids[1] || pids[0] == os.Getpid() {
		t.Errorf("the kernels are the processes %v, and this is %d", pids, os.Getpid())
	}
}

// TestSpawnWaitsForACommand starts a kernel while a command holds the state
// directory. It is started when the command has ended.
func TestSpawnWaitsForACommand(t *testing.T) {
	state := t.TempDir()
	held, err := statedir.Dir(state).Hold()
	ok(t, err)
	command := background(t, state)
	spawned := make(chan error, 1)
	go func() {
		spawned <- daemon.Spawn(t.Context(), statedir.Dir(state), daemon.Program{Args: []string{command}})
	}()
	eventually(t, "a kernel that cannot have the directory", func() bool {
		log, err := os.ReadFile(filepath.Join(state, "kernel.log"))
		return err == nil && strings.Contains(string(log), "error: ")
	})
	ok(t, held.Release())
	ok(t, <-spawned)
}

// TestSpawnWithARelativeTMPDIR tests that a kernel in the background, which runs in its state directory, has the same
// temporary folder as the process that starts it.
func TestSpawnWithARelativeTMPDIR(t *testing.T) {
	state, folder := t.TempDir(), t.TempDir()
	t.Chdir(folder)
	t.Setenv("TMPDIR", "tmp")
	program := daemon.Program{Args: []string{"/bin/sh", "-c", `echo "$TMPDIR" > told; exit 1`}}
	if err := daemon.Spawn(t.Context(), statedir.Dir(state), program); err == nil {
		t.Fatal("a program that is no kernel serves the directory")
	}
	told, err := os.ReadFile(filepath.Join(state, "told"))
	ok(t, err)
	here, err := os.Getwd()
	ok(t, err)
	if got := strings.TrimSpace(string(told)); got != filepath.Join(here, "tmp") {
		t.Errorf("the kernel has the temporary folder %s, want that of %s", got, here)
	}
}

func TestSpawnFails(t *testing.T) {
	for name, test := range map[string]struct {
		command       string
		message, hint string
	}{
		"a program that ends":           {"false", "no kernel can be started in the background", "see "},
		"a program that does not exist": {"/nowhere/callgate", "a kernel cannot be started in the background", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := daemon.Spawn(t.Context(), statedir.Dir(t.TempDir()), daemon.Program{Args: []string{test.command}})
			e, isError := err.(*tool.Error)
			if !isError || e.Kind != tool.Unavailable || e.Message != test.message || !strings.HasPrefix(e.Hint, test.hint) {
				t.Errorf("got %#v", err)
			}
		})
	}
}
