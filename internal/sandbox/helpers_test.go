//go:build linux

package sandbox_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"callgate/internal/sandbox"
	"callgate/internal/sandbox/prefork"
	"callgate/tool"
)

func TestOneHelperWaits(t *testing.T) {
	for _, l := range isolated(t) {
		t.Run(l.name, func(t *testing.T) {
			k := newPoolFixture(t, l, time.Hour)
			if list := helpers(t, os.Getpid()); len(list) > 0 {
				t.Fatalf("before the first run: %d", list)
			}
			k.must(nil, "true")
			first := k.waiting()
			k.must(nil, "true")
			if second := k.waiting(); second == first {
				t.Error("one helper served twice, or the one that waited was not used")
			}
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() { k.must(nil, "true") })
			}
			group.Wait()
			last := k.waiting()
			gone := filepath.Join(k.home, "gone")
			if _, _, err := k.run(func(s *sandbox.Spec) { s.Workspace = gone }, "true"); tool.KindOf(err) != tool.NotFound {
				t.Errorf("without a workspace: %v", err)
			}
			if pid := k.waiting(); pid != last {
				t.Error("a run that never began took the helper that waited")
			}
			k.must(nil, "true")
			k.pool.Close()
			if list := helpers(t, os.Getpid()); len(list) > 0 {
				t.Errorf("after Close: %d", list)
			}
			k.must(nil, "true")
			k.waiting()
		})
	}
}

func TestHelperThatWaitsInVainLeaves(t *testing.T) {
	k := newPoolFixture(t, isolated(t)[0], time.Second)
	for range 2 {
		k.must(nil, "true")
		k.waiting()
		k.none()
	}
	k = newPoolFixture(t, isolated(t)[0], 0)
	k.must(nil, "true")
	k.none()
}

func TestHelperThatWaitsDiesWithTheKernel(t *testing.T) {
	isolated(t)
	g := newFixture(t)
	argv := actor(t, "idle", g.workspace)
	cmd := exec.Command(argv[0], argv[1:]...)
	in, err := cmd.StdinPipe()
	ok(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	var list []int
	until(t, "a helper waits, with its child", func() bool {
		list = helpers(t, cmd.Process.Pid)
		if len(list) == 1 {
			list = append(list, helpers(t, list[0])...)
		}
		return len(list) == 2
	})
	ok(t, cmd.Process.Kill())
	cmd.Wait()
	until(t, "no helper is left", func() bool { return !slices.ContainsFunc(list, isHelper) })
}

// A helper that somebody killed while it waited, or before it could read what
// it was sent, costs a run nothing.
func TestHelperKilledWhileItWaits(t *testing.T) {
	for _, l := range isolated(t) {
		t.Run(l.name, func(t *testing.T) {
			k := newPoolFixture(t, l, time.Hour)
			k.must(nil, "true")
			for range 20 {
				ok(t, syscall.Kill(k.waiting(), syscall.SIGKILL))
				if out := k.must(func(s *sandbox.Spec) { s.Stdin = strings.NewReader("in") }, "cat"); out != "in" {
					t.Errorf("after a helper was killed: %q", out)
				}
			}
			pid := k.waiting()
			ok(t, syscall.Kill(k.childOf(pid), syscall.SIGKILL))
			until(t, "it leaves without its child", func() bool { return !isHelper(pid) })
			k.must(nil, "true")
			stopped := k.waiting()
			ok(t, syscall.Kill(stopped, syscall.SIGSTOP))
			var group sync.WaitGroup
			group.Go(func() { k.must(nil, sh("echo x >>once")...) })
			until(t, "the next helper is started", func() bool { return len(helpers(t, os.Getpid())) > 1 })
			ok(t, syscall.Kill(stopped, syscall.SIGKILL))
			group.Wait()
			want(t, filepath.Join(k.workspace, "once"), "x\n")
			k.waiting()
		})
	}
}

// A helper at work that is killed has perhaps begun: the run is not repeated.
func TestHelperKilledAtWork(t *testing.T) {
	for _, l := range isolated(t) {
		t.Run(l.name, func(t *testing.T) {
			k, b := newPoolFixture(t, l, time.Hour), newBrand()
			k.must(nil, "true")
			pid := k.waiting()
			up := writerFunc(func([]byte) { syscall.Kill(pid, syscall.SIGKILL) })
			_, _, err := k.run(func(s *sandbox.Spec) { s.Stdout = up }, sh("echo x >>once; echo up; exec sleep "+b)...)
			if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "not known") {
				t.Errorf("%v", err)
			}
			want(t, filepath.Join(k.workspace, "once"), "x\n")
			gone(t, b)
		})
	}
}

