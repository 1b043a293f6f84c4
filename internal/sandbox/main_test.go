//go:build linux

package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/launch"
	"callgate/internal/sandbox"
	_ "callgate/internal/sandbox/selfstart"
)

// actorName is the first argument of this test program when it plays a part
// inside a sandbox; the second is the part.
const actorName = "sandbox-test-actor"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == actorName {
		if err := parts[os.Args[2]](os.Args[3:]); err != nil {
			os.Stdout.WriteString("refused: " + err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir, err := filepath.Abs(os.TempDir()); err == nil { // a spec has absolute paths, and these tests change their folder
		_ = os.Setenv("TMPDIR", dir)
	}
	os.Exit(m.Run())
}

// actor is the command that plays a part.
func actor(t testing.TB, part string, args ...string) []string {
	t.Helper()
	self, err := os.Executable()
	ok(t, err)
	return append([]string{self, actorName, part}, args...)
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// level is a machine that can do so much and no more.
type level struct {
	name    string
	machine sandbox.Report
	relaxed bool
}

// levels are those that this machine can play.
func levels(t testing.TB) []level {
	t.Helper()
	m := sandbox.Probe()
	list := []level{{"process", sandbox.Report{OS: m.OS}, true}}
	if m.Landlock > 0 && m.Seccomp {
		f := m
		f.Namespaces = false
		list = append(list, level{"filtered", f, false})
	}
	if m.Namespaces {
		list = append(list, level{"full", m, false})
	}
	return list
}

// isolated returns the levels that confine a run.
func isolated(t testing.TB) []level {
	t.Helper()
	list := levels(t)[1:]
	if len(list) == 0 {
		t.Skip("this machine has no isolation")
	}
	return list
}

func (l level) full() bool { return l.name == "full" }

// fixture is a workspace beside files that a run must not reach.
type fixture struct {
	t         testing.TB
	home      string
	workspace string
	outside   string // a folder beside the workspace
	spec      sandbox.Spec
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	return newFixtureIn(t, t.TempDir())
}

// newFixtureIn makes a fixture in a folder.
func newFixtureIn(t testing.TB, dir string) *fixture {
	t.Helper()
	root, err := filepath.EvalSymlinks(dir)
	ok(t, err)
	g := &fixture{t: t, home: filepath.Join(root, "home")}
	g.workspace, g.outside = filepath.Join(g.home, "work"), filepath.Join(g.home, "outside")
	for _, dir := range []string{g.workspace, g.outside} {
		ok(t, os.MkdirAll(dir, 0o755))
	}
	env := []string{"HOME=" + g.home, "LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0"}
	for _, pair := range launch.Commands(nil) {
		if strings.HasPrefix(pair, "PATH=") {
			env = append(env, pair)
		}
	}
	g.spec = sandbox.Spec{Env: env, Workspace: g.workspace, Grace: 200 * time.Millisecond}
	return g
}

// put writes a file under the home folder and returns its path.
func (g *fixture) put(name, content string) string {
	g.t.Helper()
	path := filepath.Join(g.home, name)
	ok(g.t, os.MkdirAll(filepath.Dir(path), 0o755))
	ok(g.t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

// run runs a command at a level and returns what it printed.
func (g *fixture) run(l level, change func(*sandbox.Spec), argv ...string) (sandbox.Exit, string, error) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Minute)
	defer cancel()
	return g.runIn(ctx, l, change, argv...)
}

func (g *fixture) runIn(ctx context.Context, l level, change func(*sandbox.Spec), argv ...string) (sandbox.Exit, string, error) {
	g.t.Helper()
	s := g.spec
	var out bytes.Buffer
	s.Argv, s.Relaxed, s.Stdout, s.Stderr = argv, l.relaxed, &out, &out
	if change != nil {
		change(&s)
	}
	exit, err := sandbox.RunOn(ctx, s, l.machine)
	return exit, out.String(), err
}

// must runs what has to succeed.
func (g *fixture) must(l level, argv ...string) string {
	g.t.Helper()
	exit, out, err := g.run(l, nil, argv...)
	if err != nil || exit.Code != 0 {
		g.t.Fatalf("%s: %q: %+v, %v\n%s", l.name, argv, exit, err, out)
	}
	return out
}

func sh(script string) []string { return []string{"/bin/sh", "-c", script} }

var brand atomic.Int64

// newBrand gives a number of seconds that nobody else sleeps for, by which a
// process can be found.
func newBrand() string {
	return strconv.FormatInt(90_000_000+int64(os.Getpid())*1000+brand.Add(1), 10)
}

// alive lists the processes with a brand among their arguments.
func alive(t testing.TB, brand string) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	ok(t, err)
	var found []string
	for _, name := range names {
		line, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			continue
		}
		for arg := range bytes.SplitSeq(line, []byte{0}) {
			if string(arg) == brand {
				found = append(found, name+": "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
			}
		}
	}
	return found
}

// gone fails the test when something with the brand is alive.
func gone(t testing.TB, brand string) {
	t.Helper()
	if left := alive(t, brand); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
