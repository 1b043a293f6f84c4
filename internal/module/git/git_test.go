package git_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/git/gittest"
	"callgate/tool"
)

func TestTools(t *testing.T) {
	t.Parallel()
	g := newTools(t)
	for _, one := range g.ByName {
		if err := one.Validate(); err != nil {
			t.Error(err)
		}
		input := gittest.Schema(t, one.Spec.Input)
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
	t.Parallel()
	g := onRepository(t)
	g.Says(g.Call("status", nil), "on main: clean")
	g.Write("a.txt", "changed\n")
	g.Write("new\nline", "x")
	g.Write("bad\xff", "x")
	g.Git("mv", "dir/b.txt", "c.txt")
	r := g.Call("status", nil)
	g.Says(r, "1 staged, 1 changed, 2 untracked", "R  dir/b.txt -> c.txt", " M a.txt", `?? "bad\377"`, `?? "new\nline"`)
	type change struct{ Path, Change, From string }
	got := gittest.Data[struct {
		Staged, Unstaged []change
		Untracked        []string
		Clean            bool
	}](t, r)
	if diff := cmp.Diff([]change{{"c.txt", "renamed", "dir/b.txt"}}, got.Staged); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]change{{"a.txt", "modified", ""}}, got.Unstaged); diff != "" || got.Clean {
		t.Error(diff, got.Clean)
	}
	if diff := cmp.Diff([]string{`"bad\377"`, `"new\nline"`}, got.Untracked); diff != "" {
		t.Error(diff)
	}
	g.Says(g.Call("add", args{"paths": got.Untracked}), "staged 2 files")
	g.Says(g.Call("status", args{"paths": []string{"a.txt"}}), ": 1 changed")
	g.Says(g.Call("status", args{"limit": 1}), "3 staged, 1 changed")
}

func TestBranches(t *testing.T) {
	t.Parallel()
	g := onRepository(t)
	g.Says(g.Call("branches", nil), "1 branch; on main", "* main", "second")
	g.Says(g.Call("branches", args{"create": "side/x", "start": "HEAD~1"}), "created side/x")
	g.Refused(tool.Conflict, "branches", args{"create": "side/x"}, "already exists")
	g.Refused(tool.Invalid, "branches", args{"create": "-d"}, "not a name")
	g.Refused(tool.NotFound, "branches", args{"create": "y", "start": "nowhere"}, "nowhere")
	g.Says(g.Call("branches", nil), "2 branches; on main", "  side/x")
	g.Says(g.Call("branches", args{"rename": "side/x", "to": "aside"}), "renamed side/x to aside")
	g.Says(g.Call("branches", args{"delete": "aside"}), "deleted aside")
	g.Refused(tool.Conflict, "branches", args{"delete": "main"}, "checked out")
	g.Refused(tool.NotFound, "branches", args{"delete": "aside"}, "no branch")

	g.Git("checkout", "-q", "-b", "lonely")
	g.Write("l", "l")
	g.Git("add", "l")
	g.Git("commit", "-q", "-m", "lonely")
	g.Git("checkout", "-q", "main")
	g.Refused(tool.Conflict, "branches", args{"delete": "lonely"}, "not fully merged")
	g.Refused(tool.Denied, "branches", args{"delete": "lonely", "force": true}, "allow_force")
	g.Configure(nil, map[string]any{"allow_force": true, "protected_branches": []any{"main", "release/*"}})
	g.Says(g.Call("branches", args{"delete": "lonely", "force": true}), "deleted lonely")
	g.Git("branch", "release/1")
	g.Refused(tool.Denied, "branches", args{"delete": "release/1"}, "protected")
	g.Refused(tool.Denied, "branches", args{"rename": "main", "to": "x"}, "protected")

	g.Configure(nil, nil)
	g.Git("config", "branch.main.remote", "origin")
	g.Git("config", "branch.main.merge", "refs/heads/main")
	g.Says(g.Call("branches", args{"rename": "main", "to": "trunk"}), "renamed main to trunk")
	if head := g.Git("symbolic-ref", "HEAD"); head != "refs/heads/trunk" {
		t.Errorf("HEAD is %s", head)
	}
	if up := g.Git("config", "branch.trunk.merge"); up != "refs/heads/main" {
		t.Errorf("the upstream is %s", up)
	}
	g.Says(g.Call("status", nil), "on trunk")
}

