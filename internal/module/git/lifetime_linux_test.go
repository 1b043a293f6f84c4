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

// TestNothingIsLeft: the view of a call that writes is removed with it, one view for
// calls that read is kept, and the module removes everything when it is closed.
func TestNothingIsLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	g := onRepository(t)
	opened, err := git.Module().Open(module.Host{})
	check(t, err)
	for _, one := range opened.Tools {
		g.ByName[one.ID.Name] = one
	}
	for range 3 {
		g.Call("status", nil)
	}
	g.Refused(tool.NotFound, "log", args{"rev": "nowhere"})
	g.Call("branches", args{"create": "x"})
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "callgate-git-*", "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("views are left: %q, %v", left, err)
	}
	check(t, os.RemoveAll(left[0])) // as a program that cleans temporary folders may
	g.Call("status", nil)
	g.Git("config", "core.filemode", "false") // other settings, another view
	g.Call("status", nil)
	check(t, opened.Close())
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "callgate-git-*")); len(left) > 0 {
		t.Errorf("left after Close: %q", left)
	}
}

// TestStops: a pipe in the place of a file that Git reads would hold it for
// ever.
func TestStops(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"index", "HEAD", "config", "packed-refs"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := onRepository(t)
			replaceByPipe(t, filepath.Join(g.Dir, ".git", name))
			g.Configure(map[string]any{"timeout_seconds": 1}, nil)
			if _, err := g.Try("status", nil); err == nil {
				t.Error("no error")
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		g := onRepository(t)
		// Git reads this file to its end: it waits for as long as the pipe is open.
		pipe := filepath.Join(g.Dir, ".git/refs/heads/main")
		replaceByPipe(t, pipe)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		defer close(ended)
		go func() {
			if f, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil { // opens once Git waits at the other end
				defer f.Close()
			}
			cancel()
			<-ended
		}()
		_, err := g.ByName["status"].Handler.Execute(ctx, tool.Call{Args: json.RawMessage(`{}`)}, g.Grant)
		if tool.KindOf(err) != tool.Cancelled {
			t.Errorf("cancelled: %v", err)
		}
	})
}

func replaceByPipe(t *testing.T, path string) {
	t.Helper()
	_ = os.Remove(path)
	check(t, unix.Mkfifo(path, 0o644))
}

// TestManyAtOnce: calls share nothing but the repository.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	g := onRepository(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			name := []string{"status", "log", "diff", "branches"}[i%4]
			raw, _ := json.Marshal(args{})
			if _, err := g.ByName[name].Handler.Execute(t.Context(), tool.Call{Args: raw}, g.Grant); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	group.Wait()
}

// TestReadsWriteNothing: a call that reads leaves every byte of the repository
// as it was.
func TestReadsWriteNothing(t *testing.T) {
	t.Parallel()
	g := onRepository(t)
	g.Write("a.txt", "changed\n")
	check(t, os.Chtimes(filepath.Join(g.Dir, "dir/b.txt"), time.Now(), time.Now())) // the index is stale
	before := snapshot(t, g.Dir)
	for _, name := range []string{"status", "diff", "log", "show", "branches"} {
		g.Call(name, nil)
	}
	g.Call("blame", args{"path": "a.txt"})
	g.Call("stash", args{"action": "list"})
	if after := snapshot(t, g.Dir); after != before {
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
