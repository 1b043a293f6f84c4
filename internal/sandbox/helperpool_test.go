//go:build linux

package sandbox_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"callgate/internal/sandbox"
	"callgate/internal/sandbox/launcher"
	"callgate/internal/sandbox/prefork"
)

// helpers lists the helpers below a process, those that wait and those that
// are at work.
func helpers(t testing.TB, parent int) []int {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	ok(t, err)
	var list []int
	for _, name := range names {
		stat, _ := os.ReadFile(name)
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) && isHelper(pid) {
			list = append(list, pid)
		}
	}
	return list
}

// isHelper tells whether a process is a helper that has not ended.
func isHelper(pid int) bool {
	line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return string(line) == launcher.Marker+"\x00"
}

// until waits for something that must come true.
func until(t testing.TB, what string, true func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !true(); runtime.Gosched() {
		if time.Now().After(limit) {
			t.Fatalf("not in 20 seconds: %s", what)
		}
	}
}

// poolFixture is a pool of helpers, and what is run with it.
type poolFixture struct {
	*fixture
	pool  *prefork.Pool
	level level
}

func newPoolFixture(t testing.TB, l level, idle time.Duration) *poolFixture {
	until(t, "nothing is left of other tests", func() bool { return len(helpers(t, os.Getpid())) == 0 })
	k := &poolFixture{newFixture(t), &prefork.Pool{Idle: idle}, l}
	t.Cleanup(k.pool.Close)
	return k
}

func (k *poolFixture) run(change func(*sandbox.Spec), argv ...string) (sandbox.Exit, string, error) {
	k.t.Helper()
	s := k.spec
	var out bytes.Buffer
	s.Argv, s.Stdout, s.Stderr = argv, &out, &out
	if change != nil {
		change(&s)
	}
	exit, err := sandbox.RunBy(k.t.Context(), k.pool, s, k.level.machine)
	return exit, out.String(), err
}

func (k *poolFixture) must(change func(*sandbox.Spec), argv ...string) string {
	k.t.Helper()
	exit, out, err := k.run(change, argv...)
	if err != nil || exit.Code != 0 {
		k.t.Fatalf("%s: %q: %+v, %v\n%s", k.level.name, argv, exit, err, out)
	}
	return out
}

// waiting is the one helper that there is when no run is under way, and those
// that served one have left. Only one that waits has a child then.
func (k *poolFixture) waiting() int {
	k.t.Helper()
	var list []int
	until(k.t, "one helper waits", func() bool {
		list = helpers(k.t, os.Getpid())
		return len(list) == 1 && len(helpers(k.t, list[0])) == 1
	})
	return list[0]
}

// childOf is the child that a helper has made ahead.
func (k *poolFixture) childOf(helper int) int {
	k.t.Helper()
	var list []int
	until(k.t, "the helper has made its child", func() bool {
		list = helpers(k.t, helper)
		return len(list) == 1
	})
	return list[0]
}

func (k *poolFixture) none() {
	k.t.Helper()
	until(k.t, "no helper is left", func() bool { return len(helpers(k.t, os.Getpid())) == 0 })
}
