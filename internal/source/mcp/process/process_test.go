package process_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/programtest"
	"callgate/internal/source/mcp/process"
	"callgate/tool"
)

// log is a writer that may be read meanwhile.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// shell runs a script.
func shell(t *testing.T, script string, w *log) *process.Process {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell here")
	}
	p, err := process.Start(process.Command{
		Path: "sh", Args: []string{"-c", script}, Env: os.Environ(), Dir: t.TempDir(), Log: w,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(time.Millisecond) })
	return p
}

// sleep is a command that no other test on this machine runs.
func sleep(n int) string { return fmt.Sprintf("sleep 8713%d.%d", n, os.Getpid()) }

// running reports whether a process with these arguments runs.
func running(t *testing.T, words string) bool {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "stat=,args=").Output()
	if err != nil {
		t.Skip("there is no ps here")
	}
	return slices.ContainsFunc(strings.Split(string(out), "\n"), func(line string) bool {
		return strings.Contains(line, words) && !strings.HasPrefix(line, "Z") && !strings.Contains(line, "sh -c")
	})
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick, late := time.NewTicker(2*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("this never came: " + what)
		}
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, exit string }{
		{"well", "echo words >&2", "exit status 0"},
		{"badly", "echo words >&2; exit 5", "exit status 5"},
		{"by a signal", "echo words >&2; kill -9 $$", "signal: killed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w log
			p := shell(t, c.script, &w)
			<-p.Done()
			if p.Exit() != c.exit || w.String() != "words\n" {
				t.Errorf("it ended with %q and said %q", p.Exit(), w.String())
			}
		})
	}
}

func TestStopClosesAsksAndKills(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, exit string }{
		{"at the end of its input", "cat; echo bye >&2", "exit status 0"},
		{"when asked", "trap 'echo bye >&2; exit 3' TERM; while :; do read x; done", "exit status 3"},
		{"by force", "trap '' TERM; echo bye >&2; while :; do read x; done", "signal: killed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w log
			p := shell(t, "echo up >&2; "+c.script, &w)
			eventually(t, "its start", func() bool { return w.String() != "" })
			p.Stop(200 * time.Millisecond)
			if p.Exit() != c.exit || !strings.HasSuffix(w.String(), "bye\n") {
				t.Errorf("it ended with %q and said %q", p.Exit(), w.String())
			}
			p.Stop(0) // once more changes nothing
		})
	}
}

func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for i, c := range []struct{ name, script string }{
		{"a child", "%s & cat"},
		{"one in the background that holds the pipes", "(%s) & exit 4"},
		{"one that left the session", "setsid %s & cat"},
		{"one that left and has no parents", "(setsid %s &) ; exit 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.script, "setsid") && runtime.GOOS != "linux" {
				t.Skip("one that leaves cannot be found here")
			}
			var w log
			name := sleep(i)
			p := shell(t, fmt.Sprintf(c.script, name)+"; echo up >&2", &w)
			if strings.Contains(c.script, "cat") {
				eventually(t, "the child", func() bool { return running(t, name) })
			}
			p.Stop(time.Second)
			if running(t, name) {
				t.Errorf("%s still runs", name)
			}
		})
	}
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if runtime.GOOS == "windows" {
		t.Skip("programs are found differently here")
	}
	script := filepath.Join(dir, "greet")
	programtest.Write(t, script, "#!/bin/sh\necho hello\n")
	for _, c := range []struct {
		name, path, search, dir string
		ok                      bool
	}{
		{"in the path", "greet", dir, "/", true},
		{"by its full name", script, "", "/", true},
		{"beside the folder", "./greet", "", dir, true},
		{"not in the current folder", "greet", ".:", dir, false},
		{"nowhere", "greet", "/nowhere", "/", false},
		{"a folder", dir, "", "/", false},
		{"nothing", "", "", "/", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := process.Start(process.Command{Path: c.path, Dir: c.dir, Env: []string{"PATH=" + c.search}})
			if !c.ok {
				if err == nil {
					t.Fatal("it was started")
				}
				if k := tool.KindOf(err); k != tool.NotFound && k != tool.Invalid {
					t.Error(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			out, err := io.ReadAll(p.Out)
			if string(out) != "hello\n" || err != nil {
				t.Errorf("it said %q, %v", out, err)
			}
			p.Stop(time.Second)
		})
	}
}
