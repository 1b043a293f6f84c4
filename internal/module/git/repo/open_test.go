package repo_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/module/git/gittest"
	"callgate/tool"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	w := gittest.New(t)
	w.Git("init", "-q", "-b", "main", "r")
	w.Write("r/deep/file", "x")
	inside := filepath.Join(w.Dir, "r")
	w.GitIn(inside, "add", ".")
	w.GitIn(inside, "commit", "-q", "-m", "one")
	w.GitIn(inside, "worktree", "add", "-q", "../linked", "-b", "other")
	check(t, os.Symlink("r", filepath.Join(w.Dir, "alias")))
	w.Git("init", "-q", "--bare", "bare")
	w.GitIn(w.Outside, "init", "-q")
	w.Write("pointer/.git", "gitdir: "+w.Outside+"/.git\n")
	w.Write("damaged/.git", "gitdir\n")
	w.Write("gone/.git", "gitdir: ../nowhere\n")
	w.Write("future/.git/HEAD", "ref: refs/heads/main\n")
	w.Write("future/.git/config", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tunheardof = true\n")
	w.Write("broken/.git/HEAD", "ref: refs/heads/main\n")
	w.Write("broken/.git/config", "[core\n")
	for _, c := range []struct {
		name, path string
		shown      string // of a repository that is opened
		branch     string
		kind       tool.Kind
		says       string
	}{
		{name: "a folder", path: "r", shown: "r", branch: "main"},
		{name: "an absolute path", path: inside, shown: "r", branch: "main"},
		{name: "another working tree", path: "linked", shown: "linked", branch: "other"},
		{name: "a link", path: "alias", shown: "r", branch: "main"},
		{name: "no repository", path: ".", kind: tool.NotFound, says: "there is one in"},
		{name: "a folder inside one", path: "r/deep", kind: tool.Invalid, says: `repo: "r"`},
		{name: "a file", path: "r/deep/file", kind: tool.Invalid, says: "not a folder"},
		{name: "nothing", path: "nowhere", kind: tool.NotFound, says: "nowhere"},
		{name: "above", path: "..", kind: tool.Denied, says: "outside the workspace"},
		{name: "a bare repository", path: "bare", kind: tool.NotFound, says: "bare repository"},
		{name: "a pointer outside", path: "pointer", kind: tool.Denied, says: "outside the workspace"},
		{name: "a damaged pointer", path: "damaged", kind: tool.Invalid, says: "does not say where"},
		{name: "a pointer to nothing", path: "gone", kind: tool.NotFound, says: "nowhere"},
		{name: "an unknown extension", path: "future", kind: tool.Unavailable, says: "extensions.unheardof"},
		{name: "damaged settings", path: "broken", kind: tool.Invalid, says: "broken/.git/config"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := open(w, c.path)
			if c.kind != "" {
				if tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v, want kind %s and %q", err, c.kind, c.says)
				}
				return
			}
			check(t, err)
			if r.Shown != c.shown || r.Root != filepath.Join(w.Dir, c.shown) || r.Branch() != c.branch {
				t.Errorf("opened %s at %s on %q", r.Shown, r.Root, r.Branch())
			}
		})
	}
	w.Grant.Root = nil
	if _, err := open(w, "r"); tool.KindOf(err) != tool.Denied {
		t.Errorf("without a workspace: %v", err)
	}
}

