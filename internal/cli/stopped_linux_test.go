package cli_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/internal/peer"
)

// A kernel that was stopped keeps nobody waiting without a word: commands that read end
// and name the process, a call says for whom it waits, and down --force ends the kernel.
func TestStoppedKernel(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	kernel := up(t, state)
	stop(t, kernel)
	wake := fmt.Sprintf("kill -CONT %d", kernel.Process.Pid)
	commands := map[string]int{
		"log tail": 7, "tools list": 7, "app where": 7, "down": 7, "doctor": 1, "log doubts": 7, "sessions list": 7,
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
	p := start(t, state, "down", "--force")
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
	if code := p.ends(t); code != 7 || !strings.Contains(p.err.String(), want) {
		t.Errorf("down ends with %d and says %s", code, p.err.String())
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
