package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// program is the real program. CALLGATE_BIN names it; by default it is built
// here.
func program(b *testing.B) string {
	b.Helper()
	if bin := os.Getenv("CALLGATE_BIN"); bin != "" {
		return bin
	}
	bin := filepath.Join(b.TempDir(), "callgate")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "../../cmd/callgate")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return bin
}

// BenchmarkProgram is the real program from its start to its end: what a
// person waits for.
func BenchmarkProgram(b *testing.B) {
	bin := program(b)
	workspace := b.TempDir()
	if err := os.WriteFile(filepath.Join(workspace, "a.txt"), []byte("hello\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	run := func(b *testing.B, state string, args ...string) {
		b.Helper()
		cmd := exec.Command(bin, append([]string{"--state", state, "-C", workspace}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	b.Run("exec-true", func(b *testing.B) { // the machine's own limit
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Skip(err)
			}
		}
	})
	b.Run("tools-list/cold", func(b *testing.B) {
		state := b.TempDir()
		for b.Loop() {
			run(b, state, "tools", "list")
		}
	})
	b.Run("read/cold", func(b *testing.B) {
		state := b.TempDir()
		for b.Loop() {
			run(b, state, "tools", "call", "Read", "--path", "a.txt")
		}
	})
	state := b.TempDir()
	up := exec.Command(bin, "--state", state, "up")
	if err := up.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = up.Process.Signal(os.Interrupt); _ = up.Wait() }()
	if !poll(time.Minute, func() bool {
		_, err := os.Stat(filepath.Join(state, "kernel.sock"))
		return err == nil
	}) {
		b.Fatal("the kernel does not serve")
	}
	b.Run("tools-list/running", func(b *testing.B) {
		for b.Loop() {
			run(b, state, "tools", "list")
		}
	})
	b.Run("read/running", func(b *testing.B) {
		for b.Loop() {
			run(b, state, "tools", "call", "Read", "--path", "a.txt")
		}
	})
}