func TestAddAndCommit(t *testing.T) {
	t.Parallel()
	g := onRepository(t)
	g.Refused(tool.Failed, "commit", args{"message": "x"}, "nothing to commit", "new files")
	g.Write("a.txt", "changed\n")
	g.Write(".gitignore", "*.log\nout/\n")
	g.Write("x.log", "log")
	g.Write("out/y", "y")
	g.Write("-rf", "dash")
	check(t, os.Remove(filepath.Join(g.Dir, "dir/b.txt")))
	g.Refused(tool.Failed, "commit", args{"message": "x"}, "nothing is staged", "2 files changed")
	g.Refused(tool.Invalid, "add", nil, "paths, or all")
	g.Refused(tool.Invalid, "add", args{"paths": []string{"x.log"}}, "ignored")
	g.Refused(tool.Invalid, "add", args{"paths": []string{"out/y"}}, "ignored")
	g.Refused(tool.NotFound, "add", args{"paths": []string{"*.txt"}}, "literal")
	g.Says(g.Call("add", args{"paths": []string{"a.txt", "dir", "-rf"}}), "staged 3 files")
	g.Says(g.Call("add", args{"paths": []string{"a.txt"}}), "nothing to stage")
	r := g.Call("commit", args{"message": "subject\n\n# not a comment\n"})
	g.Says(r, "on main: subject; 3 files changed", "dir/b.txt: +0 -1")
	if body := g.Git("log", "-1", "--format=%an <%ae> %b"); body != "Ada <ada@example.com> # not a comment" {
		t.Errorf("committed %q", body)
	}
	g.Says(g.Call("add", args{"all": true}), "staged 1 file")
	g.Write("a.txt", "again\n")
	g.Says(g.Call("commit", args{"message": "all", "all": true}), "2 files changed")
	g.Write("a.txt", "more\n")
	before := g.Git("rev-parse", "HEAD~1")
	g.Says(g.Call("commit", args{"message": "amended", "all": true, "amend": true}), "amended")
	if g.Git("rev-parse", "HEAD~1") != before {
		t.Error("amend made a new commit")
	}
	g.Git("update-ref", "refs/remotes/origin/main", "HEAD")
	g.Refused(tool.Denied, "commit", args{"message": "x", "amend": true}, "origin/main")
	g.Configure(map[string]any{"author_name": "Bot", "author_email": "bot@x"},
		map[string]any{"protected_branches": []any{"main"}})
	g.Refused(tool.Denied, "commit", args{"message": "x"}, "protected")
	g.Git("checkout", "-q", "-b", "work")
	g.Write("a.txt", "by a bot\n")
	g.Call("commit", args{"message": "x", "all": true})
	if who := g.Git("log", "-1", "--format=%an %ce"); who != "Bot bot@x" {
		t.Errorf("committed by %q", who)
	}
}

func TestNobody(t *testing.T) {
	gittest.OwnHome(t)
	g := onRepository(t)
	check(t, os.Remove(filepath.Join(g.Home, ".gitconfig")))
	g.Write("a.txt", "x")
	g.Refused(tool.Failed, "commit", args{"message": "x", "all": true}, "user.name", "git config --global")
	g.Git("config", "user.name", "Here")
	g.Git("config", "user.email", "here@x")
	g.Call("commit", args{"message": "x", "all": true})
	writeHome(g, ".gitconfig", "[includeIf \"gitdir:"+g.Dir+"/\"]\n\tpath = work.inc\n")
	writeHome(g, "work.inc", "[user]\n\tname = Work\n\temail = work@x\n")
	g.Git("config", "--unset", "user.name")
	g.Git("config", "--unset", "user.email")
	g.Write("a.txt", "y")
	g.Call("commit", args{"message": "x", "all": true})
	if who := g.Git("log", "-2", "--format=%an"); who != "Work\nHere" {
		t.Errorf("committed by %q", who)
	}
}

func TestUsersIgnores(t *testing.T) {
	gittest.OwnHome(t)
	g := onRepository(t)
	writeHome(g, ".config/git/ignore", ".env\n")
	g.Write(".env", "SECRET=1")
	g.Says(g.Call("add", args{"all": true}), "nothing to stage")
}

func TestFirstCommit(t *testing.T) {
	t.Parallel()
	g := newTools(t)
	g.Git("init", "-q", "-b", "main")
	g.Refused(tool.Invalid, "commit", args{"message": "x", "amend": true}, "no commit to amend")
	g.Write("a", "a")
	g.Call("add", args{"all": true})
	g.Says(g.Call("commit", args{"message": "begin"}), "committed")
	g.Says(g.Call("show", nil), "begin: 1 file changed")
	if log := g.Git("reflog"); !strings.Contains(log, "commit (initial)") {
		t.Errorf("the log of HEAD is %q", log)
	}
}

