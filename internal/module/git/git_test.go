package git_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/tool"
)

func TestTools(t *testing.T) {
	g := newGround(t)
	for _, one := range g.opened.Tools {
		if err := one.Validate(); err != nil {
			t.Error(err)
		}
		input := compile(t, one.Spec.Input)
		if len(one.Spec.Examples) == 0 || len(one.Spec.Aliases) < 5 {
			t.Errorf("%s has %d examples and %d aliases", one.ID, len(one.Spec.Examples), len(one.Spec.Aliases))
		}
		for _, e := range one.Spec.Examples {
			doc := map[string]any{}
			if err := json.Unmarshal(e.Args, &doc); err != nil {
				t.Errorf("%s: the example %q: %v", one.ID, e.Note, err)
			} else if err := input.Validate(doc); err != nil {
				t.Errorf("%s: the example %q: %v", one.ID, e.Note, err)
			}
		}
	}
}

func TestStatus(t *testing.T) {
	g := newGround(t).repository()
	g.says(g.call("status", nil), "on main: clean")
	g.write("a.txt", "changed\n")
	g.write("new\nline", "x")
	g.write("bad\xff", "x")
	g.plain("mv", "dir/b.txt", "c.txt")
	r := g.call("status", nil)
	g.says(r, "1 staged, 1 changed, 2 untracked", "R  dir/b.txt -> c.txt", " M a.txt", `?? "bad\377"`, `?? "new\nline"`)
	type change struct{ Path, Change, From string }
	got := data[struct {
		Staged, Unstaged []change
		Untracked        []string
		Clean            bool
	}](g, r)
	if diff := cmp.Diff([]change{{"c.txt", "renamed", "dir/b.txt"}}, got.Staged); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]change{{"a.txt", "modified", ""}}, got.Unstaged); diff != "" || got.Clean {
		t.Error(diff, got.Clean)
	}
	if diff := cmp.Diff([]string{`"bad\377"`, `"new\nline"`}, got.Untracked); diff != "" {
		t.Error(diff)
	}
	g.says(g.call("add", args{"paths": got.Untracked}), "staged 2 files")
	g.says(g.call("status", args{"paths": []string{"a.txt"}}), ": 1 changed")
	g.says(g.call("status", args{"limit": 1}), "3 staged, 1 changed")
}

func TestDiff(t *testing.T) {
	g := newGround(t).repository()
	g.says(g.call("diff", nil), "no differences")
	g.write("a.txt", "one\n2\n3\n")
	g.write("bin", "\x00\x01")
	g.call("add", args{"paths": []string{"bin"}})
	g.says(g.call("diff", nil), "1 file changed, +1 -1", "-three\n+3\n")
	g.says(g.call("diff", args{"staged": true}), "Binary files /dev/null and b/bin differ")
	g.says(g.call("diff", args{"from": "HEAD~1", "stat": true}), "2 files changed", "a.txt: +2 -2", "bin: binary")
	g.says(g.call("diff", args{"from": "HEAD~1", "to": "HEAD", "context": 0}), "@@ -2 +2 @@")
	g.says(g.call("diff", args{"from": "HEAD~1", "paths": []string{"dir"}}), "no differences")
	g.refused(tool.NotFound, "diff", args{"from": "nowhere"}, "nowhere", "git.branches")
	g.refused(tool.Invalid, "diff", args{"from": "--output=x"}, "begins with a dash")
	g.refused(tool.Invalid, "diff", args{"to": "HEAD"}, "without from")
	g.refused(tool.Denied, "diff", args{"paths": []string{"../outside"}}, "outside the repository")
}

