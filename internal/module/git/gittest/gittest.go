// Package gittest makes workspaces with real repositories for the tests of the
// git module and its packages.
//
// Starting Git is what these tests spend their time on. So a repository that
// many tests begin with is built once for each test program and copied, and
// no test depends on the environment of another: those that change it say so
// with [OwnHome], and all others run in parallel.
package gittest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"callgate/internal/sandbox"
	"callgate/tool"
)

// Main runs the tests with a home of their own, in which the user is Ada, and
// removes every temporary file at the end. TestMain calls it.
func Main(m *testing.M) (code int) {
	base, err := os.MkdirTemp("", "gittest-")
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err == nil {
		err = os.Setenv("TMPDIR", base)
	}
	home := filepath.Join(base, "home")
	if err == nil {
		err = makeHome(home, os.Setenv)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(base)
	return m.Run()
}

// makeHome makes a home with Ada's settings of Git, and the one that counts.
func makeHome(home string, setenv func(key, value string) error) error {
	err := os.Mkdir(home, 0o755)
	if err == nil {
		settings := "[user]\n\tname = Ada\n\temail = ada@example.com\n"
		err = os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(settings), 0o644)
	}
	if err == nil {
		err = setenv("HOME", home)
	}
	if err == nil {
		err = setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	}
	return err
}

// OwnHome gives the test a home that it may change. Such a test cannot be
// parallel. It is called before New.
func OwnHome(t *testing.T) {
	t.Helper()
	home := filepath.Join(realTempDir(t), "home")
	Check(t, makeHome(home, func(key, value string) error {
		t.Setenv(key, value)
		return nil
	}))
}

// Workspace is a folder for repositories, and a folder beside it that no tool
// may reach.
type Workspace struct {
	T       testing.TB
	Dir     string
	Outside string
	Home    string
	Grant   tool.Grant
}

// New makes an empty workspace. It skips the test where Git cannot be run, or
// cannot be confined.
func New(t testing.TB) *Workspace {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed: apt-get install git")
	}
	if runtime.GOOS != "linux" || sandbox.Probe().Level == sandbox.Process {
		t.Skip("this machine cannot confine a command")
	}
	base := realTempDir(t)
	w := &Workspace{
		T: t, Dir: filepath.Join(base, "work"), Outside: filepath.Join(base, "outside"), Home: os.Getenv("HOME"),
	}
	for _, dir := range []string{w.Dir, w.Outside} {
		Check(t, os.Mkdir(dir, 0o755))
	}
	root, err := os.OpenRoot(w.Dir)
	Check(t, err)
	t.Cleanup(func() { root.Close() })
	w.Grant = tool.Grant{Workspace: w.Dir, Root: root}
	return w
}

func realTempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	Check(t, err)
	return dir
}

// twoCommits is the repository that WithRepository copies.
var twoCommits = sync.OnceValues(func() (string, error) {
	return Template(
		Step{Git: []string{"init", "-q", "-b", "main"}},
		Step{File: "a.txt", Text: "one\ntwo\nthree\n"},
		Step{File: "dir/b.txt", Text: "b\n"},
		Step{Git: []string{"add", "."}},
		Step{Git: []string{"commit", "-q", "-m", "first"}},
		Step{File: "a.txt", Text: "one\n2\nthree\n"},
		Step{Git: []string{"commit", "-q", "-a", "-m", "second\n\nwith a reason"}},
	)
})

// WithRepository makes the workspace a repository with two commits on main, of
// the files a.txt and dir/b.txt.
func (w *Workspace) WithRepository() *Workspace {
	w.T.Helper()
	template, err := twoCommits()
	Check(w.T, err)
	Check(w.T, os.CopyFS(w.Dir, os.DirFS(template)))
	return w
}

// Step is one step in the making of a template: a command of Git's, or a file.
type Step struct {
	Git        []string
	File, Text string
}

// Template makes a repository that tests copy with os.CopyFS, and returns its
// folder. Main removes it.
func Template(steps ...Step) (string, error) {
	dir, err := os.MkdirTemp("", "template-")
	if err != nil {
		return "", err
	}
	for _, s := range steps {
		if s.Git != nil {
			_, err = runGit(dir, s.Git...)
		} else {
			err = writeFile(filepath.Join(dir, s.File), s.Text)
		}
		if err != nil {
			return "", err
		}
	}
	return dir, nil
}

// Write writes a file of the workspace, and makes its folders.
func (w *Workspace) Write(name, text string) {
	w.T.Helper()
	Check(w.T, writeFile(filepath.Join(w.Dir, name), text))
}

func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// Read reads a file of the workspace.
func (w *Workspace) Read(name string) string {
	w.T.Helper()
	data, err := os.ReadFile(filepath.Join(w.Dir, name))
	Check(w.T, err)
	return string(data)
}

// Git runs git in the workspace as a user would, to make a repository or to
// look at one, and returns what it prints.
func (w *Workspace) Git(args ...string) string {
	w.T.Helper()
	return w.GitIn(w.Dir, args...)
}

// GitIn is Git in another folder.
func (w *Workspace) GitIn(dir string, args ...string) string {
	w.T.Helper()
	out, err := runGit(dir, args...)
	Check(w.T, err)
	return out
}

func runGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %q: %w\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// Check ends the test on an error.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
