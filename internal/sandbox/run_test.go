//go:build linux

package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"callgate/internal/sandbox"
	"callgate/tool"
)

func TestHowARunEnds(t *testing.T) {
	for _, l := range levels(t) {
		t.Run(l.name, func(t *testing.T) {
			g := newFixture(t)
			plain := g.put("work/plain.txt", "no program")
			script := g.put("work/script", "#!/bin/sh\necho $1 $(pwd)")
			ok(t, os.Chmod(script, 0o755))
			lost := g.put("work/lost", "#!/no/such/interpreter\n")
			ok(t, os.Chmod(lost, 0o755))
			for _, c := range []struct {
				name   string
				argv   []string
				code   int
				signal string
				out    string
				kind   tool.Kind
			}{
				{"a success", sh("echo done"), 0, "", "done\n", ""},
				{"a code", sh("echo no >&2; exit 3"), 3, "", "no\n", ""},
				{"a signal", sh("kill -9 $$"), -1, "SIGKILL", "", ""},
				{"a polite signal", sh("kill -TERM $$"), -1, "SIGTERM", "", ""},
				{"a name in the PATH", []string{"printf", "%s", "x"}, 0, "", "x", ""},
				{"a script", []string{script, "a"}, 0, "", "a " + g.workspace + "\n", ""},
				{"a script by its short name", []string{"./script", "b"}, 0, "", "b " + g.workspace + "\n", ""},
				{"nothing of that name", []string{"no-such-program-anywhere"}, 0, "", "", tool.NotFound},
				{"no file of that name", []string{"/no/such/program"}, 0, "", "", tool.NotFound},
				{"a file that is no program", []string{plain}, 0, "", "", tool.NotFound},
				{"no interpreter", []string{lost}, 0, "", "", tool.NotFound},
				{"no command", nil, 0, "", "", tool.Invalid},
			} {
				exit, out, err := g.run(l, nil, c.argv...)
				if tool.KindOf(err) != c.kind || exit.Code != c.code || exit.Signal != c.signal || out != c.out {
					t.Errorf("%s: %+v %q, error %v", c.name, exit, out, err)
				}
				if err == nil && exit.Level != l.wanted() {
					t.Errorf("%s: level %q, want %q", c.name, exit.Level, l.wanted())
				}
			}
		})
	}
}

func (l level) wanted() string {
	return map[string]string{"full": sandbox.Full, "filtered": sandbox.Filtered, "process": sandbox.Process}[l.name]
}

// What cannot be had is refused, or run without it and told so.
func TestWallsThatCannotBeHad(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	bare := level{name: "bare", machine: sandbox.Report{OS: "linux"}}
	_, _, err := g.run(bare, nil, "/bin/true")
	if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "inside its workspace") ||
		!strings.Contains(err.Error(), "off the network") ||
		!strings.Contains(err.Error(), "doctor") {
		t.Errorf("refused with %v", err)
	}
	bare.relaxed = true
	exit, _, err := g.run(bare, nil, "/bin/true")
	if err != nil || exit.Level != sandbox.Process || len(exit.Missing) != 2 {
		t.Errorf("relaxed: %+v, %v", exit, err)
	}
	exit, _, err = g.run(bare, func(s *sandbox.Spec) { s.Network = true }, "/bin/true")
	if err != nil || len(exit.Missing) != 1 {
		t.Errorf("relaxed, with the network: %+v, %v", exit, err)
	}
	bare.relaxed = false
	exit, _, err = g.run(bare, func(s *sandbox.Spec) { s.Unconfined = true }, "/bin/true")
	if err != nil || exit.Level != sandbox.Process || len(exit.Missing) != 0 {
		t.Errorf("unconfined: %+v, %v", exit, err)
	}
}

