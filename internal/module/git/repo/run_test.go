package repo_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/module/git/gittest"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

func TestGit(t *testing.T) {
	t.Parallel()
	w, r := newRepository(t)
	out, err := r.Git(t.Context(), repo.Command{Args: []string{"rev-parse", "HEAD"}})
	if err != nil || strings.TrimSpace(out.Text) != w.Git("rev-parse", "HEAD") {
		t.Errorf("%+v, %v", out, err)
	}
	out, err = r.Git(t.Context(), repo.Command{Args: []string{"hash-object", "--stdin"}, Stdin: "hello\n"})
	if err != nil || strings.TrimSpace(out.Text) != "ce013625030ba8dba906f756967f9e9ca394464a" {
		t.Errorf("with input: %+v, %v", out, err)
	}
	missing := []string{"rev-parse", "--verify", "--quiet", "nowhere"}
	if out, err = r.Git(t.Context(), repo.Command{Args: missing, Codes: []int{1}}); err != nil || out.Code != 1 {
		t.Errorf("an exit code that is expected: %+v, %v", out, err)
	}
	out, err = r.Git(t.Context(), repo.Command{Args: missing})
	if tool.KindOf(err) != tool.Failed || out == nil || out.Code != 1 {
		t.Errorf("an exit code that is not: %+v, %v", out, err)
	}
	out, err = r.Git(t.Context(), repo.Command{Args: []string{"log", "--format=%B"}, MaxOutput: 10})
	if err != nil || len(out.Text) != 10 || !out.Cut {
		t.Errorf("cut output: %+v, %v", out, err)
	}
}

// TestWriteScope: a command writes what its scope names, and nothing else.
func TestWriteScope(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		scope       repo.WriteScope
		refs, files bool // whether they can be written
	}{
		{"nothing", repo.WriteNone, false, false},
		{"references", repo.WriteRefs, true, false},
		{"files", repo.WriteFiles, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, r := newRepository(t)
			_, err := r.Git(t.Context(), repo.Command{Args: []string{"branch", "made"}, Scope: c.scope})
			if made := strings.Contains(w.Git("branch"), "made"); made != c.refs || (err == nil) != c.refs {
				t.Errorf("a branch was made: %v, %v", made, err)
			}
			w.Write("a.txt", "changed\n")
			_, err = r.Git(t.Context(), repo.Command{Args: []string{"checkout", "HEAD", "--", "a.txt"}, Scope: c.scope})
			if restored := w.Read("a.txt") != "changed\n"; restored != c.files || (err == nil) != c.files {
				t.Errorf("a file was written: %v, %v", restored, err)
			}
		})
	}
}

// TestSettingsThatGitSees: the repository's settings reach Git only if their
// values are data.
func TestSettingsThatGitSees(t *testing.T) {
	t.Parallel()
	w, _ := newRepository(t)
	for _, pair := range [][2]string{
		{"core.autocrlf", "input"}, {"branch.main.merge", "refs/heads/main"}, {"branch.main.remote", "origin"},
		{"remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"}, {"user.name", "Eve"},
		{"remote.origin.url", "ext::evil"}, {"branch.other.remote", "ext::evil"}, {"branch.main.merge", "evil"},
		{"alias.st", "!evil"}, {"core.attributesFile", "/evil"}, {"include.path", "evil"}, {"core.worktree", "/evil"},
		{"filter.evil.clean", "evil"}, {"http.proxy", "evil"}, {"core.fsmonitor", "evil"},
	} {
		w.Git("config", "--add", pair[0], pair[1])
	}
	out, err := reopened(w).Git(t.Context(), repo.Command{Args: []string{"config", "--list", "--local"}})
	check(t, err)
	for _, line := range []string{
		"core.autocrlf=input", "branch.main.merge=refs/heads/main", "branch.main.remote=origin", "user.name=Eve",
		"remote.origin.fetch=+refs/heads/*:refs/remotes/origin/*", "core.bare=false",
	} {
		if !slices.Contains(strings.Split(out.Text, "\n"), line) {
			t.Errorf("Git does not see %s:\n%s", line, out.Text)
		}
	}
	if strings.Contains(out.Text, "evil") {
		t.Errorf("Git sees what it must not:\n%s", out.Text)
	}
}

