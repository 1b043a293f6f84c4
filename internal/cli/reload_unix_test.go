//go:build unix

package cli_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/statedir"
	"callgate/tool"
)

// SIGHUP has a kernel read the app files of its open sessions again, and a file with a mistake changes nothing.
func TestHangupReloads(t *testing.T) {
	t.Parallel()
	hangups := make(chan os.Signal, 1) // the kernel would inherit that SIGHUP is ignored, but not that it is handled
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	state, folder := filepath.Join(t.TempDir(), "s"), t.TempDir()
	file := filepath.Join(folder, "callgate.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("app: {app_id: a}\n")
	kernel := up(t, state)
	dir, err := statedir.At(state)
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(client.Options{Dial: client.Unix(dir.Socket())})
	defer c.Close()
	s, err := c.OpenSession(t.Context(), protocol.OpenSession{Workspace: folder})
	if err != nil {
		t.Fatal(err)
	}
	list := func() tool.Status {
		r, err := s.Call(t.Context(), protocol.CallRequest{Name: "filesystem.list", Args: []byte(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		return r.Status
	}
	if got := list(); got != tool.Success {
		t.Fatalf("before: %s", got)
	}
	write("app: {app_id: a}\ntools: {capabilities: {deny: [{module: filesystem, actions: [list]}]}}\n")
	if err := kernel.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if !poll(time.Minute, func() bool { return list() == tool.Refused }) {
		t.Fatalf("SIGHUP changed nothing: %s", untilSays(t, state, "", "log", "tail"))
	}
	if out := untilSays(t, state, "read again by SIGHUP", "log", "tail"); !strings.Contains(out, "for 1 session") {
		t.Errorf("on record: %s", out)
	}
	write("app: {app_id: a}\ntolls: {}\n")
	if err := kernel.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	untilSays(t, state, "callgate.yaml:2:", "log", "tail")
	if got := list(); got != tool.Refused {
		t.Errorf("after a broken file: %s", got)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	write("app: {app_id: a}\n")
	if err := kernel.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	untilSays(t, state, "for 0 sessions", "log", "tail")
	if err := kernel.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := kernel.ends(t); code != 0 {
		t.Errorf("the kernel ended with %d: %s", code, kernel.err.String())
	}
	if said := kernel.err.String(); !strings.Contains(said, "SIGHUP: no session is open; 1 app file checked, without a mistake: ") {
		t.Errorf("without a session it says %s", said)
	}
}
