package git_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"callgate/internal/module"
	"callgate/internal/module/git"
	"callgate/tool"
)

// TestNothingIsLeft: the view of a call that writes goes with it, one view for
// calls that read stays for the next, and everything goes with the module.
func TestNothingIsLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	g := newGround(t).repository()
	opened, err := git.Module().Open(module.Host{})
	check(t, err)
	for _, one := range opened.Tools {
		g.tools[one.ID.Name] = one
	}
	for range 3 {
		g.call("status", nil)
	}
	g.refused(tool.NotFound, "log", args{"rev": "nowhere"})
	g.call("branches", args{"create": "x"})
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "callgate-git-*", "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("views are left: %q, %v", left, err)
	}
	check(t, os.RemoveAll(left[0])) // as whoever tidies temporary folders may
	g.call("status", nil)
	g.plain("config", "core.filemode", "false") // other settings, another view
	g.call("status", nil)
	check(t, opened.Close())
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "callgate-git-*")); len(left) > 0 {
		t.Errorf("left after Close: %q", left)
	}
}

// TestStops: a pipe in the place of the index would hold Git for ever.
func TestStops(t *testing.T) {
	g := newGround(t).repository()
	for _, name := range []string{"index", "HEAD", "config", "packed-refs"} {
		path := filepath.Join(g.dir, ".git", name)
		old, _ := os.ReadFile(path)
		_ = os.Remove(path)
		check(t, unix.Mkfifo(path, 0o644))
		g.settle(map[string]any{"timeout_seconds": 1}, nil)
		if _, err := g.try("status", nil); err == nil {
			t.Errorf("%s: no error", name)
		}
		check(t, os.Remove(path))
		if len(old) > 0 {
			check(t, os.WriteFile(path, old, 0o644))
		}
	}
	check(t, os.Remove(filepath.Join(g.dir, ".git/index")))
	check(t, unix.Mkfifo(filepath.Join(g.dir, ".git/index"), 0o644))
	g.settle(nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	raw, _ := json.Marshal(args{})
	if _, err := g.tools["status"].Handler.Execute(ctx, tool.Call{Args: raw}, g.grant); tool.KindOf(err) != tool.Cancelled {
		t.Errorf("cancelled: %v", err)
	}
}

// TestManyAtOnce: calls share nothing but the repository.
func TestManyAtOnce(t *testing.T) {
	g := newGround(t).repository()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			name := []string{"status", "log", "diff", "branches"}[i%4]
			raw, _ := json.Marshal(args{})
			if _, err := g.tools[name].Handler.Execute(t.Context(), tool.Call{Args: raw}, g.grant); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	group.Wait()
}

// TestReadsWriteNothing: a call that reads leaves every byte of the repository
// as it was.
func TestReadsWriteNothing(t *testing.T) {
	g := newGround(t).repository()
	g.write("a.txt", "changed\n")
	check(t, os.Chtimes(filepath.Join(g.dir, "dir/b.txt"), time.Now(), time.Now())) // the index is stale
	before := snapshot(t, g.dir)
	for _, name := range []string{"status", "diff", "log", "show", "branches"} {
		g.call(name, nil)
	}
	g.call("blame", args{"path": "a.txt"})
	g.call("stash", args{"action": "list"})
	if after := snapshot(t, g.dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			b.WriteString(path + " " + info.ModTime().String() + "\n")
		}
		return err
	}))
	return b.String()
}
