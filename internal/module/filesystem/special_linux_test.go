package filesystem_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"callgate/internal/module/filesystem"
	"callgate/tool"
)

// script makes a program that stands in for ripgrep.
func script(t *testing.T, body string) filesystem.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rg")
	check(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755))
	return filesystem.Config{Ripgrep: path}
}

func TestABrokenRipgrepDoesNotMatter(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"it complains":              "echo no such flag >&2; exit 2",
		"it crashes":                "kill -9 $$",
		"it finds what is not":      `printf './a.txt\000./missing\000./../outside/secret\000./link\000./.git/x\000./b.txt\000'`,
		"it finds all, in no order": `printf './b.txt\000./a.txt\000'; exit 2`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newFixtureWith(t, script(t, body))
			g.put("a.txt", "SECRET inside\n")
			g.put("b.txt", "nothing\n")
			g.put(".git/x", "SECRET inside\n")
			g.link("../outside/secret", "link")
			if got := text(g.call("grep", args{"pattern": "SECRET"})); got != "a.txt\n1:SECRET inside\n" {
				t.Errorf("grep gave %q", got)
			}
		})
	}
}

// ripgrep runs in the directory that was found, and dies, with all that it
// started, when the call is cancelled.
func TestRipgrepDiesWithTheCall(t *testing.T) {
	t.Parallel()
	g := newFixtureWith(t, script(t, "exec 3>fifo; echo ready >&3; sleep 1000; true"))
	g.put("dir/a.txt", "x\n")
	fifo := filepath.Join(g.dir, "dir", "fifo")
	check(t, syscall.Mkfifo(fifo, 0o644))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := g.tools["grep"].Handler.Execute(ctx, tool.Call{Args: []byte(`{"pattern":"x","path":"dir"}`)}, g.grant)
		done <- err
	}()
	f, err := os.Open(fifo) // waits for the program to open the other end
	check(t, err)
	defer f.Close()
	r := bufio.NewReader(f)
	line, err := r.ReadString('\n')
	check(t, err)
	if line != "ready\n" {
		t.Errorf("the program said %q", line)
	}
	cancel()
	if err := <-done; tool.KindOf(err) != tool.Cancelled {
		t.Errorf("%v", err)
	}
	// Whoever holds the other end is dead when it is closed.
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestAFullDiskIsExplained(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	small := filepath.Join(g.dir, "small")
	check(t, os.Mkdir(small, 0o755))
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small disk cannot be made here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(small, 0) })
	g.call("write", args{"path": "small/f", "content": "old\n"})
	long := strings.Repeat("x", 1<<20)
	g.refused(tool.Unavailable, "write", args{"path": "small/f", "content": long}, "disk is full", "left as it was")
	g.refused(tool.Unavailable, "edit", args{"path": "small/f", "old": "old", "new": long}, "disk is full")
	if got := g.get("small/f"); got != "old\n" {
		t.Errorf("the file holds %q", got)
	}
	g.refused(tool.Failed, "move", args{"from": "small/f", "to": "f"}, "different file systems")
	g.noLitter()
}
