//go:build unix

package filesystem_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"callgate/tool"
)

func TestSpecialFilesAreNeverOpened(t *testing.T) {
	t.Parallel()
	for _, c := range searchers(t) {
		t.Run(c.name, func(t *testing.T) {
			g := newFixtureWith(t, c.config)
			g.put("file.txt", "needle\n")
			check(t, syscall.Mkfifo(filepath.Join(g.dir, "pipe"), 0o644))
			l, err := net.Listen("unix", filepath.Join(g.dir, "sock"))
			if err == nil {
				defer l.Close()
				g.refused(tool.Invalid, "read", args{"path": "sock"}, "socket")
			}
			g.link("pipe", "link")
			for _, path := range []string{"pipe", "link"} {
				g.refused(tool.Invalid, "read", args{"path": path}, "pipe")
				g.refused(tool.Invalid, "write", args{"path": path, "content": "x"}, "pipe")
				g.refused(tool.Invalid, "write", args{"path": path, "content": "x", "mode": "append"}, "pipe")
				g.refused(tool.Invalid, "edit", args{"path": path, "old": "x", "new": "y"}, "pipe")
				g.refused(tool.Invalid, "grep", args{"path": path, "pattern": "x"}, "pipe")
				g.refused(tool.Invalid, "list", args{"path": path}, "pipe")
			}
			if got := text(g.call("grep", args{"pattern": "needle"})); got != "file.txt\n1:needle\n" {
				t.Errorf("grep beside a pipe gave %q", got)
			}
			if got := text(g.call("list", args{})); !strings.Contains(got, "pipe  (pipe)") {
				t.Errorf("list does not say what the pipe is:\n%s", got)
			}
			g.call("move", args{"from": "pipe", "to": "pipe2"})
			g.call("delete", args{"path": "pipe2"})
		})
	}
}

func TestDevicesAreNeverOpened(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	if err := syscall.Mknod(filepath.Join(g.dir, "null"), syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
		t.Skipf("devices cannot be made here: %v", err)
	}
	g.refused(tool.Invalid, "read", args{"path": "null"}, "device")
	g.refused(tool.Invalid, "write", args{"path": "null", "content": "x"}, "device")
}

// A file is swapped with a pipe while it is read: no call may hang. The test
// ends only if none does.
func TestSwappedPipesNeverHang(t *testing.T) {
	t.Parallel()
	g := newFixtureWith(t, searchers(t)[0].config)
	g.put("dir/file", "inside\n")
	check(t, syscall.Mkfifo(filepath.Join(g.dir, "pipe"), 0o644))
	check(t, syscall.Mkfifo(filepath.Join(g.dir, "pipe2"), 0o644))
	try := g.whileSwapping([2]string{"dir/file", "pipe"}, [2]string{"dir", "pipe2"})
	for range 100 {
		try("read", args{"path": "dir/file"})
		try("write", args{"path": "dir/file", "content": "inside\n"})
		try("edit", args{"path": "dir/file", "old": "inside", "new": "inside!"})
		try("grep", args{"pattern": "inside"})
		try("list", args{"path": "dir"})
	}
}

func TestPermissionIsExplained(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("needs an ordinary user: scripts/users.sh runs it")
	}
	g := newFixture(t)
	g.put("locked", "x\n")
	g.put("readonly", "x\n")
	g.put("closed/file", "x\n")
	check(t, os.Chmod(filepath.Join(g.dir, "locked"), 0))
	check(t, os.Chmod(filepath.Join(g.dir, "readonly"), 0o444))
	check(t, os.Chmod(filepath.Join(g.dir, "closed"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(g.dir, "closed"), 0o755) })
	g.refused(tool.Failed, "read", args{"path": "locked"}, "permit")
	g.refused(tool.Failed, "write", args{"path": "readonly", "content": "y"}, "permit")
	g.refused(tool.Failed, "list", args{"path": "closed"}, "permit")
	r := g.call("list", args{"recursive": true})
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "closed") {
		t.Errorf("the directory that could not be read is not named: %q", r.Warnings)
	}
	if got := g.get("readonly"); got != "x\n" {
		t.Errorf("a file without write permission was replaced: %q", got)
	}
}

func TestAWriteKeepsTheMode(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("run.sh", "#!/bin/sh\n")
	check(t, os.Chmod(filepath.Join(g.dir, "run.sh"), 0o750))
	g.call("write", args{"path": "run.sh", "content": "#!/bin/sh\necho\n"})
	g.call("edit", args{"path": "run.sh", "old": "echo", "new": "exit"})
	g.call("write", args{"path": "run.sh", "content": "# end\n", "mode": "append"})
	info, err := os.Stat(filepath.Join(g.dir, "run.sh"))
	check(t, err)
	if info.Mode().Perm() != 0o750 {
		t.Errorf("mode %v", info.Mode())
	}
}