// A path that has become a link since it was made canonical leads nowhere: who
// may write above a workspace could otherwise choose another for it.
func TestSwappedFolders(t *testing.T) {
	t.Parallel()
	for _, l := range isolated(t) {
		g := newFixture(t)
		secret := g.put("outside/work/secret", "s")
		link := filepath.Join(g.home, "link")
		ok(t, os.Symlink(g.outside, link))
		for name, change := range map[string]func(*sandbox.Spec){
			"the workspace":   func(s *sandbox.Spec) { s.Workspace = filepath.Join(link, "work") },
			"a writable file": func(s *sandbox.Spec) { s.Writable = []string{filepath.Join(link, "work", "secret")} },
		} {
			exit, out, err := g.run(l, change, "cat", secret)
			if tool.KindOf(err) != tool.Unavailable || out != "" {
				t.Errorf("%s: %s: %+v %q %v", l.name, name, exit, out, err)
			}
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	for _, l := range levels(t) {
		g := newFixture(t)
		var group sync.WaitGroup
		for i := range 24 {
			group.Go(func() {
				number := strconv.Itoa(i)
				exit, out, err := g.run(l, func(s *sandbox.Spec) { s.Stdin = strings.NewReader(number) }, sh("cat; exit "+number)...)
				if err != nil || exit.Code != i || out != number {
					t.Errorf("%s: run %d: %+v %q %v", l.name, i, exit, out, err)
				}
			})
		}
		group.Wait()
	}
}

// Whatever a command starts is gone when it is over.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	for _, l := range levels(t) {
		for name, script := range map[string]string{
			"in the background":     "sleep $B &",
			"under nohup":           "nohup sleep $B >/dev/null 2>&1 &",
			"in a session":          "setsid sleep $B &",
			"orphaned":              "(sleep $B &)",
			"orphaned twice":        "(setsid sh -c 'setsid sleep $B & setsid sleep $B &' &)",
			"without its files":     "setsid sleep $B <&- >&- 2>&- &",
			"a crowd":               "for i in 1 2 3 4 5 6 7 8 9 10; do setsid sleep $B & done",
			"in a group of its own": "set -m; sleep $B &",
			"stopped":               "sleep $B & kill -STOP $!",
		} {
			t.Run(l.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				g, b := newFixture(t), newBrand()
				g.must(l, sh(strings.ReplaceAll(script, "$B", b))...)
				gone(t, b)
			})
		}
		if l.name != "process" { // without isolation, one who forgets who he was is not found
			t.Run(l.name+"/without a past", func(t *testing.T) {
				t.Parallel()
				g, b := newFixture(t), newBrand()
				g.must(l, sh("env -i setsid sh -c 'setsid sleep "+b+" <&- >&- 2>&- &'")...)
				gone(t, b)
			})
		}
	}
}

func TestTheEndOfItsTime(t *testing.T) {
	for _, l := range levels(t) {
		for _, c := range []struct {
			name, script string
			code         int
			signal       string
		}{
			{"one that listens", "trap 'exit 7' TERM; echo up; sleep $B & wait", 7, ""},
			{"one that does not know", "echo up; exec sleep $B", -1, "SIGTERM"},
			{"one that will not listen", "trap '' TERM; echo up; sleep $B; sleep $B", -1, "SIGKILL"},
			{"one whose children will not", "trap '' TERM; echo up; (setsid sh -c 'trap \"\" TERM; sleep $B') & sleep $B; sleep $B", -1, "SIGKILL"},
		} {
			t.Run(l.name+"/"+c.name, func(t *testing.T) {
				g, b := newFixture(t), newBrand()
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, nil)
				defer cancel()
				up := writerFunc(func([]byte) { cancel() })
				exit, _, err := g.runIn(ctx, l, func(s *sandbox.Spec) { s.Stdout = up }, sh(strings.ReplaceAll(c.script, "$B", b))...)
				if err != nil || exit.Code != c.code || exit.Signal != c.signal || exit.TimedOut {
					t.Errorf("%+v, %v", exit, err)
				}
				gone(t, b)
			})
		}
		t.Run(l.name+"/a deadline", func(t *testing.T) {
			g, b := newFixture(t), newBrand()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			exit, _, err := g.runIn(ctx, l, nil, "sleep", b)
			if err != nil || exit.Signal == "" || !exit.TimedOut {
				t.Errorf("%+v, %v", exit, err)
			}
			gone(t, b)
		})
		t.Run(l.name+"/already over", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, _, err := newFixture(t).runIn(ctx, l, nil, "/bin/true"); tool.KindOf(err) != tool.Cancelled {
				t.Error(err)
			}
		})
	}
}

// When this process is killed, its runs die with it; without isolation at least
// the command itself does.
func TestKilledKernelLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, l := range levels(t) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			g, b := newFixture(t), newBrand()
			argv := actor(t, "runner", b, g.workspace, l.name)
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Env = append(os.Environ(), "TMPDIR="+g.outside)
			out, err := cmd.StdoutPipe()
			ok(t, err)
			ok(t, cmd.Start())
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			if len(alive(t, b)) == 0 {
				t.Fatal("nothing runs: this test cannot fail")
			}
			ok(t, cmd.Process.Kill())
			cmd.Wait()
			most := 0
			if l.name == "process" {
				most = 1
				defer killAll(t, b)
			}
			for limit := time.Now().Add(20 * time.Second); len(alive(t, b)) > most; {
				if time.Now().After(limit) {
					t.Fatalf("left behind: %q", alive(t, b))
				}
				runtime.Gosched()
			}
		})
	}
}