func TestCheckout(t *testing.T) {
	t.Parallel()
	g := onRepository(t)
	g.Says(g.Call("checkout", args{"to": "side", "create": true, "start": "HEAD~1"}), "created side")
	if got := g.Read("a.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("a.txt is %q", got)
	}
	g.Says(g.Call("checkout", args{"to": "main"}), "switched to main")
	g.Says(g.Call("checkout", args{"to": "main"}), "already on main")
	g.Write("a.txt", "mine\n")
	g.Refused(tool.Conflict, "checkout", args{"to": "side"}, "a.txt", "stash")
	g.Refused(tool.Denied, "checkout", args{"to": "side", "force": true}, "allow_force")
	g.Refused(tool.Conflict, "checkout", args{"to": "side", "paths": []string{"a.txt"}}, "a.txt")
	g.Configure(nil, map[string]any{"allow_force": true})
	g.Says(g.Call("checkout", args{"to": "side", "force": true}), "switched to side")
	g.Configure(nil, nil)
	g.Says(g.Call("checkout", args{"to": "main", "paths": []string{"a.txt"}}), "took a.txt from main")
	g.Says(g.Call("status", nil), "on side: 1 staged")
	g.Git("reset", "-q", "--hard")
	g.Says(g.Call("checkout", args{"to": "main~1"}), "on no branch")
	g.Refused(tool.NotFound, "checkout", args{"to": "nowhere"}, "nowhere")
	g.Refused(tool.Invalid, "checkout", args{"to": "--orphan"}, "dash")
	g.Refused(tool.Conflict, "checkout", args{"to": "main", "create": true}, "already exists")

	g.Git("update-ref", "refs/remotes/origin/far", "main")
	g.Says(g.Call("checkout", args{"to": "far"}), "follows origin/far")
	if up := g.Git("config", "branch.far.merge"); up != "refs/heads/far" {
		t.Errorf("the upstream is %q", up)
	}
	g.Git("checkout", "-q", "main")
	g.Write(".git/info/exclude", "kept\n")
	g.Git("checkout", "-q", "-b", "has")
	g.Write("kept", "theirs")
	g.Git("add", "-f", "kept")
	g.Git("commit", "-q", "-m", "kept")
	g.Git("checkout", "-q", "main")
	g.Write("kept", "mine, and ignored")
	g.Refused(tool.Conflict, "checkout", args{"to": "has"}, "kept")
}

func TestRestore(t *testing.T) {
	t.Parallel()
	g := onRepository(t)
	g.Write("a.txt", "staged\n")
	g.Git("add", "a.txt")
	g.Write("a.txt", "changed\n")
	g.Write("dir/b.txt", "changed\n")
	g.Says(g.Call("restore", args{"paths": []string{"dir"}}), "discarded the changes of 1 file")
	g.Says(g.Call("restore", args{"paths": []string{"a.txt"}}), "discarded the changes of 1 file")
	if got := g.Read("a.txt"); got != "staged\n" {
		t.Errorf("a.txt is %q", got)
	}
	g.Says(g.Call("restore", args{"paths": []string{"a.txt"}, "staged": true}), "took 1 file out")
	if got := g.Read("a.txt"); got != "staged\n" {
		t.Errorf("a.txt is %q", got)
	}
	g.Call("restore", args{"paths": []string{"."}, "source": "HEAD~1", "staged": true, "worktree": true})
	if got := g.Read("a.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("a.txt is %q", got)
	}
	g.Refused(tool.NotFound, "restore", args{"paths": []string{"nowhere"}}, "did not match")
	g.Refused(tool.NotFound, "restore", args{"paths": []string{"."}, "source": "nowhere"}, "nowhere")
	g.Refused(tool.Invalid, "restore", args{"paths": []string{"."}, "source": "--x"}, "dash")
}