func TestLongDiff(t *testing.T) {
	g := newGround(t).repository()
	g.settle(map[string]any{"max_bytes": 2000}, nil)
	for _, name := range []string{"1", "2", "3", "4"} {
		g.write(name, strings.Repeat("line\n", 200))
	}
	g.plain("add", ".")
	seen, skip := []string{}, 0
	for range 10 {
		r := g.call("diff", args{"staged": true, "skip": skip})
		got := data[struct {
			NextSkip int `json:"next_skip"`
		}](g, r)
		for _, name := range []string{"1", "2", "3", "4"} {
			if strings.Contains(text(r), "+++ b/"+name) {
				seen = append(seen, name)
			}
		}
		if len(text(r)) > 2100 {
			t.Errorf("%d bytes of text", len(text(r)))
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
	g := newGround(t).repository()
	r := g.call("log", nil)
	g.says(r, "2 commits", "2026-01-02 Ada: second", "first")
	got := data[struct {
		Commits []struct{ Subject, Body, Author, Email, Date string }
	}](g, r)
	if c := got.Commits[0]; c.Subject != "second" || c.Body != "with a reason" || c.Email != "ada@example.com" || !strings.HasPrefix(c.Date, "2026-01-02T03:04:05") {
		t.Errorf("%+v", c)
	}
	g.says(g.call("log", args{"limit": 1}), "1 commit; older ones follow: continue with skip=1")
	g.says(g.call("log", args{"skip": 1}), "1 commit", "first")
	g.says(g.call("log", args{"paths": []string{"dir"}}), "1 commit", "first")
	g.says(g.call("log", args{"grep": "A REASON"}), "1 commit", "second")
	g.says(g.call("log", args{"author": "nobody"}), "no commits match")
	g.says(g.call("log", args{"rev": "HEAD~1..HEAD", "first_parent": true}), "1 commit")
	g.says(g.call("log", args{"all": true, "since": "2020-01-01", "until": "2030-01-01"}), "2 commits")
	g.plain("mv", "dir/b.txt", "moved.txt")
	g.plain("commit", "-q", "-m", "move")
	g.says(g.call("log", args{"paths": []string{"moved.txt"}, "follow": true}), "2 commits")
	g.refused(tool.NotFound, "log", args{"rev": "nowhere"}, "nowhere")
	g.refused(tool.Invalid, "log", args{"rev": "--all"}, "dash")
	empty := newGround(t)
	empty.plain("init", "-q")
	empty.says(empty.call("log", nil), "no commits yet")
	empty.says(empty.call("status", nil), "before its first commit")
}

func TestShow(t *testing.T) {
	g := newGround(t).repository()
	g.says(g.call("show", nil), "second: 1 file changed, +1 -1", "with a reason", "-two\n+2\n")
	g.says(g.call("show", args{"rev": "HEAD~1", "stat": true}), "first: 2 files changed", "dir/b.txt: +1 -0")
	g.says(g.call("show", args{"rev": "HEAD~1", "paths": []string{"dir"}}), "first: 1 file changed", "+++ b/dir/b.txt")
	g.says(g.call("show", args{"rev": "HEAD~1", "path": "a.txt"}), "14 bytes", "one\ntwo\nthree\n")
	g.says(g.call("show", args{"path": "."}), "2 names", "a.txt\ndir/\n")
	g.plain("tag", "-a", "v1", "-m", "release")
	g.says(g.call("show", args{"rev": "v1"}), "second")
	g.write("bin", "\x00\x01")
	g.write("n\nl", "odd\n")
	g.write("big", strings.Repeat("x", 300_000))
	g.plain("add", ".")
	g.plain("commit", "-q", "-m", "odd")
	g.says(g.call("show", args{"path": "bin"}), "a binary file of 2 bytes")
	g.says(g.call("show", args{"path": `"n\nl"`}), "odd\n")
	g.says(g.call("show", args{"path": "big"}), "of which the first 131072")
	g.refused(tool.NotFound, "show", args{"path": "nowhere"}, "nowhere")
	g.refused(tool.NotFound, "show", args{"rev": "nowhere"}, "nowhere")
	g.refused(tool.Invalid, "show", args{"rev": "-p"}, "dash")
}

func TestBlame(t *testing.T) {
	g := newGround(t).repository()
	g.write("a.txt", "one\n2\nthree\nfour\n")
	r := g.call("blame", args{"path": "a.txt"})
	g.says(r, "lines 1 to 4, from 3 commits", "Ada", "  2\n")
	g.says(g.call("blame", args{"path": "a.txt", "rev": "HEAD", "start": 2, "limit": 1}), "lines 2 to 2", "continue with start=3")
	g.refused(tool.Invalid, "blame", args{"path": "a.txt", "start": 9}, "past the end", "4")
	g.refused(tool.NotFound, "blame", args{"path": "new.txt"}, "new.txt")
	g.refused(tool.Invalid, "blame", args{"path": "a.txt", "rev": "--contents=/etc/passwd"}, "dash")
}

func TestBranches(t *testing.T) {
	g := newGround(t).repository()
	g.says(g.call("branches", nil), "1 branch; on main", "* main", "second")
	g.says(g.call("branches", args{"create": "side/x", "start": "HEAD~1"}), "created side/x")
	g.refused(tool.Conflict, "branches", args{"create": "side/x"}, "already exists")
	g.refused(tool.Invalid, "branches", args{"create": "-d"}, "not a name")
	g.refused(tool.NotFound, "branches", args{"create": "y", "start": "nowhere"}, "nowhere")
	g.says(g.call("branches", nil), "2 branches; on main", "  side/x")
	g.says(g.call("branches", args{"rename": "side/x", "to": "aside"}), "renamed side/x to aside")
	g.says(g.call("branches", args{"delete": "aside"}), "deleted aside")
	g.refused(tool.Conflict, "branches", args{"delete": "main"}, "checked out")
	g.refused(tool.NotFound, "branches", args{"delete": "aside"}, "no branch")

	g.plain("checkout", "-q", "-b", "lonely")
	g.write("l", "l")
	g.plain("add", "l")
	g.plain("commit", "-q", "-m", "lonely")
	g.plain("checkout", "-q", "main")
	g.refused(tool.Conflict, "branches", args{"delete": "lonely"}, "not fully merged")
	g.refused(tool.Denied, "branches", args{"delete": "lonely", "force": true}, "allow_force")
	g.settle(nil, map[string]any{"allow_force": true, "protected_branches": []any{"main", "release/*"}})
	g.says(g.call("branches", args{"delete": "lonely", "force": true}), "deleted lonely")
	g.plain("branch", "release/1")
	g.refused(tool.Denied, "branches", args{"delete": "release/1"}, "protected")
	g.refused(tool.Denied, "branches", args{"rename": "main", "to": "x"}, "protected")

	g.settle(nil, nil)
	g.plain("config", "branch.main.remote", "origin")
	g.plain("config", "branch.main.merge", "refs/heads/main")
	g.says(g.call("branches", args{"rename": "main", "to": "trunk"}), "renamed main to trunk")
	if head := g.plain("symbolic-ref", "HEAD"); head != "refs/heads/trunk" {
		t.Errorf("HEAD is %s", head)
	}
	if up := g.plain("config", "branch.trunk.merge"); up != "refs/heads/main" {
		t.Errorf("the upstream is %s", up)
	}
	g.says(g.call("status", nil), "on trunk")
}

func TestAddAndCommit(t *testing.T) {
	g := newGround(t).repository()
	g.refused(tool.Failed, "commit", args{"message": "x"}, "nothing to commit", "new files")
	g.write("a.txt", "changed\n")
	g.write(".gitignore", "*.log\nout/\n")
	g.write("x.log", "log")
	g.write("out/y", "y")
	g.write("-rf", "dash")
	check(t, os.Remove(filepath.Join(g.dir, "dir/b.txt")))
	g.refused(tool.Failed, "commit", args{"message": "x"}, "nothing is staged", "2 files changed")
	g.refused(tool.Invalid, "add", nil, "paths, or all")
	g.refused(tool.Invalid, "add", args{"paths": []string{"x.log"}}, "ignored")
	g.refused(tool.Invalid, "add", args{"paths": []string{"out/y"}}, "ignored")
	g.refused(tool.NotFound, "add", args{"paths": []string{"*.txt"}}, "literal")
	g.says(g.call("add", args{"paths": []string{"a.txt", "dir", "-rf"}}), "staged 3 files")
	g.says(g.call("add", args{"paths": []string{"a.txt"}}), "nothing to stage")
	r := g.call("commit", args{"message": "subject\n\n# not a comment\n"})
	g.says(r, "on main: subject; 3 files changed", "dir/b.txt: +0 -1")
	if body := g.plain("log", "-1", "--format=%an <%ae> %b"); body != "Ada <ada@example.com> # not a comment" {
		t.Errorf("committed %q", body)
	}
	g.says(g.call("add", args{"all": true}), "staged 1 file")
	g.write("a.txt", "again\n")
	g.says(g.call("commit", args{"message": "all", "all": true}), "2 files changed")
	g.write("a.txt", "more\n")
	before := g.plain("rev-parse", "HEAD~1")
	g.says(g.call("commit", args{"message": "amended", "all": true, "amend": true}), "amended")
	if g.plain("rev-parse", "HEAD~1") != before {
		t.Error("amend made a new commit")
	}
	g.plain("update-ref", "refs/remotes/origin/main", "HEAD")
	g.refused(tool.Denied, "commit", args{"message": "x", "amend": true}, "origin/main")
	g.settle(map[string]any{"author_name": "Bot", "author_email": "bot@x"}, map[string]any{"protected_branches": []any{"main"}})
	g.refused(tool.Denied, "commit", args{"message": "x"}, "protected")
	g.plain("checkout", "-q", "-b", "work")
	g.write("a.txt", "by a bot\n")
	g.call("commit", args{"message": "x", "all": true})
	if who := g.plain("log", "-1", "--format=%an %ce"); who != "Bot bot@x" {
		t.Errorf("committed by %q", who)
	}
}

func TestNobody(t *testing.T) {
	g := newGround(t).repository()
	check(t, os.Remove(filepath.Join(g.home, ".gitconfig")))
	g.write("a.txt", "x")
	g.refused(tool.Failed, "commit", args{"message": "x", "all": true}, "user.name", "git config --global")
	g.plain("config", "user.name", "Here")
	g.plain("config", "user.email", "here@x")
	g.call("commit", args{"message": "x", "all": true})
	g.write("../home/.gitconfig", "[includeIf \"gitdir:"+g.dir+"/\"]\n\tpath = work.inc\n")
	g.write("../home/work.inc", "[user]\n\tname = Work\n\temail = work@x\n")
	g.plain("config", "--unset", "user.name")
	g.plain("config", "--unset", "user.email")
	g.write("a.txt", "y")
	g.call("commit", args{"message": "x", "all": true})
	if who := g.plain("log", "-2", "--format=%an"); who != "Work\nHere" {
		t.Errorf("committed by %q", who)
	}
}

func TestUsersIgnores(t *testing.T) {
	g := newGround(t).repository()
	g.write("../home/.config/git/ignore", ".env\n")
	g.write(".env", "SECRET=1")
	g.says(g.call("add", args{"all": true}), "nothing to stage")
}

func TestFirstCommit(t *testing.T) {
	g := newGround(t)
	g.plain("init", "-q", "-b", "main")
	g.refused(tool.Invalid, "commit", args{"message": "x", "amend": true}, "no commit to amend")
	g.write("a", "a")
	g.call("add", args{"all": true})
	g.says(g.call("commit", args{"message": "begin"}), "committed")
	g.says(g.call("show", nil), "begin: 1 file changed")
	if log := g.plain("reflog"); !strings.Contains(log, "commit (initial)") {
		t.Errorf("the log of HEAD is %q", log)
	}
}

func TestCheckout(t *testing.T) {
	g := newGround(t).repository()
	g.says(g.call("checkout", args{"to": "side", "create": true, "start": "HEAD~1"}), "created side")
	if got := g.read("a.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("a.txt is %q", got)
	}
	g.says(g.call("checkout", args{"to": "main"}), "switched to main")
	g.says(g.call("checkout", args{"to": "main"}), "already on main")
	g.write("a.txt", "mine\n")
	g.refused(tool.Conflict, "checkout", args{"to": "side"}, "a.txt", "stash")
	g.refused(tool.Denied, "checkout", args{"to": "side", "force": true}, "allow_force")
	g.refused(tool.Conflict, "checkout", args{"to": "side", "paths": []string{"a.txt"}}, "a.txt")
	g.settle(nil, map[string]any{"allow_force": true})
	g.says(g.call("checkout", args{"to": "side", "force": true}), "switched to side")
	g.settle(nil, nil)
	g.says(g.call("checkout", args{"to": "main", "paths": []string{"a.txt"}}), "took a.txt from main")
	g.says(g.call("status", nil), "on side: 1 staged")
	g.plain("reset", "-q", "--hard")
	g.says(g.call("checkout", args{"to": "main~1"}), "on no branch")
	g.refused(tool.NotFound, "checkout", args{"to": "nowhere"}, "nowhere")
	g.refused(tool.Invalid, "checkout", args{"to": "--orphan"}, "dash")
	g.refused(tool.Conflict, "checkout", args{"to": "main", "create": true}, "already exists")

	g.plain("update-ref", "refs/remotes/origin/far", "main")
	g.says(g.call("checkout", args{"to": "far"}), "follows origin/far")
	if up := g.plain("config", "branch.far.merge"); up != "refs/heads/far" {
		t.Errorf("the upstream is %q", up)
	}
	g.plain("checkout", "-q", "main")
	g.write(".git/info/exclude", "kept\n")
	g.plain("checkout", "-q", "-b", "has")
	g.write("kept", "theirs")
	g.plain("add", "-f", "kept")
	g.plain("commit", "-q", "-m", "kept")
	g.plain("checkout", "-q", "main")
	g.write("kept", "mine, and ignored")
	g.refused(tool.Conflict, "checkout", args{"to": "has"}, "kept")
}

func TestRestore(t *testing.T) {
	g := newGround(t).repository()
	g.write("a.txt", "staged\n")
	g.plain("add", "a.txt")
	g.write("a.txt", "changed\n")
	g.write("dir/b.txt", "changed\n")
	g.says(g.call("restore", args{"paths": []string{"dir"}}), "discarded the changes of 1 file")
	g.says(g.call("restore", args{"paths": []string{"a.txt"}}), "discarded the changes of 1 file")
	if got := g.read("a.txt"); got != "staged\n" {
		t.Errorf("a.txt is %q", got)
	}
	g.says(g.call("restore", args{"paths": []string{"a.txt"}, "staged": true}), "took 1 file out")
	if got := g.read("a.txt"); got != "staged\n" {
		t.Errorf("a.txt is %q", got)
	}
	g.call("restore", args{"paths": []string{"."}, "source": "HEAD~1", "staged": true, "worktree": true})
	if got := g.read("a.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("a.txt is %q", got)
	}
	g.refused(tool.NotFound, "restore", args{"paths": []string{"nowhere"}}, "did not match")
	g.refused(tool.NotFound, "restore", args{"paths": []string{"."}, "source": "nowhere"}, "nowhere")
	g.refused(tool.Invalid, "restore", args{"paths": []string{"."}, "source": "--x"}, "dash")
}

func TestStash(t *testing.T) {
	g := newGround(t).repository()
	g.says(g.call("stash", args{"action": "list"}), "nothing is put aside")
	g.refused(tool.Failed, "stash", nil, "no changes")
	g.refused(tool.NotFound, "stash", args{"action": "pop"}, "no stash 0")
	g.write("a.txt", "changed\n")
	g.write("new.txt", "new\n")
	g.says(g.call("stash", args{"message": "half done", "include_untracked": true}), "2 files as stash 0")
	g.says(g.call("status", nil), "clean")
	g.says(g.call("stash", args{"action": "list"}), "1 stash", "half done")
	g.says(g.call("stash", args{"action": "show"}), "half done", "+changed")
	g.says(g.call("stash", args{"action": "pop"}), "brought back and removed")
	if got := g.read("a.txt") + g.read("new.txt"); got != "changed\nnew\n" {
		t.Errorf("brought back %q", got)
	}
	g.write("dir/b.txt", "changed\n")
	g.says(g.call("stash", args{"paths": []string{"dir/b.txt"}}), "1 file as stash 0")
	g.says(g.call("status", nil), "1 changed, 1 untracked")
	g.says(g.call("stash", args{"action": "apply"}), "kept")
	g.plain("checkout", "-q", ".")
	g.write("dir/b.txt", "other\n")
	g.plain("commit", "-q", "-a", "-m", "other")
	g.refused(tool.Conflict, "stash", args{"action": "pop"}, "dir/b.txt", "kept")
	g.refused(tool.Conflict, "commit", args{"message": "x", "all": true}, "in conflict", "dir/b.txt")
	g.refused(tool.Conflict, "stash", nil, "in conflict")
	g.says(g.call("status", nil), "1 in conflict")
	g.call("add", args{"paths": []string{"dir/b.txt"}})
	g.refused(tool.Denied, "stash", args{"action": "drop"}, "allow_force")
	g.settle(nil, map[string]any{"allow_force": true})
	g.says(g.call("stash", args{"action": "drop"}), "dropped stash 0")
	g.says(g.call("stash", args{"action": "list"}), "nothing is put aside")
}

func TestWhichRepository(t *testing.T) {
	g := newGround(t)
	g.refused(tool.NotFound, "status", nil, "not the folder of a Git repository")
	g.plain("init", "-q", "-b", "main", "sub")
	g.refused(tool.NotFound, "status", nil, "there is one in sub")
	g.says(g.call("status", args{"repo": "sub"}), "on main")
	g.says(g.call("status", args{"repo": filepath.Join(g.dir, "sub")}), "on main")
	g.write("sub/deep/x", "x")
	g.refused(tool.Invalid, "status", args{"repo": "sub/deep"}, `repo: "sub"`)
	g.refused(tool.NotFound, "status", args{"repo": "nowhere"}, "nowhere")
	g.refused(tool.Denied, "status", args{"repo": ".."}, "outside")
	g.refused(tool.Invalid, "status", args{"repo": "sub/deep/x"}, "not a folder")
	g.plain("init", "-q", "--bare", "bare")
	g.refused(tool.NotFound, "status", args{"repo": "bare"}, "bare repository")
	g.plainIn(g.outside, "init", "-q", "-b", "main")
	for name, target := range map[string]string{"linked": g.outside, "relative": "../../outside"} {
		g.write(name+"/x", "x")
		check(t, os.Symlink(filepath.Join(target, ".git"), filepath.Join(g.dir, name, ".git")))
		g.refused(tool.Denied, "status", args{"repo": name}, "outside the workspace")
		g.write(name+"-file/.git", "gitdir: "+filepath.Join(target, ".git")+"\n")
		g.refused(tool.Denied, "status", args{"repo": name + "-file"}, "outside the workspace")
	}
	g.plain("clone", "-q", "sub", "shared")
	g.write("shared/.git/objects/info/alternates", "../../../../outside/.git/objects\n")
	g.refused(tool.Denied, "status", args{"repo": "shared"}, "borrows objects")
	g.write("odd/.git", "no pointer")
	g.refused(tool.Invalid, "status", args{"repo": "odd"}, "does not say where")
	none := g.grant
	g.grant.Root = nil
	g.refused(tool.Denied, "status", nil, "no workspace")
	g.grant = none

	g.plain("init", "-q", "..")
	g.refused(tool.Denied, "status", nil, "inside the repository", "start the session in")
}

func TestOtherWorkingTrees(t *testing.T) {
	g := newGround(t)
	g.plain("init", "-q", "-b", "main", "r")
	g.write("r/a", "a")
	g.plainIn(filepath.Join(g.dir, "r"), "add", ".")
	g.plainIn(filepath.Join(g.dir, "r"), "commit", "-q", "-m", "one")
	g.plainIn(filepath.Join(g.dir, "r"), "worktree", "add", "-q", "../w", "-b", "other")
	g.says(g.call("status", args{"repo": "w"}), "on other: clean")
	g.write("w/b", "b")
	g.call("add", args{"repo": "w", "all": true})
	g.says(g.call("commit", args{"repo": "w", "message": "two"}), "on other")
	g.refused(tool.Conflict, "checkout", args{"repo": "r", "to": "other"}, "another working tree")
	g.refused(tool.Conflict, "checkout", args{"repo": "w", "to": "main"}, "another working tree")
	g.says(g.call("log", args{"repo": "r", "rev": "other"}), "2 commits")
	g.says(g.call("checkout", args{"repo": "w", "to": "other"}), "already on other")
	if out := g.plainIn(filepath.Join(g.dir, "r"), "fsck"); strings.Contains(out, "error") {
		t.Error(out)
	}
}

func TestPackedReferences(t *testing.T) {
	g := newGround(t).repository()
	g.plain("branch", "one")
	g.plain("pack-refs", "--all")
	g.call("branches", args{"delete": "one"})
	if left := g.plain("for-each-ref"); strings.Contains(left, "one") || !strings.Contains(left, "refs/heads/main") {
		t.Errorf("left: %s", left)
	}
}

func TestOtherHash(t *testing.T) {
	g := newGround(t)
	g.plain("init", "-q", "-b", "main", "--object-format=sha256")
	g.write("a", "a\n")
	g.call("add", args{"all": true})
	g.says(g.call("commit", args{"message": "one"}), "committed")
	g.says(g.call("show", args{"path": "."}), "1 name")
	g.says(g.call("blame", args{"path": "a"}), "1 commit")
	g.plain("config", "extensions.refstorage", "reftable")
	g.refused(tool.Unavailable, "status", nil, "refstorage")
}

func TestFilteredFiles(t *testing.T) {
	g := newGround(t).repository()
	g.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	g.write("x.bin", "x")
	g.refused(tool.Denied, "add", args{"all": true}, "x.bin", "lfs")
	g.says(g.call("add", args{"paths": []string{".gitattributes"}}), "staged 1 file")
	r := g.call("checkout", args{"to": "side", "create": true})
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "filter") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

func TestBusy(t *testing.T) {
	g := newGround(t).repository()
	g.write("new", "x")
	g.write(".git/index.lock", "")
	g.refused(tool.Busy, "add", args{"all": true}, "another git process")
	g.says(g.call("status", nil), "1 untracked")
}

func TestNoGit(t *testing.T) {
	g := newGround(t).repository()
	t.Setenv("PATH", t.TempDir())
	g.refused(tool.Unavailable, "status", nil, "not installed", "apt-get install git")
}

func TestNetworkMustBeGranted(t *testing.T) {
	g := newGround(t).repository()
	for _, name := range []string{"clone", "fetch", "pull", "push"} {
		g.refused(tool.Denied, name, args{"url": "https://example.com/x.git"}, "constraints.network")
		if r := g.tools[name].Runtime; r.Risk != tool.High || r.SideEffect != tool.External || !r.Network {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestSettings(t *testing.T) {
	g := newGround(t)
	for name, c := range map[string]struct {
		config, constraints map[string]any
		says                string
	}{
		"a misspelt key":    {map[string]any{"timeout": 3}, nil, "timeout_seconds"},
		"a wrong value":     {nil, map[string]any{"network": "yes"}, "true or false"},
		"a bad pattern":     {nil, map[string]any{"protected_branches": []any{"["}}, "protected_branches"},
		"a host that isn't": {nil, map[string]any{"allowed_hosts": []any{"https://x"}}, "host"},
	} {
		if _, err := g.module.Read(c.config, c.constraints); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEffects: what changes files holds the workspace, and what changes a
// repository holds it alone.
func TestEffects(t *testing.T) {
	g := newGround(t)
	for name, one := range g.tools {
		holds := func(resource string, mode tool.Mode) bool {
			return slices.ContainsFunc(one.Runtime.Effects, func(e tool.Effect) bool { return strings.HasPrefix(e.Resource, resource) && e.Mode == mode })
		}
		reads := slices.Contains([]string{"status", "diff", "log", "show", "blame"}, name)
		files := slices.Contains([]string{"checkout", "stash", "restore", "pull", "clone"}, name)
		if holds("repo:", tool.X) == reads || holds("workspace", tool.U) != files {
			t.Errorf("%s: %+v", name, one.Runtime.Effects)
		}
	}
}