// A helper that waits, and the child that it made ahead, have nothing that
// could be a secret, and keep nothing open for anybody.
func TestWhatAWaitingHelperHolds(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "secret")
	held, err := os.Create(filepath.Join(t.TempDir(), "held"))
	ok(t, err)
	defer held.Close()
	inherited, err := unix.Dup(int(held.Fd())) // as if this program had been started with it
	ok(t, err)
	defer unix.Close(inherited)
	for _, l := range isolated(t) {
		t.Run(l.name, func(t *testing.T) {
			k := newPoolFixture(t, l, time.Hour)
			k.must(func(s *sandbox.Spec) { s.Stdin = strings.NewReader("in") }, "cat")
			pid := k.waiting()
			inner := k.childOf(pid)
			holds(t, pid, "/dev/null", "/dev/null", "/dev/null", "anon_inode", "pipe", "pipe", "socket", "socket")
			holds(t, inner, "/dev/null", "/dev/null", "/dev/null", "pipe", "pipe", "pipe", "socket", "socket")
			for _, pid := range []int{pid, inner} {
				dir := "/proc/" + strconv.Itoa(pid)
				if at, err := os.Readlink(dir + "/cwd"); err != nil || at != "/" {
					t.Errorf("it stands in %q, %v", at, err)
				}
				environ, err := os.ReadFile(dir + "/environ")
				ok(t, err)
				if string(environ) != "GOGC=off\x00GOMAXPROCS=1\x00GOTRACEBACK=none\x00" {
					t.Errorf("its environment is %q", environ)
				}
			}
		})
	}
}

// holds waits until a process has just these files open.
func holds(t *testing.T, pid int, wanted ...string) {
	t.Helper()
	var found []string
	defer func() {
		if t.Failed() {
			t.Logf("it holds %q", found)
		}
	}()
	until(t, "it holds no more than it should", func() bool {
		found = nil
		names, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
		for _, name := range names {
			file, _ := os.Readlink(name)
			file, _, _ = strings.Cut(file, ":")
			found = append(found, file)
		}
		slices.Sort(found)
		return slices.Equal(found, wanted)
	})
}

