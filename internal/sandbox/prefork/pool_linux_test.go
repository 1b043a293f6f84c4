package prefork_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"callgate/internal/sandbox/launcher"
	"callgate/internal/sandbox/prefork"
	_ "callgate/internal/sandbox/selfstart"
)

// These tests need no namespaces: their programs only start a command. What the
// sandbox adds is tested with it.

// command is a job that runs a shell script, in the namespaces of this process.
func command(script string) prefork.Job {
	return prefork.Job{Grace: 100 * time.Millisecond, Program: func() ([]byte, error) {
		p := &launcher.Program{}
		p.Step("begin a session")
		p.Call(unix.SYS_SETSID)
		p.Fork = p.Calls()
		p.Step("run")
		const setMask, maskSize = 2, 8
		p.Call(unix.SYS_RT_SIGPROCMASK, launcher.Int(setMask), p.Bytes(make([]byte, maskSize)), launcher.Int(0), launcher.Int(maskSize))
		p.Call(unix.SYS_EXECVE, p.Text("/bin/sh"), p.Texts([]string{"sh", "-c", script}), p.Texts([]string{"PATH=/usr/bin:/bin"}))
		return p.Encode(), nil
	}}
}

// mustRun runs a script that must end with a status line.
func mustRun(t *testing.T, p *prefork.Pool, script, want string) {
	t.Helper()
	line, err := p.Run(t.Context(), command(script))
	if err != nil || line != want {
		t.Errorf("%q: %q, %v; want %q", script, line, err, want)
	}
}

// exited is the status line of a command that exited.
func exited(code int) string { return launcher.Ended + " " + strconv.Itoa(code<<8) + " -" }

// helpers lists the helpers that this process has.
func helpers(t *testing.T) []int {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var list []int
	for _, name := range names {
		stat, _ := os.ReadFile(name)
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) && string(line) == launcher.Marker+"\x00" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			list = append(list, pid)
		}
	}
	return list
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 seconds: %s", what)
		}
	}
}

// newPool returns a pool that is closed with the test.
func newPool(t *testing.T, idle time.Duration) *prefork.Pool {
	t.Helper()
	p := &prefork.Pool{Idle: idle}
	t.Cleanup(func() {
		p.Close()
		if left := helpers(t); len(left) > 0 {
			t.Errorf("after Close the helpers %d are left", left)
		}
	})
	return p
}

func TestRun(t *testing.T) {
	for name, idle := range map[string]time.Duration{"kept": time.Hour, "not kept": 0} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, idle)
			for code := range 3 {
				mustRun(t, p, "exit "+strconv.Itoa(code), exited(code))
			}
			mustRun(t, p, "kill -KILL $$", launcher.Ended+" 9 -")
		})
	}
}

// The zero Pool keeps no helper.
func TestZeroPool(t *testing.T) {
	p := newPool(t, 0)
	mustRun(t, p, "true", exited(0))
	until(t, "no helper is left", func() bool { return len(helpers(t)) == 0 })
}

func TestOneHelperWaits(t *testing.T) {
	p := newPool(t, time.Hour)
	if list := helpers(t); len(list) != 0 {
		t.Fatalf("before the first run there are %d", list)
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() { mustRun(t, p, "true", exited(0)) })
	}
	wg.Wait()
	until(t, "one helper waits", func() bool { return len(helpers(t)) == 1 })
	first := helpers(t)[0]
	mustRun(t, p, "true", exited(0))
	until(t, "another helper waits", func() bool { list := helpers(t); return len(list) == 1 && list[0] != first })
}

func TestIdleHelperStops(t *testing.T) {
	p := newPool(t, 50*time.Millisecond)
	for range 2 {
		mustRun(t, p, "true", exited(0))
		until(t, "no helper is left", func() bool { return len(helpers(t)) == 0 })
	}
}

// A helper that was killed while it waited costs a run nothing.
func TestKilledHelperIsReplaced(t *testing.T) {
	p := newPool(t, time.Hour)
	mustRun(t, p, "true", exited(0))
	for range 5 {
		until(t, "one helper waits", func() bool { return len(helpers(t)) == 1 })
		if err := syscall.Kill(helpers(t)[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		mustRun(t, p, "exit 3", exited(3))
	}
}

// A program that cannot be made runs nothing, and its helper waits again.
func TestNoProgram(t *testing.T) {
	p := newPool(t, time.Hour)
	mustRun(t, p, "true", exited(0))
	until(t, "one helper waits", func() bool { return len(helpers(t)) == 1 })
	before, broken := helpers(t)[0], errors.New("broken")
	_, err := p.Run(t.Context(), prefork.Job{Program: func() ([]byte, error) { return nil, broken }})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if list := helpers(t); len(list) != 1 || list[0] != before {
		t.Errorf("the helper %d became %d", before, list)
	}
}

// A context that ends asks the command to end, and kills it after the grace.
func TestContextEnds(t *testing.T) {
	p := newPool(t, time.Hour)
	folder := t.TempDir()
	for name, tt := range map[string]struct{ script, want string }{
		"asked":  {"trap 'exit 5' TERM; touch up; while :; do sleep 0.01; done", exited(5)},
		"killed": {"trap '' TERM; touch up; while :; do sleep 0.01; done", launcher.Ended + " 9 -"},
	} {
		up := filepath.Join(folder, name)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan string, 1)
		go func() {
			line, err := p.Run(ctx, command(strings.ReplaceAll(tt.script, "touch up", "touch "+up)))
			if err != nil {
				t.Error(err)
			}
			done <- line
		}()
		until(t, "the command runs", func() bool { _, err := os.Stat(up); return err == nil })
		cancel()
		if line := <-done; line != tt.want {
			t.Errorf("%s: %q, want %q", name, line, tt.want)
		}
	}
}

// A step that fails is named.
func TestBrokenStep(t *testing.T) {
	line, err := newPool(t, 0).Run(t.Context(), prefork.Job{Program: func() ([]byte, error) {
		p := &launcher.Program{}
		p.Step("enter a folder")
		p.Call(unix.SYS_CHDIR, p.Text("/does/not/exist"))
		return p.Encode(), nil
	}})
	if want := launcher.Broken + " " + strconv.Itoa(int(unix.ENOENT)) + " enter a folder"; err != nil || line != want {
		t.Errorf("%q, %v; want %q", line, err, want)
	}
}

func TestCloseDuringRuns(t *testing.T) {
	p := newPool(t, time.Millisecond)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 4 {
				mustRun(t, p, "true", exited(0))
			}
		})
		wg.Go(func() {
			for range 10 {
				p.Close()
			}
		})
	}
	wg.Wait()
}
