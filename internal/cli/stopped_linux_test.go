package cli_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/internal/peer"
)

// A kernel that was stopped keeps nobody waiting without a word: commands that read end
// and name the process, a call says for whom it waits, and down ends the kernel.
func TestStoppedKernel(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	kernel := up(t, state)
	stop(t, kernel)
	wake := fmt.Sprintf("kill -CONT %d", kernel.Process.Pid)
	commands := map[string]int{
		"log tail": 7, "tools list": 7, "app where": 7, "doctor": 1, "log doubts": 7, "sessions list": 7,
		"tools call demo.echo --path x": 7, "run -p x": 7, "approvals list": 7, "locks": 7, "up": 7, "mcp": 7,
	}
	running := map[string]*process{}
	for args := range commands {
		running[args] = start(t, state, strings.Fields(args)...)
	}
	for args, p := range running {
		if got := p.ends(t); got != commands[args] || !strings.Contains(p.out.String()+p.err.String(), wake) {
			t.Errorf("callgate %s ends with %d and says %s%s", args, got, p.out.String(), p.err.String())
		}
	}
	p := start(t, state, "down")
	if got := p.ends(t); got != 0 || !strings.Contains(p.err.String(), "has ended") {
		t.Errorf("it ends with %d and says %s%s", got, p.out.String(), p.err.String())
	}
	if code := kernel.ends(t); code < 0 { // it ended by itself
		t.Errorf("the kernel ended with %d: %s", code, kernel.err.String())
	}
	if code, _, errs := inProcess(t, state, "", "down", "--force"); code != 0 || !strings.Contains(errs, "no kernel is running") {
		t.Errorf("a second time: %d, %s", code, errs)
	}
}

// A process that holds the state directory and never serves it is named.
func TestHolderThatNeverServes(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	kernel := up(t, state)
	stop(t, kernel)
	if err := syscall.Unlink(filepath.Join(state, "kernel.sock")); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	p := start(t, state, "log", "tail")
	code := p.ends(t)
	want := fmt.Sprintf("process %d holds the state directory", kernel.Process.Pid)
	if code != 7 || !strings.Contains(p.err.String(), want) || !strings.Contains(p.err.String(), "stopped") {
		t.Errorf("after %v it ends with %d and says %s", time.Since(began), code, p.err.String())
	}
	p = start(t, state, "down")
	if code := p.ends(t); code != 0 || !strings.Contains(p.err.String(), "has ended") {
		t.Errorf("down ends with %d and says %s", code, p.err.String())
	}
	kernel.ends(t)
}

// down ends a kernel that was started by hand, after which there is none.
func TestDownEndsAKernelStartedByHand(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	kernel := up(t, state)
	p := start(t, state, "down")
	if code := p.ends(t); code != 0 || !strings.Contains(p.err.String(), fmt.Sprintf("process %d, has ended", kernel.Process.Pid)) {
		t.Errorf("down ends with %d and says %s", code, p.err.String())
	}
	if code := kernel.ends(t); code != 0 {
		t.Errorf("the kernel ended with %d: %s", code, kernel.err.String())
	}
}

// down ends a kernel that speaks none of our requests, as one of another version may.
func TestDownEndsAKernelOfAnotherVersion(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	kernel := up(t, state)
	socket := filepath.Join(state, "kernel.sock")
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("unix", socket) // in its place: it answers every request with 404
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler()}
	go func() { _ = server.Serve(other) }()
	t.Cleanup(func() { _ = server.Close() })
	p := start(t, state, "down")
	if code := p.ends(t); code != 0 || !strings.Contains(p.err.String(), "has ended") {
		t.Errorf("down ends with %d and says %s", code, p.err.String())
	}
	if code := kernel.ends(t); code != 0 {
		t.Errorf("the kernel ended with %d: %s", code, kernel.err.String())
	}
}

// stop stops a process, and returns once it stands still.
func stop(t *testing.T, p *process) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if !poll(time.Minute, func() bool { return peer.Stopped(p.Process.Pid) }) {
		t.Fatal("the process does not stop")
	}
}