// A run finds everything as it would without a helper that waited.
func TestRunIsTheSameWithAHelperThatWaited(t *testing.T) {
	const script = `cat
		env | grep -v ^CALLGATE_RUN= | sort; pwd; umask; ulimit -a; id
		ls -l /proc/self/fd | sed 's/.*[0-9]:[0-9][0-9] //; s/\[.*//; s|/proc/.*|/proc|'
		grep -E '^(Sig|Shd|Cap|NoNew|Seccomp|Groups|Umask|Uid|Gid)' /proc/self/status | grep -v ^SigQ
		cat /proc/self/oom_score_adj /proc/self/limits; cut -d' ' -f19 /proc/self/stat; cat </dev/null >&2; echo $-`
	for _, l := range isolated(t) {
		t.Run(l.name, func(t *testing.T) {
			k := newPoolFixture(t, l, time.Hour)
			for name, change := range map[string]func(*sandbox.Spec){
				"input":         func(s *sandbox.Spec) { s.Stdin = strings.NewReader("one\ntwo\n") },
				"no input":      nil,
				"no errors":     func(s *sandbox.Spec) { s.Stderr = nil },
				"another place": func(s *sandbox.Spec) { s.Dir, s.Env = "/usr", append(slices.Clone(s.Env), "SECRET=s") },
				"limits":        func(s *sandbox.Spec) { s.Limits = sandbox.Limits{OpenFiles: 50, FileSize: 1 << 20, CPU: time.Minute} },
				"the network":   func(s *sandbox.Spec) { s.Network = true },
				"much to read":  func(s *sandbox.Spec) { s.Env = append(slices.Clone(s.Env), "LONG="+strings.Repeat("x", 100_000)) },
			} {
				alone := *k
				alone.pool = new(prefork.Pool)
				wanted := alone.must(change, sh(script)...)
				k.must(nil, "true")
				pid := k.waiting()
				got := k.must(change, sh(script)...)
				if k.waiting() == pid {
					t.Errorf("%s: the helper that waited was not used", name)
				}
				if diff := cmp.Diff(tidy(wanted), tidy(got)); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
			file, err := os.Create(filepath.Join(k.home, "file"))
			ok(t, err)
			defer file.Close()
			k.must(func(s *sandbox.Spec) { s.Stdout, s.Stderr = file, file }, sh("echo out; echo err >&2")...)
			want(t, file.Name(), "out\nerr\n")
		})
	}
}

// tidy takes out what differs from run to run where a run has no view of its
// own: the number in the name of its temporary folder.
func tidy(out string) []string {
	var lines []string
	for line := range strings.Lines(out) {
		if name, _, found := strings.Cut(line, "callgate-run-"); found {
			line = name
		}
		lines = append(lines, line)
	}
	return lines
}

// A helper that waited in the namespaces of one run uses none of them for another.
func TestHelperThatWaitedOnOtherGround(t *testing.T) {
	l := isolated(t)[len(isolated(t))-1]
	if !l.full() {
		t.Skip("no namespaces here")
	}
	k := newPoolFixture(t, l, time.Hour)
	rules := *k
	rules.level = isolated(t)[0]
	kinds := []string{"user", "mnt", "pid", "ipc", "net"}
	own := func(k *poolFixture, network bool) map[string]bool {
		k.t.Helper()
		k.waiting()
		out := k.must(func(s *sandbox.Spec) { s.Network = network }, sh("cd /proc/self/ns && readlink "+strings.Join(kinds, " "))...)
		found := map[string]bool{}
		for i, line := range strings.Fields(out) {
			host, err := os.Readlink("/proc/self/ns/" + kinds[i])
			ok(t, err)
			found[kinds[i]] = line != host
		}
		return found
	}
	alone := map[string]bool{"user": true, "mnt": true, "pid": true, "ipc": true, "net": true}
	connected := map[string]bool{"user": true, "mnt": true, "pid": true, "ipc": true, "net": false}
	shared := map[string]bool{"user": false, "mnt": false, "pid": false, "ipc": false, "net": false}
	const most = "/proc/sys/kernel/pid_max" // which a run sets for its own processes alone
	before, err := os.ReadFile(most)
	ok(t, err)
	k.must(nil, "true")
	for i := range 2 {
		for name, got := range map[string][2]map[string]bool{
			"alone":     {alone, own(k, false)},
			"connected": {connected, own(k, true)},
			"by rules":  {shared, own(&rules, false)},
		} {
			if diff := cmp.Diff(got[0], got[1]); diff != "" {
				t.Errorf("round %d, %s: %s", i, name, diff)
			}
		}
	}
	want(t, most, string(before))
}

func TestCloseDuringRuns(t *testing.T) {
	k := newPoolFixture(t, isolated(t)[0], time.Millisecond)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 5 {
				k.must(nil, "true")
			}
		})
		group.Go(func() {
			for range 20 {
				k.pool.Close()
			}
		})
	}
	group.Wait()
	k.pool.Close()
	if list := helpers(t, os.Getpid()); len(list) > 0 {
		t.Errorf("after the last Close: %d", list)
	}
}