func TestBorrowedObjects(t *testing.T) {
	t.Parallel()
	w := gittest.New(t)
	w.Git("init", "-q", "r")
	const alternates = "r/.git/objects/info/alternates"
	for text, denied := range map[string]bool{
		"../../../../outside\n":               true,
		"# note\n\n" + w.Outside + "\n":       true,
		"../../../other/.git/objects\n":       false,
		"# ../../../../outside\n":             false,
		"../../../nowhere\n" + w.Outside:      true,
		"../../../other\n../../../../outside": true,
	} {
		w.Write(alternates, text)
		if _, err := open(w, "r"); (tool.KindOf(err) == tool.Denied) != denied {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestBranch(t *testing.T) {
	t.Parallel()
	w, r := newRepository(t)
	if got := r.Branch(); got != "main" {
		t.Errorf("on %q", got)
	}
	w.Git("checkout", "-q", "-b", "feature/x")
	if got := r.Branch(); got != "feature/x" {
		t.Errorf("on %q", got)
	}
	w.Git("checkout", "-q", "--detach")
	if got := r.Branch(); got != "" {
		t.Errorf("detached, but on %q", got)
	}
}

func TestOperation(t *testing.T) {
	t.Parallel()
	w, r := newRepository(t)
	if got := r.Operation(); got != "" {
		t.Errorf("nothing is under way, but %q", got)
	}
	w.Git("checkout", "-q", "-b", "side", "main~1")
	w.Git("merge", "-q", "--no-commit", "--no-ff", "main")
	if got := r.Operation(); got != "merge" {
		t.Errorf("a merge is under way, and not %q", got)
	}
	w.Git("merge", "--abort")
	for file, want := range map[string]string{
		"rebase-merge": "rebase", "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert", "BISECT_LOG": "bisect",
	} {
		w.Write(".git/"+file, "")
		if got := r.Operation(); got != want {
			t.Errorf("%s: %q", file, got)
		}
		check(t, os.Remove(filepath.Join(w.Dir, ".git", file)))
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	w, _ := newRepository(t)
	w.Git("config", "branch.main.remote", "first")
	w.Git("config", "--add", "branch.main.remote", "last")
	w.Git("config", "remote.origin.url", "https://example.com/x.git")
	w.Git("config", "remote.origin.pushurl", "https://example.com/y.git")
	w.Git("config", "remote.up-stream_2.url", "https://example.com/z.git")
	w.Write(".git/config", w.Read(".git/config")+"[remote \"--upload-pack=x\"]\n\turl = x\n[remote \"../x\"]\n\turl = x\n")
	r := reopened(w)
	for key, want := range map[string]string{
		"branch.main.remote": "last", "remote.origin.url": "https://example.com/x.git", "core.nowhere": "",
	} {
		if got := r.Setting(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if got := r.Remotes(); !slices.Equal(got, []string{"origin", "up-stream_2"}) {
		t.Errorf("remotes %q", got)
	}
	w.Git("config", "extensions.worktreeConfig", "true")
	w.Write(".git/config.worktree", "[branch \"main\"]\n\tremote = here\n")
	if got := reopened(w).Setting("branch.main.remote"); got != "here" {
		t.Errorf("with settings of the working tree: %q", got)
	}
}

func TestFiltered(t *testing.T) {
	t.Parallel()
	w, r := newRepository(t)
	if r.Filtered() {
		t.Error("filtered without attributes")
	}
	w.Write(".gitattributes", "*.bin filter=lfs -text\n")
	if !r.Filtered() {
		t.Error("not filtered")
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	w, r := newRepository(t)
	for path, want := range map[string]string{
		"a.txt": "a.txt", "./dir//b.txt": "dir/b.txt", ".": ".", "dir/": "dir", "dir/../a.txt": "a.txt",
		filepath.Join(w.Dir, "dir", "b.txt"): "dir/b.txt", `"new\nline"`: "new\nline",
		"*": "*", ":(glob)x": ":(glob)x", "-rf": "-rf",
	} {
		if got, err := r.Name(path); err != nil || string(got) != want {
			t.Errorf("%q is %q, %v; want %q", path, got, err, want)
		}
	}
	for path, kind := range map[string]tool.Kind{
		"": tool.Invalid, "a\x00b": tool.Invalid, `"`: tool.Invalid, `"\q"`: tool.Invalid,
		"..": tool.Denied, "dir/../../x": tool.Denied, "/etc/passwd": tool.Denied, w.Outside: tool.Denied,
	} {
		if got, err := r.Name(path); tool.KindOf(err) != kind {
			t.Errorf("%q is %q, %v; want kind %s", path, got, err, kind)
		}
	}
	args, err := r.Paths([]string{"a.txt", "*"})
	if err != nil || !slices.Equal(args, []string{"--", ":(literal)a.txt", ":(literal)*"}) {
		t.Errorf("paths %q, %v", args, err)
	}
	if _, err := r.Paths([]string{"a.txt", ".."}); tool.KindOf(err) != tool.Denied {
		t.Errorf("paths outside: %v", err)
	}
}
