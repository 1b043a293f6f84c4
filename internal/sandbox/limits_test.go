//go:build linux

package sandbox_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"callgate/internal/sandbox"
)

func TestLimitsOfOneProcess(t *testing.T) {
	t.Parallel()
	for _, l := range levels(t) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			g := newFixture(t)
			limits := func(change func(*sandbox.Limits)) func(*sandbox.Spec) {
				return func(s *sandbox.Spec) { change(&s.Limits) }
			}
			out := g.must(l, sh("ulimit -c")...)
			if out != "0\n" {
				t.Errorf("core files: %q", out)
			}
			exit, _, err := g.run(
				l,
				limits(func(l *sandbox.Limits) { l.FileSize = 1 << 20 }),
				sh("sleep 0.1; exec head -c 3000000 /dev/zero >big")...)
			if err != nil || exit.Signal != "SIGXFSZ" && exit.Code == 0 {
				t.Errorf("a large file: %+v, %v", exit, err)
			}
			if info, err := os.Stat(g.workspace + "/big"); err != nil || info.Size() > 1<<20 {
				t.Errorf("it has %d bytes", info.Size())
			}
			exit, _, err = g.run(l, limits(func(l *sandbox.Limits) { l.CPU = time.Second }), sh("while :; do :; done")...)
			if err != nil || exit.Signal != "SIGXCPU" && exit.Signal != "SIGKILL" {
				t.Errorf("an endless loop: %+v, %v", exit, err)
			}
			if l.name == "process" { // its limits come a moment after its start
				return
			}
			_, out, err = g.run(l, limits(func(l *sandbox.Limits) { l.OpenFiles = 50 }), actor(t, "hoard")...)
			if n, _ := strconv.Atoi(strings.Fields(out + " -")[0]); err != nil || n < 10 || n > 50 {
				t.Errorf("open files: %q, %v", out, err)
			}
			exit, out, err = g.run(l, limits(func(l *sandbox.Limits) { l.Memory = 64 << 20 }), sh("exec tail /dev/zero")...)
			if err != nil || exit.Code == 0 {
				t.Errorf("a hoarder of memory: %+v %q %v", exit, out, err)
			}
		})
	}
}

// What no limit of one process holds: many that each take little.
func TestLimitsOfTheWholeRun(t *testing.T) {
	t.Parallel()
	for _, l := range isolated(t) {
		t.Run(l.name+"/memory", func(t *testing.T) {
			t.Parallel()
			g, b := newFixture(t), newBrand()
			exit, _, err := g.run(l, func(s *sandbox.Spec) { s.Limits.Memory = 100 << 20 },
				sh("for i in 1 2 3 4; do (head -c 50000000 /dev/zero; sleep "+b+") | tail -c 50000000 & done; wait")...)
			if err != nil || exit.Limit != "memory" || exit.Signal != "SIGKILL" {
				t.Errorf("%+v, %v", exit, err)
			}
			gone(t, b)
		})
		t.Run(l.name+"/a fork bomb", func(t *testing.T) {
			t.Parallel()
			if !l.full() {
				t.Skip("here the kernel does not count the processes of a run, and this machine would suffer")
			}
			g, b := newFixture(t), newBrand()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			exit, _, err := g.runIn(ctx, l, func(s *sandbox.Spec) { s.Limits.Processes = 64 }, sh("b() { b "+b+" | b "+b+" & }; b; sleep "+b)...)
			if err != nil {
				t.Errorf("%+v, %v", exit, err)
			}
			gone(t, b)
		})
		t.Run(l.name+"/processes", func(t *testing.T) {
			t.Parallel()
			g, b := newFixture(t), newBrand()
			exit, out, err := g.run(l, func(s *sandbox.Spec) { s.Limits.Processes = 400 },
				sh("i=0; while [ $i -lt 1500 ]; do sleep "+b+" & i=$((i+1)); done; sleep "+b)...)
			if err != nil || exit.Code == 0 || exit.Limit != "processes" && !strings.Contains(out, "fork") {
				t.Errorf("%+v, %v %s", exit, err, out)
			}
			gone(t, b)
		})
	}
}
