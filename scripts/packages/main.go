// Packages builds what one installs: .deb and .rpm for Linux and .tar.gz for Linux and
// macOS, with a list of what is in each program (CycloneDX) and the sums of all files.
//
//	packages [-root DIR] [-out DIR] [-targets linux/amd64,...]
//
// # Law
//
// The same commit gives the same bytes, in a clean clone on whatever machine: every time is that of the
// commit (or SOURCE_DATE_EPOCH), owners are root, names are sorted, programs are built
// without cgo and without paths of the machine. What this program needs is not in callgate.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := flag.String("root", ".", "the `DIR` of the source")
	out := flag.String("out", "dist", "the `DIR` for what is made; it is emptied first")
	list := flag.String("targets", strings.Join(allTargets(), ","), "the `SYSTEM/ARCH`s to build for")
	flag.Parse()
	if err := run(ctx, *root, *out, strings.Split(*list, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

func allTargets() []string {
	return []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}
}

// release is what is built, once for all targets.
type release struct {
	version string
	time    time.Time // of every file
	root    string    // of the source
	out     string    // where the results go
	common  []file    // the same for all targets: pages, completions, words
}

func run(ctx context.Context, root, out string, targets []string) error {
	r, err := newRelease(ctx, root, out)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "callgate-packages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if r.common, err = r.commonFiles(ctx, scratch); err != nil {
		return err
	}
	for _, target := range targets {
		system, arch, ok := strings.Cut(strings.TrimSpace(target), "/")
		if !ok || system != "linux" && system != "darwin" {
			return fmt.Errorf("there is no target %q: write one of %v", target, allTargets())
		}
		program := filepath.Join(scratch, system+"-"+arch)
		if err := r.build(ctx, system, arch, program); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		data, err := os.ReadFile(program)
		if err == nil {
			err = r.pack(system, arch, program, data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
	}
	return sums(r.out)
}

// versionLine is where the program's version stands.
var versionLine = regexp.MustCompile(`(?m)^const Version = "([0-9]+\.[0-9]+\.[0-9]+[-+.0-9A-Za-z]*)"$`)

func newRelease(ctx context.Context, root, out string) (*release, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if out, err = filepath.Abs(out); err != nil {
		return nil, err
	}
	source, err := os.ReadFile(filepath.Join(root, "internal", "version", "version.go"))
	if err != nil {
		return nil, err
	}
	m := versionLine.FindSubmatch(source)
	if m == nil {
		return nil, errors.New("internal/version/version.go says no version")
	}
	when, err := commitTime(ctx, root)
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(out); err != nil {
		return nil, err
	}
	return &release{version: string(m[1]), time: when, root: root, out: out}, os.MkdirAll(out, 0o755)
}

// commitTime is SOURCE_DATE_EPOCH, or when the commit was made.
func commitTime(ctx context.Context, root string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		cmd := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct")
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("neither SOURCE_DATE_EPOCH nor a commit says the time: %w", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// goTool runs the go command in the source, for a system.
func (r *release) goTool(ctx context.Context, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	cmd.Env = append(os.Environ(), append([]string{
		"CGO_ENABLED=0", "GOWORK=off", "SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.time.Unix(), 10),
	}, env...)...)
	return cmd.Run()
}

// build builds the program for a system. With a checkout, it knows its commit.
func (r *release) build(ctx context.Context, system, arch, to string) error {
	return r.goTool(ctx, []string{"GOOS=" + system, "GOARCH=" + arch, "GOFLAGS="},
		"build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w -buildid=", "-o", to, "./cmd/callgate")
}
