package filesystem_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"callgate/tool"
)

// reaching returns calls that would reach a path, one for each tool and each of its
// parameters that takes a path.
func reaching(path string) map[string]args {
	return map[string]args{
		"read":   {"path": path},
		"list":   {"path": path},
		"write":  {"path": path, "content": "x"},
		"edit":   {"path": path, "old": "SECRET", "new": "x"},
		"glob":   {"path": path, "pattern": "*"},
		"grep":   {"path": path, "pattern": "SECRET"},
		"delete": {"path": path},
		"move":   {"from": path, "to": "taken"},
	}
}

func TestNoPathLeadsOutside(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("dir/inner.txt", "SECRET inside\n")
	g.link("../outside/secret", "file-link")
	g.link(filepath.Join(g.outside, "secret"), "absolute-link")
	g.link("../outside", "dir-link")
	g.link("dir-link", "chain/../chain2")
	g.link("../dir-link", "chain/one")
	g.link("one", "chain/two")
	g.link("..", "up")
	g.link("../../outside", "dir/deep")
	paths := map[string]string{
		"parent":                  "..",
		"parent's child":          "../outside/secret",
		"up and down":             "dir/../../outside/secret",
		"absolute":                filepath.Join(g.outside, "secret"),
		"absolute with dots":      g.dir + "/../outside/secret",
		"a name like ours":        g.dir + "-other/secret",
		"the root of the system":  "/",
		"through a directory":     "dir-link/secret",
		"through a chain":         "chain/two/secret",
		"through the parent":      "up/outside/secret",
		"through a deep link":     "dir/deep/secret",
		"through an absolute one": "absolute-link/x",
	}
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			g.t = t
			for op, a := range reaching(path) {
				g.refused(tool.Denied, op, a, "outside the workspace")
			}
			g.refused(tool.Denied, "move", args{"from": "dir/inner.txt", "to": path}, "outside the workspace")
		})
	}
	for _, path := range []string{"file-link", "absolute-link"} {
		for _, op := range []string{"read", "write", "edit", "grep"} {
			g.t = t
			g.refused(tool.Denied, op, reaching(path)[op], "symbolic link", "outside the workspace")
		}
	}
	g.t = t
	g.refused(tool.Denied, "glob", args{"pattern": "/etc/*"}, "outside the workspace")
	g.refused(tool.Invalid, "glob", args{"pattern": "../outside/*"}, "..")
	g.outsideUntouched()
	g.noLitter()
	if got := g.get("dir/inner.txt"); got != "SECRET inside\n" {
		t.Errorf("the file inside was changed: %q", got)
	}
}

func TestWalksDoNotFollowLinks(t *testing.T) {
	t.Parallel()
	for _, c := range searchers(t) {
		t.Run(c.name, func(t *testing.T) {
			g := newFixtureWith(t, c.config)
			g.put("a/real.txt", "SECRET inside\n")
			g.link("../outside", "a/dir-link")
			g.link("../../outside/secret", "a/file-link")
			g.link(".", "a/loop")
			got := text(g.call("glob", args{"pattern": "**", "type": "any"}))
			if strings.Contains(got, "secret") || strings.Contains(got, "loop/") {
				t.Errorf("glob went through a link:\n%s", got)
			}
			got = text(g.call("list", args{"recursive": true}))
			if strings.Contains(got, "dir-link/") || strings.Contains(got, "loop/") {
				t.Errorf("list went through a link:\n%s", got)
			}
			if got := text(g.call("grep", args{"pattern": "SECRET"})); got != "a/real.txt\n1:SECRET inside\n" {
				t.Errorf("grep gave %q", got)
			}
		})
	}
}

func TestPathsInsideAreAccepted(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("dir/file.txt", "hello\n")
	g.link("dir/file.txt", "link")
	g.link("dir", "dirlink")
	g.link(filepath.Join(g.dir, "dir"), "abs-dirlink")
	g.link(filepath.Join(g.dir, "dir", "file.txt"), "abs-link")
	g.link("../dirlink/file.txt", "other/link")
	for _, path := range []string{
		"dir/file.txt", "./dir/file.txt", "dir//file.txt", "dir/../dir/file.txt", g.dir + "/dir/file.txt",
		"../work/dir/file.txt", "link", "dirlink/file.txt", "abs-dirlink/file.txt", "abs-link", "other/link",
	} {
		if got := text(g.call("read", args{"path": path, "line_numbers": false})); got != "hello\n" {
			t.Errorf("read %q: %q", path, got)
		}
	}
	r := g.call("read", args{"path": g.dir + "/dir/file.txt"})
	if got := data[struct{ Path string }](t, r).Path; got != "dir/file.txt" {
		t.Errorf("an absolute path is shown as %q", got)
	}
}