func TestConfigure(t *testing.T) {
	t.Parallel()
	w, r := newRepository(t)
	w.Write("evil", "[branch \"main\"]\n\tremote = evil\n")
	w.Git("config", "include.path", filepath.Join(w.Dir, "evil"))
	check(t, r.Configure(t.Context(), "branch.main.remote", "origin"))
	if got := w.Git("config", "--no-includes", "--file", ".git/config", "branch.main.remote"); got != "origin" {
		t.Errorf("the setting is %q", got)
	}
	if got := w.Read("evil"); !strings.Contains(got, "= evil") {
		t.Errorf("the included file was changed:\n%s", got)
	}
	if err := r.Configure(t.Context(), "no-dot", "x"); err == nil {
		t.Error("a setting without a section was written")
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	author := func(w *gittest.Workspace, r *repo.Repository) string {
		t.Helper()
		args := []string{"commit", "-q", "--allow-empty", "-m", "x"}
		_, err := r.Git(t.Context(), repo.Command{Args: args, Scope: repo.WriteRefs})
		check(t, err)
		return w.Git("log", "-1", "--format=%an <%ae> %cn <%ce>")
	}
	for _, c := range []struct {
		name, own   string // the repository's user.name
		given, want string
	}{
		{"the user's", "", "", "Ada"},
		{"the repository's", "Eve", "", "Eve"},
		{"the app's", "Eve", "Bot", "Bot"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, r := newRepository(t)
			if c.own != "" {
				w.Git("config", "user.name", c.own)
				r = reopened(w)
			}
			check(t, r.SetIdentity(c.given, ""))
			want := c.want + " <ada@example.com>"
			if got := author(w, r); got != want+" "+want {
				t.Errorf("committed by %s, want %s", got, want)
			}
		})
	}
}

// TestNoIdentity is not parallel: it needs a home without settings.
func TestNoIdentity(t *testing.T) {
	gittest.OwnHome(t)
	w, _ := newRepository(t)
	check(t, os.Remove(filepath.Join(w.Home, ".gitconfig")))
	err := reopened(w).SetIdentity("", "")
	if tool.KindOf(err) != tool.Failed || !strings.Contains(err.Error(), "user.name is not set") {
		t.Errorf("error %v", err)
	}
	if err := reopened(w).SetIdentity("Bot", "bot@example.com"); err != nil {
		t.Error(err)
	}
}

// TestSubmodules: a command that starts Git again is refused where a submodule
// is checked out; others are not.
func TestSubmodules(t *testing.T) {
	t.Parallel()
	w, r := newRepository(t)
	list := repo.Command{Args: []string{"stash", "list"}, Children: true}
	_, err := r.Git(t.Context(), list)
	check(t, err)
	w.Git("update-index", "--add", "--cacheinfo", "160000,"+w.Git("rev-parse", "HEAD")+",sub")
	_, err = r.Git(t.Context(), list)
	check(t, err) // it is not checked out
	w.Write("sub/.git", "gitdir: ../.git/modules/sub\n")
	_, err = r.Git(t.Context(), list)
	if tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), "submodule sub") {
		t.Errorf("error %v", err)
	}
	_, err = r.Git(t.Context(), repo.Command{Args: []string{"log", "-1"}})
	check(t, err)
}

// TestEnviron is not parallel: it changes the environment.
func TestEnviron(t *testing.T) {
	t.Setenv("CALLGATE_TEST_SECRET", "s3cret")
	t.Setenv("GIT_SSH_COMMAND", "s3cret")
	t.Setenv("HTTPS_PROXY", "s3cret")
	for _, network := range []*repo.Network{nil, {Settings: [][2]string{{"http.proxy", "http://127.0.0.1:9"}}}} {
		env := repo.Environ(network)
		if text := strings.Join(env, "\n"); strings.Contains(text, "s3cret") {
			t.Errorf("the kernel's environment is passed on:\n%s", text)
		}
		protocols := "GIT_ALLOW_PROTOCOL="
		if network != nil {
			protocols += "https:http"
		}
		if !slices.Contains(env, protocols) {
			t.Errorf("no %s in %q", protocols, env)
		}
	}
}

// TestViews: commands that read share a view, which goes when the runner is
// closed; a command that writes has one of its own.
func TestViews(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	w := gittest.New(t).WithRepository()
	runner := &repo.Runner{}
	views := func() int {
		found, err := filepath.Glob(filepath.Join(temp, "callgate-git-*", "*"))
		check(t, err)
		return len(found)
	}
	r, err := runner.Open(op, w.Grant, ".")
	check(t, err)
	for _, scope := range []repo.WriteScope{repo.WriteNone, repo.WriteNone, repo.WriteRefs} {
		_, err := r.Git(t.Context(), repo.Command{Args: []string{"log", "-1"}, Scope: scope})
		check(t, err)
	}
	if n := views(); n != 1 {
		t.Errorf("%d views", n)
	}
	check(t, runner.Close())
	if found, _ := filepath.Glob(filepath.Join(temp, "callgate-git-*")); len(found) != 0 {
		t.Errorf("left after Close: %q", found)
	}
}
