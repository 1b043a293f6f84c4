package daemon_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"callgate/internal/client"
	"callgate/internal/daemon"
	"callgate/internal/kernel"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// TestIdle has a kernel in the background stop by itself after its last session,
// and then has a client stop it.
func TestIdle(t *testing.T) {
	d, err := daemon.StartBackground(t.Context(), kernel.Config{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Kernel.OpenSession(t.Context(), session.Spec{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.WaitIdle(t.Context(), 20*time.Millisecond) }()
	s.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	go func() { ended <- d.WaitIdle(t.Context(), time.Hour) }()
	c := client.New(client.Options{Dial: d.Dial})
	defer c.Close()
	if status, err := c.Status(t.Context()); err != nil || !status.Background {
		t.Errorf("%+v, %v", status, err)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
}

// A kernel in the background that works on ends when its state directory is removed.
func TestStateDirectoryIsRemoved(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	d, err := daemon.StartBackground(t.Context(), kernel.Config{State: state})
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Kernel.OpenSession(t.Context(), session.Spec{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ended := make(chan error, 1)
	go func() { ended <- d.WaitIdle(t.Context(), 200*time.Millisecond) }()
	if err := os.Rename(state, state+"-gone"); err != nil { // whole, while the kernel writes in it
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_ = d.Stop() // what it would write has no place any more
}

// TestStartedByHand has a client ask a kernel to stop that is not in the background.
func TestStartedByHand(t *testing.T) {
	d, err := daemon.Start(t.Context(), kernel.Config{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	c := client.New(client.Options{Dial: d.Dial})
	defer c.Close()
	if err := c.Stop(t.Context()); tool.KindOf(err) != tool.Denied {
		t.Errorf("got %v", err)
	}
}