func TestStash(t *testing.T) {
	t.Parallel()
	g := onRepository(t)
	g.Says(g.Call("stash", args{"action": "list"}), "nothing is put aside")
	g.Refused(tool.Failed, "stash", nil, "no changes")
	g.Refused(tool.NotFound, "stash", args{"action": "pop"}, "no stash 0")
	g.Write("a.txt", "changed\n")
	g.Write("new.txt", "new\n")
	g.Says(g.Call("stash", args{"message": "half done", "include_untracked": true}), "2 files as stash 0")
	g.Says(g.Call("status", nil), "clean")
	g.Says(g.Call("stash", args{"action": "list"}), "1 stash", "half done")
	g.Says(g.Call("stash", args{"action": "show"}), "half done", "+changed")
	g.Says(g.Call("stash", args{"action": "pop"}), "brought back and removed")
	if got := g.Read("a.txt") + g.Read("new.txt"); got != "changed\nnew\n" {
		t.Errorf("brought back %q", got)
	}
	g.Write("dir/b.txt", "changed\n")
	g.Says(g.Call("stash", args{"paths": []string{"dir/b.txt"}}), "1 file as stash 0")
	g.Says(g.Call("status", nil), "1 changed, 1 untracked")
	g.Says(g.Call("stash", args{"action": "apply"}), "kept")
	g.Git("checkout", "-q", ".")
	g.Write("dir/b.txt", "other\n")
	g.Git("commit", "-q", "-a", "-m", "other")
	g.Refused(tool.Conflict, "stash", args{"action": "pop"}, "dir/b.txt", "kept")
	g.Refused(tool.Conflict, "commit", args{"message": "x", "all": true}, "in conflict", "dir/b.txt")
	g.Refused(tool.Conflict, "stash", nil, "in conflict")
	g.Says(g.Call("status", nil), "1 in conflict")
	g.Call("add", args{"paths": []string{"dir/b.txt"}})
	g.Refused(tool.Denied, "stash", args{"action": "drop"}, "allow_force")
	g.Configure(nil, map[string]any{"allow_force": true})
	g.Says(g.Call("stash", args{"action": "drop"}), "dropped stash 0")
	g.Says(g.Call("stash", args{"action": "list"}), "nothing is put aside")
}

func TestWhichRepository(t *testing.T) {
	t.Parallel()
	g := newTools(t)
	g.Refused(tool.NotFound, "status", nil, "not the folder of a Git repository")
	g.Git("init", "-q", "-b", "main", "sub")
	g.Refused(tool.NotFound, "status", nil, "there is one in sub")
	g.Says(g.Call("status", args{"repo": "sub"}), "on main")
	g.Says(g.Call("status", args{"repo": filepath.Join(g.Dir, "sub")}), "on main")
	g.Write("sub/deep/x", "x")
	g.Refused(tool.Invalid, "status", args{"repo": "sub/deep"}, `repo: "sub"`)
	g.Refused(tool.NotFound, "status", args{"repo": "nowhere"}, "nowhere")
	g.Refused(tool.Denied, "status", args{"repo": ".."}, "outside")
	g.Refused(tool.Invalid, "status", args{"repo": "sub/deep/x"}, "not a folder")
	g.Git("init", "-q", "--bare", "bare")
	g.Refused(tool.NotFound, "status", args{"repo": "bare"}, "bare repository")
	g.GitIn(g.Outside, "init", "-q", "-b", "main")
	for name, target := range map[string]string{"linked": g.Outside, "relative": "../../outside"} {
		g.Write(name+"/x", "x")
		check(t, os.Symlink(filepath.Join(target, ".git"), filepath.Join(g.Dir, name, ".git")))
		g.Refused(tool.Denied, "status", args{"repo": name}, "outside the workspace")
		g.Write(name+"-file/.git", "gitdir: "+filepath.Join(target, ".git")+"\n")
		g.Refused(tool.Denied, "status", args{"repo": name + "-file"}, "outside the workspace")
	}
	g.Git("clone", "-q", "sub", "shared")
	g.Write("shared/.git/objects/info/alternates", "../../../../outside/.git/objects\n")
	g.Refused(tool.Denied, "status", args{"repo": "shared"}, "borrows objects")
	g.Write("odd/.git", "no pointer")
	g.Refused(tool.Invalid, "status", args{"repo": "odd"}, "does not say where")
	none := g.Grant
	g.Grant.Root = nil
	g.Refused(tool.Denied, "status", nil, "no workspace")
	g.Grant = none

	g.Git("init", "-q", "..")
	g.Refused(tool.Denied, "status", nil, "inside the repository", "start the session in")
}