func TestLinksInsideAreWrittenThrough(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("dir/file.txt", "old\n")
	g.link("dir/file.txt", "link")
	g.link(filepath.Join(g.dir, "dir", "new.txt"), "dangling")
	g.call("write", args{"path": "link", "content": "new\n"})
	g.call("edit", args{"path": "link", "old": "new", "new": "newer"})
	g.call("write", args{"path": "dangling", "content": "born\n"})
	if got := g.get("dir/file.txt") + g.get("dir/new.txt"); got != "newer\nborn\n" {
		t.Errorf("the targets hold %q", got)
	}
	if to, err := os.Readlink(filepath.Join(g.dir, "link")); err != nil || to != "dir/file.txt" {
		t.Errorf("the link is now %q, %v", to, err)
	}
	g.link("b", "a")
	g.link("a", "b")
	g.refused(tool.Failed, "read", args{"path": "a"}, "circle")
	g.refused(tool.Failed, "write", args{"path": "a", "content": "x"}, "circle")
}

func TestHardLinksArePartedByAWrite(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	if err := os.Link(filepath.Join(g.outside, "secret"), filepath.Join(g.dir, "twin")); err != nil {
		t.Skipf("no hard links here: %v", err)
	}
	g.call("edit", args{"path": "twin", "old": "SECRET", "new": "changed"})
	g.call("write", args{"path": "twin", "content": "more\n", "mode": "append"})
	if got := g.get("twin"); got != "changed\nmore\n" {
		t.Errorf("inside: %q", got)
	}
	g.outsideUntouched()
}

// A directory inside is swapped with a link to the outside, over and over,
// while every tool works in it; and so is a file.
func TestSwappedLinksNeverLeadOutside(t *testing.T) {
	t.Parallel()
	rounds := 25
	if testing.Short() {
		rounds = 8
	}
	for _, c := range searchers(t) {
		t.Run(c.name, func(t *testing.T) {
			g := newFixtureWith(t, c.config)
			g.link("../outside", "decoy")
			g.put("dir/secret", "inside\n")
			g.put("file", "inside\n")
			g.link("../outside/secret", "file-decoy")
			try := g.whileSwapping([2]string{"dir", "decoy"}, [2]string{"file", "file-decoy"})
			for range 30 * rounds { // the cheap calls, to hit the narrow moment
				inside(t, try("read", args{"path": "dir/secret"}))
				inside(t, try("read", args{"path": "file"}))
				inside(t, try("grep", args{"pattern": "SECRE.", "path": "file"}))
			}
			for range rounds {
				for _, path := range []string{"dir/secret", "file"} {
					inside(t, try("read", args{"path": path}))
					try("write", args{"path": path, "content": "inside\n"})
					try("write", args{"path": path, "content": "inside\n", "mode": "append"})
					try("edit", args{"path": path, "old": "inside", "new": "inside!", "all": true})
				}
				try("write", args{"path": "dir/sub/new", "content": "inside\n"})
				inside(t, try("grep", args{"pattern": "SECRE.|inside", "context": 1}))
				inside(t, try("glob", args{"pattern": "dir/*"}))
				try("move", args{"from": "dir/sub/new", "to": "dir/moved", "overwrite": true})
				try("delete", args{"path": "dir/sub", "recursive": true})
			}
			g.outsideUntouched()
		})
	}
}

func inside(t *testing.T, r *tool.Result) {
	t.Helper()
	if r != nil && strings.Contains(text(r), "SECRET") {
		t.Fatalf("a call read what lies outside: %s\n%s", r.Summary, text(r))
	}
}

// whileSwapping makes a way to call tools during which pairs of names are
// exchanged, over and over.
func (g *fixture) whileSwapping(pairs ...[2]string) func(string, args) *tool.Result {
	turn := make(chan struct{}, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range turn {
			for range 10 {
				for _, p := range pairs {
					a, b := filepath.Join(g.dir, p[0]), filepath.Join(g.dir, p[1])
					_ = os.Rename(a, a+".aside")
					_ = os.Rename(b, a)
					_ = os.Rename(a+".aside", b)
				}
			}
		}
	})
	g.t.Cleanup(func() { close(turn); wg.Wait() })
	return func(name string, a args) *tool.Result {
		g.t.Helper()
		select {
		case turn <- struct{}{}:
		default: // still busy with the turn before
		}
		r, _ := g.try(name, a)
		return r
	}
}
