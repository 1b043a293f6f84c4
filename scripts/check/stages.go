package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const buildStage = "build"

// testStages are the stages of `make test`: what finds most faults comes first,
// and what only has to be looked at once in a while last.
func testStages(r *run) []stage {
	return []stage{
		{name: "format", run: format},
		{name: "npm", run: npm},
		{name: buildStage, run: build},
		{name: "race", run: func(ctx context.Context, s *session) error { return s.race(ctx, r.pkgs.race) }},
		{name: "tests", run: plain},
		{name: "e2e", run: script("e2e.sh", "short")},
		{name: "servers", beside: true, run: script("servers.sh")},
		{name: "conformance", beside: true, run: script("conformance.sh")},
		{name: "users", run: script("users.sh")},
		{name: "install guide", beside: true, run: script("installguide.sh")},
		{name: "modules", beside: true, run: modules},
		{name: "soak", run: script("soak.sh", "short")},
		{name: "vet", run: command("go", "vet", "./...")},
		{name: "staticcheck", run: command("go", "tool", "staticcheck", "./...")},
		{name: "windows", run: windows},
		{name: "fuzz", run: script("soak.sh", "fuzz")},
	}
}

// raceStages are the stages of `make race`.
func raceStages(r *run) []stage {
	return []stage{
		{name: "npm", run: npm},
		{name: buildStage, run: build},
		{name: "race", run: func(ctx context.Context, s *session) error {
			return s.race(ctx, append(r.pkgs.race, r.pkgs.plain...))
		}},
	}
}

func command(name string, args ...string) func(context.Context, *session) error {
	return func(ctx context.Context, s *session) error { return s.command(ctx, nil, name, args...) }
}

func script(name string, args ...string) func(context.Context, *session) error {
	return func(ctx context.Context, s *session) error { return s.script(ctx, name, args...) }
}

// npm installs what the tests use from npm. What cannot be had is said, and its tests
// are skipped.
func npm(ctx context.Context, s *session) error {
	if s.script(ctx, "npm.sh") != nil {
		s.run.missing = append(s.run.missing, "npm.sh")
	}
	axe, err := filepath.Abs(".scratch/npm/axe/node_modules/axe-core/axe.min.js")
	if _, missing := os.Stat(axe); err == nil && missing == nil {
		s.run.env = append(s.run.env, "CALLGATE_AXE="+axe)
	}
	return ctx.Err()
}

// build builds the program and what the scripts run beside it, once for all stages.
func build(ctx context.Context, s *session) error {
	return s.command(ctx, []string{"CALLGATE_BUILT="}, "bash", "scripts/programs.sh")
}

// race runs packages with the race detector; in `make test`, tests that repeat something
// a thousand times do so less often.
func (s *session) race(ctx context.Context, pkgs []string) error {
	args := append(raceFlags(), "-timeout=20m")
	if s.run.config.short {
		args = append(args, "-short")
	}
	return s.goTest(ctx, withRace, append(args, pkgs...)...)
}

// plain runs the other packages without it.
func plain(ctx context.Context, s *session) error {
	return s.goTest(ctx, nil, append([]string{"-timeout=10m"}, s.run.pkgs.plain...)...)
}

// modules checks the modules beside the main one.
func modules(ctx context.Context, s *session) error {
	if err := s.command(ctx, nil, "bash", "-c", "cd examples/embed && go vet . && go test ."); err != nil {
		return err
	}
	return s.script(ctx, "deploycheck.sh", "short")
}

// windows type-checks and compiles the program for Windows.
func windows(ctx context.Context, s *session) error {
	return s.command(ctx, []string{"GOOS=windows", "GOARCH=amd64"}, "go", "build", "-o", os.DevNull, "./cmd/callgate")
}

// format reports files that gofmt would change.
func format(ctx context.Context, s *session) error {
	files, err := exec.CommandContext(ctx, "git", "ls-files", "*.go").Output()
	if err != nil {
		fmt.Fprintln(s.out, "skipped: this is no Git checkout")
		return nil
	}
	var out bytes.Buffer
	if err := s.start(ctx, nil, &out, "gofmt", append([]string{"-l"}, strings.Fields(string(files))...)...); err != nil {
		return err
	}
	if out.Len() > 0 {
		return fmt.Errorf("gofmt would change these files:\n%s", out.String())
	}
	return nil
}