func TestOtherWorkingTrees(t *testing.T) {
	t.Parallel()
	g := newTools(t)
	g.Git("init", "-q", "-b", "main", "r")
	g.Write("r/a", "a")
	g.GitIn(filepath.Join(g.Dir, "r"), "add", ".")
	g.GitIn(filepath.Join(g.Dir, "r"), "commit", "-q", "-m", "one")
	g.GitIn(filepath.Join(g.Dir, "r"), "worktree", "add", "-q", "../w", "-b", "other")
	g.Says(g.Call("status", args{"repo": "w"}), "on other: clean")
	g.Write("w/b", "b")
	g.Call("add", args{"repo": "w", "all": true})
	g.Says(g.Call("commit", args{"repo": "w", "message": "two"}), "on other")
	g.Refused(tool.Conflict, "checkout", args{"repo": "r", "to": "other"}, "another working tree")
	g.Refused(tool.Conflict, "checkout", args{"repo": "w", "to": "main"}, "another working tree")
	g.Says(g.Call("log", args{"repo": "r", "rev": "other"}), "2 commits")
	g.Says(g.Call("checkout", args{"repo": "w", "to": "other"}), "already on other")
	if out := g.GitIn(filepath.Join(g.Dir, "r"), "fsck"); strings.Contains(out, "error") {
		t.Error(out)
	}
}

func TestPackedReferences(t *testing.T) {
	t.Parallel()
	g := onRepository(t)
	g.Git("branch", "one")
	g.Git("pack-refs", "--all")
	g.Call("branches", args{"delete": "one"})
	if left := g.Git("for-each-ref"); strings.Contains(left, "one") || !strings.Contains(left, "refs/heads/main") {
		t.Errorf("left: %s", left)
	}
}

func TestOtherHash(t *testing.T) {
	t.Parallel()
	g := newTools(t)
	g.Git("init", "-q", "-b", "main", "--object-format=sha256")
	g.Write("a", "a\n")
	g.Call("add", args{"all": true})
	g.Says(g.Call("commit", args{"message": "one"}), "committed")
	g.Says(g.Call("show", args{"path": "."}), "1 name")
	g.Says(g.Call("blame", args{"path": "a"}), "1 commit")
	g.Git("config", "extensions.refstorage", "reftable")
	g.Refused(tool.Unavailable, "status", nil, "refstorage")
}

func TestFilteredFiles(t *testing.T) {
	t.Parallel()
	g := onRepository(t)
	g.Write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	g.Write("x.bin", "x")
	g.Refused(tool.Denied, "add", args{"all": true}, "x.bin", "lfs")
	g.Says(g.Call("add", args{"paths": []string{".gitattributes"}}), "staged 1 file")
	r := g.Call("checkout", args{"to": "side", "create": true})
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "filter") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	g := onRepository(t)
	g.Write("new", "x")
	g.Write(".git/index.lock", "")
	g.Refused(tool.Busy, "add", args{"all": true}, "another git process")
	g.Says(g.Call("status", nil), "1 untracked")
}

func TestNoGit(t *testing.T) {
	g := onRepository(t)
	t.Setenv("PATH", t.TempDir())
	g.Refused(tool.Unavailable, "status", nil, "not installed", "apt-get install git")
}

func TestSettings(t *testing.T) {
	t.Parallel()
	g := newTools(t)
	for name, c := range map[string]struct {
		config, constraints map[string]any
		says                string
	}{
		"a misspelt key":    {map[string]any{"timeout": 3}, nil, "timeout_seconds"},
		"a wrong value":     {nil, map[string]any{"network": "yes"}, "true or false"},
		"a bad pattern":     {nil, map[string]any{"protected_branches": []any{"["}}, "protected_branches"},
		"a host that isn't": {nil, map[string]any{"allowed_hosts": []any{"https://x"}}, "host"},
	} {
		if _, err := g.Module.Read(c.config, c.constraints); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEffects: a tool that changes files locks the workspace, and a tool that
// changes a repository locks it alone.
func TestEffects(t *testing.T) {
	t.Parallel()
	g := newTools(t)
	for name, one := range g.ByName {
		holds := func(resource string, mode tool.Mode) bool {
			return slices.ContainsFunc(one.Runtime.Effects, func(e tool.Effect) bool {
				return strings.HasPrefix(e.Resource, resource) && e.Mode == mode
			})
		}
		reads := slices.Contains([]string{"status", "diff", "log", "show", "blame"}, name)
		files := slices.Contains([]string{"checkout", "stash", "restore", "pull", "clone"}, name)
		if holds("repo:", tool.X) == reads || holds("workspace", tool.U) != files {
			t.Errorf("%s: %+v", name, one.Runtime.Effects)
		}
	}
}
