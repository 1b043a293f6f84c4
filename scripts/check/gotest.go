package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// event is one line of `go test -json`, as documented by `go doc test2json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // instead of Package, of build output
	Test       string
	Elapsed    float64
	Output     string
}

// counts are of tests and subtests.
type counts struct{ passed, failed, skipped int }

func (c *counts) add(o counts) {
	c.passed += o.passed
	c.failed += o.failed
	c.skipped += o.skipped
}

// took is the time of a package or of a test.
type took struct {
	name    string
	seconds float64
}

// skip is a test that was skipped.
type skip struct{ pkg, test, reason string }

// goTest runs `go test -json` and shows one line for each package, and the whole
// output of tests and builds that fail.
func (s *session) goTest(ctx context.Context, env []string, args ...string) error {
	c := s.run.config
	flags := []string{"test", "-json", "-vet=off"}
	if c.count > 0 {
		flags = append(flags, fmt.Sprintf("-count=%d", c.count))
	}
	if c.parallel > 0 {
		flags = append(flags, fmt.Sprintf("-p=%d", c.parallel))
	}
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := s.start(ctx, env, writer, "go", append(flags, args...)...)
		_ = writer.CloseWithError(err) // nil is io.EOF
		ended <- err
	}()
	t := tests{out: s.out, output: map[[2]string][]string{}}
	t.read(reader)
	s.result.counts.add(t.counts)
	s.result.skips = append(s.result.skips, t.skips...)
	s.result.times = append(s.result.times, t.times...)
	err := <-ended
	if len(t.failed) > 0 {
		return fmt.Errorf("%d failed: %s", len(t.failed), strings.Join(t.failed, ", "))
	}
	return err
}

// tests reads the events of `go test -json`.
type tests struct {
	out    io.Writer
	output map[[2]string][]string // by package and test, while it is not known to pass
	counts counts
	skips  []skip
	times  []took   // of packages, and of tests that are no subtests
	failed []string // packages, and the innermost tests
}

func (t *tests) read(from io.Reader) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(t.out, "%s", line) // the go command itself speaks
			} else {
				t.take(e)
			}
		}
		if err != nil {
			return
		}
	}
}

func (t *tests) take(e event) {
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "output":
		t.output[key] = append(t.output[key], e.Output)
	case "build-output":
		fmt.Fprint(t.out, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			t.endPackage(e)
		} else {
			t.endTest(e)
		}
		delete(t.output, key)
	}
}

func (t *tests) endTest(e event) {
	output := t.output[[2]string{e.Package, e.Test}]
	if !strings.Contains(e.Test, "/") {
		t.times = append(t.times, took{short(e.Package) + " " + e.Test, e.Elapsed})
	}
	switch e.Action {
	case "pass":
		t.counts.passed++
	case "skip":
		t.counts.skipped++
		t.skips = append(t.skips, skip{short(e.Package), e.Test, reason(output)})
	case "fail":
		t.counts.failed++
		t.fail(short(e.Package) + " " + e.Test)
		fmt.Fprintf(t.out, "FAIL %s\n%s", short(e.Package), strings.Join(output, ""))
	}
}

// fail notes a failure. The parents of a test that failed fail too, and add nothing.
func (t *tests) fail(name string) {
	for _, known := range t.failed {
		if strings.HasPrefix(known, name+"/") || strings.HasPrefix(known, name+" ") {
			return
		}
	}
	t.failed = append(t.failed, name)
}

// endPackage prints a package's line. Output that belongs to no finished test is
// that of a test that panicked or ran out of time.
func (t *tests) endPackage(e event) {
	name, cached := short(e.Package), ""
	t.times = append(t.times, took{name, e.Elapsed})
	for _, line := range t.output[[2]string{e.Package, ""}] {
		if strings.Contains(line, "(cached)") {
			cached = ", cached"
		}
	}
	if e.Action == "fail" {
		t.fail(name)
		for key, output := range t.output {
			if key[0] == e.Package {
				fmt.Fprint(t.out, strings.Join(output, ""))
				delete(t.output, key)
			}
		}
		fmt.Fprintf(t.out, "FAIL %s, %.1f s\n", name, e.Elapsed)
	} else if e.Action == "pass" {
		fmt.Fprintf(t.out, "ok   %s, %.1f s%s\n", name, e.Elapsed, cached)
	}
}

// reason is what a skipped test said: its last line that is not go test's own.
func reason(output []string) string {
	said := ""
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- SKIP") {
			continue
		}
		if where, rest, ok := strings.Cut(line, ".go:"); ok && !strings.Contains(where, " ") {
			_, rest, _ = strings.Cut(rest, ": ")
			line = rest
		}
		said = line
	}
	return said
}

func short(pkg string) string {
	return strings.TrimPrefix(strings.TrimPrefix(pkg, module+"/internal/"), module+"/")
}
