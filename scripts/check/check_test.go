package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// read reads the lines of `go test -json`.
func read(lines ...string) (*tests, string) {
	var out bytes.Buffer
	t := &tests{out: &out, output: map[[2]string][]string{}}
	t.read(strings.NewReader(strings.Join(lines, "\n") + "\n"))
	return t, out.String()
}

func TestEventsAreCounted(t *testing.T) {
	got, out := read(
		`{"Action":"run","Package":"callgate/internal/a","Test":"TestOne"}`,
		`{"Action":"output","Package":"callgate/internal/a","Test":"TestOne","Output":"chatter\n"}`,
		`{"Action":"pass","Package":"callgate/internal/a","Test":"TestOne"}`,
		`{"Action":"output","Package":"callgate/internal/a","Test":"TestTwo","Output":"    a_test.go:12: rg is not installed: apt-get install ripgrep\n"}`,
		`{"Action":"output","Package":"callgate/internal/a","Test":"TestTwo","Output":"--- SKIP: TestTwo (0.00s)\n"}`,
		`{"Action":"skip","Package":"callgate/internal/a","Test":"TestTwo"}`,
		`{"Action":"output","Package":"callgate/internal/a","Output":"ok  \tcallgate/internal/a\t(cached)\n"}`,
		`{"Action":"pass","Package":"callgate/internal/a","Elapsed":1.5}`,
	)
	if got.counts != (counts{passed: 1, skipped: 1}) || len(got.failed) != 0 {
		t.Errorf("counted %+v, failed %q", got.counts, got.failed)
	}
	if want := (skip{"a", "TestTwo", "rg is not installed: apt-get install ripgrep"}); len(got.skips) != 1 || got.skips[0] != want {
		t.Errorf("skips %+v", got.skips)
	}
	if out != "ok   a, 1.5 s, cached\n" {
		t.Errorf("printed %q", out)
	}
}

func TestFailuresAreShown(t *testing.T) {
	for name, c := range map[string]struct {
		lines  []string
		failed []string
		shown  string
	}{
		"a subtest, and not its parents": {[]string{
			`{"Action":"output","Package":"callgate/b","Test":"TestA/x","Output":"    got 1\n"}`,
			`{"Action":"fail","Package":"callgate/b","Test":"TestA/x"}`,
			`{"Action":"fail","Package":"callgate/b","Test":"TestA"}`,
			`{"Action":"fail","Package":"callgate/b","Elapsed":2}`,
		}, []string{"b TestA/x"}, "got 1"},
		"a panic, which ends no test": {[]string{
			`{"Action":"output","Package":"callgate/b","Test":"TestA","Output":"panic: boom\n"}`,
			`{"Action":"fail","Package":"callgate/b"}`,
		}, []string{"b"}, "panic: boom"},
		"a build": {[]string{
			`{"ImportPath":"callgate/b","Action":"build-output","Output":"b.go:1: undefined: x\n"}`,
			`{"ImportPath":"callgate/b","Action":"build-fail"}`,
			`{"Action":"fail","Package":"callgate/b","FailedBuild":"callgate/b"}`,
		}, []string{"b"}, "undefined: x"},
		"the go command": {[]string{`go: cannot find module`}, nil, "cannot find module"},
	} {
		t.Run(name, func(t *testing.T) {
			got, out := read(c.lines...)
			if strings.Join(got.failed, "|") != strings.Join(c.failed, "|") {
				t.Errorf("failed %q, want %q", got.failed, c.failed)
			}
			if !strings.Contains(out, c.shown) {
				t.Errorf("printed %q, want %q in it", out, c.shown)
			}
		})
	}
}

func TestSkipsAreExplained(t *testing.T) {
	r := &run{missing: []string{"postgresql", "tmux"}}
	explained, unexplained := r.explain([]skip{
		{"a", "T1", "PostgreSQL is not installed (apt-get install postgresql)"},
		{"a", "T2", "PostgreSQL is not installed (apt-get install postgresql)"},
		{"a", "T3", "chromium is not installed: apt-get install chromium"}, // which is installed
		{"a", "T4", "another test starts it"},
		{"a", "T5", "left out by -short: thousands"}, // without -short
		{"a", "T6", ""},
	})
	if explained["postgresql is not installed"] != 2 || len(explained) != 2 {
		t.Errorf("explained %v", explained)
	}
	var names []string
	for _, s := range unexplained {
		names = append(names, s.test)
	}
	if got := strings.Join(names, " "); got != "T3 T5 T6" {
		t.Errorf("unexplained %s", got)
	}
	if err := r.reportSkips(&bytes.Buffer{}, make([]skip, ceiling)); err != nil {
		t.Error(err)
	}
	if err := r.reportSkips(&bytes.Buffer{}, make([]skip, ceiling+1)); err == nil {
		t.Error("more skips than the ceiling passed")
	}
}

func TestInList(t *testing.T) {
	list := []string{"internal/gate/...", "internal/task"}
	for folder, want := range map[string]bool{
		"internal/gate": true, "internal/gate/lock": true, "internal/gateway": false,
		"internal/task": true, "internal/task/x": false, "internal": false,
	} {
		if got := inList(folder, list); got != want {
			t.Errorf("%s: %v", folder, got)
		}
	}
}

// A stage that fails stops no other, except the build.
func TestStagesAfterAFailure(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := makeLogs(); err != nil {
		t.Fatal(err)
	}
	for failing, want := range map[string]string{"other": "build other last", buildStage: "build"} {
		var ran []string
		named := func(name string) stage {
			return stage{name: name, run: func(context.Context, *session) error {
				ran = append(ran, name)
				if name == failing {
					return errors.New("broken")
				}
				return nil
			}}
		}
		r := &run{}
		results := runStages(t.Context(), r, []stage{named(buildStage), named("other"), named("last")})
		if got := strings.Join(ran, " "); got != want {
			t.Errorf("%s fails: ran %s, want %s", failing, got, want)
		}
		var out bytes.Buffer
		if err := r.report(&out, results, time.Second); err == nil || !strings.Contains(out.String(), "FAILED "+failing+": broken") {
			t.Errorf("%s fails: %v\n%s", failing, err, &out)
		}
	}
}
