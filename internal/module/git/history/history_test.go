package history_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/git"
	"callgate/internal/module/git/gittest"
	"callgate/tool"
)

func TestMain(m *testing.M) { os.Exit(gittest.Main(m)) }

type args = gittest.Args

// newTools opens the module on an empty workspace.
func newTools(t *testing.T) *gittest.Tools {
	t.Helper()
	return gittest.New(t).Open(git.Module(), execute)
}

// onRepository opens the module on a workspace that is a repository with two
// commits.
func onRepository(t *testing.T) *gittest.Tools {
	t.Helper()
	return gittest.New(t).WithRepository().Open(git.Module(), execute)
}

// execute runs a tool without a gate.
func execute(ctx context.Context, one *tool.Tool, call tool.Call, grant tool.Grant) (*tool.Result, error) {
	return one.Handler.Execute(ctx, call, grant)
}

func TestDiff(t *testing.T) {
	t.Parallel()
	g := onRepository(t)
	g.Says(g.Call("diff", nil), "no differences")
	g.Write("a.txt", "one\n2\n3\n")
	g.Write("bin", "\x00\x01")
	g.Call("add", args{"paths": []string{"bin"}})
	g.Says(g.Call("diff", nil), "1 file changed, +1 -1", "-three\n+3\n")
	g.Says(g.Call("diff", args{"staged": true}), "Binary files /dev/null and b/bin differ")
	g.Says(g.Call("diff", args{"from": "HEAD~1", "stat": true}), "2 files changed", "a.txt: +2 -2", "bin: binary")
	g.Says(g.Call("diff", args{"from": "HEAD~1", "to": "HEAD", "context": 0}), "@@ -2 +2 @@")
	g.Says(g.Call("diff", args{"from": "HEAD~1", "paths": []string{"dir"}}), "no differences")
	g.Refused(tool.NotFound, "diff", args{"from": "nowhere"}, "nowhere", "git.branches")
	g.Refused(tool.Invalid, "diff", args{"from": "--output=x"}, "begins with a dash")
	g.Refused(tool.Invalid, "diff", args{"to": "HEAD"}, "without from")
	g.Refused(tool.Denied, "diff", args{"paths": []string{"../outside"}}, "outside the repository")
}

func TestLongDiff(t *testing.T) {
	t.Parallel()
	g := onRepository(t)
	g.Configure(map[string]any{"max_bytes": 2000}, nil)
	for _, name := range []string{"1", "2", "3", "4"} {
		g.Write(name, strings.Repeat("line\n", 200))
	}
	g.Git("add", ".")
	seen, skip := []string{}, 0
	for range 10 {
		r := g.Call("diff", args{"staged": true, "skip": skip})
		got := gittest.Data[struct {
			NextSkip int `json:"next_skip"`
		}](t, r)
		for _, name := range []string{"1", "2", "3", "4"} {
			if strings.Contains(gittest.Text(r), "+++ b/"+name) {
				seen = append(seen, name)
			}
		}
		if len(gittest.Text(r)) > 2100 {
			t.Errorf("%d bytes of text", len(gittest.Text(r)))
		}
		if skip = got.NextSkip; skip == 0 {
			break
		}
	}
	if diff := cmp.Diff([]string{"1", "2", "3", "4"}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	g := onRepository(t)
	r := g.Call("log", nil)
	g.Says(r, "2 commits", "2026-01-02 Ada: second", "first")
	got := gittest.Data[struct {
		Commits []struct{ Subject, Body, Author, Email, Date string }
	}](t, r)
	c := got.Commits[0]
	if c.Subject != "second" || c.Body != "with a reason" || c.Email != "ada@example.com" ||
		!strings.HasPrefix(c.Date, "2026-01-02T03:04:05") {
		t.Errorf("%+v", c)
	}
	g.Says(g.Call("log", args{"limit": 1}), "1 commit; older ones follow: continue with skip=1")
	g.Says(g.Call("log", args{"skip": 1}), "1 commit", "first")
	g.Says(g.Call("log", args{"paths": []string{"dir"}}), "1 commit", "first")
	g.Says(g.Call("log", args{"grep": "A REASON"}), "1 commit", "second")
	g.Says(g.Call("log", args{"author": "nobody"}), "no commits match")
	g.Says(g.Call("log", args{"rev": "HEAD~1..HEAD", "first_parent": true}), "1 commit")
	g.Says(g.Call("log", args{"all": true, "since": "2020-01-01", "until": "2030-01-01"}), "2 commits")
	g.Git("mv", "dir/b.txt", "moved.txt")
	g.Git("commit", "-q", "-m", "move")
	g.Says(g.Call("log", args{"paths": []string{"moved.txt"}, "follow": true}), "2 commits")
	g.Refused(tool.NotFound, "log", args{"rev": "nowhere"}, "nowhere")
	g.Refused(tool.Invalid, "log", args{"rev": "--all"}, "dash")
	empty := newTools(t)
	empty.Git("init", "-q")
	empty.Says(empty.Call("log", nil), "no commits yet")
	empty.Says(empty.Call("status", nil), "before its first commit")
}

func TestShow(t *testing.T) {
	t.Parallel()
	g := onRepository(t)
	g.Says(g.Call("show", nil), "second: 1 file changed, +1 -1", "with a reason", "-two\n+2\n")
	g.Says(g.Call("show", args{"rev": "HEAD~1", "stat": true}), "first: 2 files changed", "dir/b.txt: +1 -0")
	g.Says(g.Call("show", args{"rev": "HEAD~1", "paths": []string{"dir"}}), "first: 1 file changed", "+++ b/dir/b.txt")
	g.Says(g.Call("show", args{"rev": "HEAD~1", "path": "a.txt"}), "14 bytes", "one\ntwo\nthree\n")
	g.Says(g.Call("show", args{"path": "."}), "2 names", "a.txt\ndir/\n")
	g.Git("tag", "-a", "v1", "-m", "release")
	g.Says(g.Call("show", args{"rev": "v1"}), "second")
	g.Write("bin", "\x00\x01")
	g.Write("n\nl", "odd\n")
	g.Write("big", strings.Repeat("x", 300_000))
	g.Git("add", ".")
	g.Git("commit", "-q", "-m", "odd")
	g.Says(g.Call("show", args{"path": "bin"}), "a binary file of 2 bytes")
	g.Says(g.Call("show", args{"path": `"n\nl"`}), "odd\n")
	g.Says(g.Call("show", args{"path": "big"}), "of which the first 131072")
	g.Refused(tool.NotFound, "show", args{"path": "nowhere"}, "nowhere")
	g.Refused(tool.NotFound, "show", args{"rev": "nowhere"}, "nowhere")
	g.Refused(tool.Invalid, "show", args{"rev": "-p"}, "dash")
}

func TestBlame(t *testing.T) {
	t.Parallel()
	g := onRepository(t)
	g.Write("a.txt", "one\n2\nthree\nfour\n")
	r := g.Call("blame", args{"path": "a.txt"})
	g.Says(r, "lines 1 to 4, from 3 commits", "Ada", "  2\n")
	g.Says(g.Call("blame", args{"path": "a.txt", "rev": "HEAD", "start": 2, "limit": 1}),
		"lines 2 to 2", "continue with start=3")
	g.Refused(tool.Invalid, "blame", args{"path": "a.txt", "start": 9}, "past the end", "4")
	g.Refused(tool.NotFound, "blame", args{"path": "new.txt"}, "new.txt")
	g.Refused(tool.Invalid, "blame", args{"path": "a.txt", "rev": "--contents=/etc/passwd"}, "dash")
}