func TestStandardFiles(t *testing.T) {
	t.Parallel()
	for _, l := range levels(t) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			g := newFixture(t)
			exit, out, err := g.run(l, func(s *sandbox.Spec) { s.Stdin = strings.NewReader("one\ntwo\n") }, sh("cat; exec cat >&2")...)
			if err != nil || exit.Code != 0 || out != "one\ntwo\n" {
				t.Errorf("%+v %q %v", exit, out, err)
			}
			exit, _, err = g.run(l, func(s *sandbox.Spec) { s.Stdin = endless{} }, "/bin/true") // never read
			if err != nil || exit.Code != 0 {
				t.Errorf("input that nobody reads: %+v %v", exit, err)
			}
			if out := g.must(l, sh("cat; echo end")...); out != "end\n" {
				t.Errorf("no input: %q", out)
			}
			var count counter
			exit, _, err = g.run(l, func(s *sandbox.Spec) { s.Stdout = &count }, "head", "-c", "1000000000", "/dev/zero")
			if err != nil || exit.Code != 0 || count != 1_000_000_000 {
				t.Errorf("a gigabyte: %d bytes, %+v %v", count, exit, err)
			}
			b := newBrand() // a leftover process that holds the output open does not delay the run
			if out := g.must(l, sh("echo out; setsid sleep "+b+" & ")...); out != "out\n" {
				t.Errorf("with a leftover process: %q", out)
			}
			gone(t, b)
		})
	}
}

// endless is input without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

func TestTemporaryFolderIsItsOwn(t *testing.T) {
	t.Parallel()
	for _, l := range levels(t) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			g := newFixture(t)
			dir := strings.TrimSpace(
				g.must(l, sh(`echo "$TMPDIR"; f=$(mktemp) && echo x >"$f"; mkdir "$TMPDIR/a" && echo y >"$TMPDIR/a/b" && chmod 0 "$TMPDIR/a"`)...),
			)
			again := strings.Fields(g.must(l, sh(`echo "$TMPDIR"; ls -A "$TMPDIR"`)...))
			inside, _ := strings.CutPrefix(g.workspace, again[0]+"/") // the folder of the workspace may lie there too
			above, _, _ := strings.Cut(inside, "/")
			left := slices.DeleteFunc(again[1:], func(name string) bool { return name == above })
			if !l.full() && again[0] == dir || len(left) > 0 {
				t.Errorf("the second run has %s after %s, and finds %q", again[0], dir, left)
			}
			if !filepath.IsAbs(dir) || !l.full() && exists(dir) {
				t.Errorf("%q is relative, or still there", dir)
			}
		})
	}
}

// TestSystemTemporaryFoldersAreItsOwn tests that /tmp and /var/tmp are the run's own, and can be written, wherever the
// workspace lies.
func TestSystemTemporaryFoldersAreItsOwn(t *testing.T) {
	t.Parallel()
	full := isolated(t)[len(isolated(t))-1]
	if !full.full() {
		t.Skip("this machine has no namespaces")
	}
	for _, place := range []string{"", "/tmp", "/var/tmp"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if place != "" {
				var err error
				if dir, err = os.MkdirTemp(place, "callgate-test-"); err != nil {
					t.Skip(err)
				}
				t.Cleanup(func() { ok(t, os.RemoveAll(dir)) })
			}
			g := newFixtureIn(t, dir)
			for _, temp := range []string{"/tmp", "/var/tmp"} {
				path := temp + "/callgate-test-" + newBrand()
				if out := g.must(full, sh("echo x > "+path+" && cat "+path)...); out != "x\n" {
					t.Errorf("%s has %q", path, out)
				}
				if exists(path) {
					ok(t, os.Remove(path))
					t.Errorf("%s was everybody's", temp)
				}
			}
			g.must(full, sh("echo x > here")...)
			if !exists(filepath.Join(g.workspace, "here")) {
				t.Error("the workspace was not the run's")
			}
		})
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// killAll kills what a test on purpose let live.
func killAll(t *testing.T, brand string) {
	t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		if line, _ := os.ReadFile(name); bytes.Contains(line, []byte(brand)) {
			var pid int
			for _, c := range filepath.Base(filepath.Dir(name)) {
				pid = pid*10 + int(c-'0')
			}
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
