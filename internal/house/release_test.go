package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is a git repository in a temporary folder.
type repository struct {
	t    *testing.T
	root string
}

func newRepository(t *testing.T) repository {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	r := repository{t, t.TempDir()}
	r.git("init", "--quiet")
	return r
}

func (r repository) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir = r.root
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %s: %s", args[0], out)
	}
}

// commit writes files, given as names and texts, and commits them.
func (r repository) commit(files ...string) {
	r.t.Helper()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(r.root, files[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[i+1]), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", ".")
	r.git("commit", "--quiet", "--message", "a commit")
}

func TestLastRelease(t *testing.T) {
	first := []string{"go.mod", "module m\n", "CHANGELOG.md", "# Changelog\n\n## 0.1.0\n", "a/a.go", "package a\n"}
	second := []string{"CHANGELOG.md", "# Changelog\n\n## 0.2.0\n\n## 0.1.0\n", "a/a.go", "package a\n\n"}
	one, two := size{shipped: 1, packages: 1}, size{shipped: 2, packages: 1}
	for name, c := range map[string]struct {
		make func(repository)
		size size
		want string // in the name of the release, or in the error if size is zero
	}{
		"a tag": {func(r repository) {
			r.commit(first...)
			r.git("tag", "v0.9.0")
			r.commit(second...)
		}, one, "v0.9.0"},
		"the newest of the tags": {func(r repository) {
			r.commit(first...)
			r.git("tag", "v0.9.0")
			r.commit(second...)
			r.git("tag", "v0.10.0")
			r.commit("b/b.go", "package b\n")
		}, two, "v0.10.0"},
		"a tag in another form": {func(r repository) {
			r.commit(first...)
			r.commit(second...)
			r.git("tag", "v0.2.0-rc1")
			r.git("tag", "nightly")
		}, one, `before "## 0.2.0"`},
		"a tag of another branch": {func(r repository) {
			r.commit(first...)
			r.commit(second...)
			r.git("checkout", "--quiet", "-b", "other")
			r.commit("b/b.go", "package b\n")
			r.git("tag", "v0.3.0")
			r.git("checkout", "--quiet", "-")
		}, one, `"## 0.2.0"`},
		"a branch that has the name of the tag": {func(r repository) {
			r.commit(first...)
			r.git("tag", "v0.1.0")
			r.commit(second...)
			r.git("branch", "v0.1.0")
		}, one, "v0.1.0"},
		"a heading": {func(r repository) {
			r.commit(first...)
			r.commit(second...)
			r.commit("CHANGELOG.md", "# Changelog\n\n## 0.2.0 (today)\n\n## 0.1.0\n", "b/b.go", "package b\n")
		}, one, `"## 0.2.0"`},
		"a heading that is quoted later": {func(r repository) {
			r.commit(first...)
			r.commit(second...)
			r.commit("CHANGELOG.md", "# Changelog\n\n## 0.2.0\n\nSee \"## 0.2.0\".\n", "b/b.go", "package b\n")
		}, one, `"## 0.2.0"`},
		"a heading in the first commit": {func(r repository) {
			r.commit(first...)
		}, size{}, `the git history begins after "## 0.1.0" was added`},
		"a heading that is not committed": {func(r repository) {
			r.commit(first...)
			if err := os.WriteFile(filepath.Join(r.root, "CHANGELOG.md"), []byte("## 0.2.0\n"), 0o600); err != nil {
				r.t.Fatal(err)
			}
		}, size{}, `no commit added "## 0.2.0"`},
		"no heading": {func(r repository) {
			r.commit("CHANGELOG.md", "# Changelog\n")
		}, size{}, "no tag vX.Y.Z, and no heading"},
		"no commit": {func(repository) {}, size{}, "git tag"},
		"no repository": {func(r repository) {
			if err := os.RemoveAll(filepath.Join(r.root, ".git")); err != nil {
				r.t.Fatal(err)
			}
		}, size{}, "not a git repository"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			c.make(r)
			got, err := lastRelease(r.root)
			text := got.name
			if err != nil {
				text = err.Error()
			}
			if unknown := c.size == (size{}); (err != nil) != unknown || got.size != c.size || !strings.Contains(text, c.want) {
				t.Errorf("got %v of %q, error %v; want %v of %q", got.size, got.name, err, c.size, c.want)
			}
			if err == nil && (len(got.commit) < 20 || !strings.Contains(got.commit, " of 20")) {
				t.Errorf("got commit %q, want its hash and date", got.commit)
			}
		})
	}
}

func TestLastReleaseOfAPartOfARepository(t *testing.T) {
	r := newRepository(t)
	r.commit("a/go.mod", "module m\n", "a/a.go", "package a\n")
	r.git("tag", "v1.0.0")
	if got, err := lastRelease(filepath.Join(r.root, "a")); err == nil || !strings.Contains(err.Error(), "not the root") {
		t.Errorf("got %v, %v, want an error", got, err)
	}
}

func TestLastReleaseInAShallowClone(t *testing.T) {
	r := newRepository(t)
	r.commit("CHANGELOG.md", "## 0.1.0\n")
	r.commit("CHANGELOG.md", "## 0.2.0\n\n## 0.1.0\n")
	r.commit("a/a.go", "package a\n")
	clone := t.TempDir()
	r.git("clone", "--quiet", "--depth=1", "file://"+filepath.ToSlash(r.root), clone)
	if got, err := lastRelease(clone); err == nil || !strings.Contains(err.Error(), "the git history begins after") {
		t.Errorf("got %v, %v, want an error", got, err)
	}
}

// A release is measured by the rules of Read.
func TestSizeOfARelease(t *testing.T) {
	r := newRepository(t)
	r.commit("go.mod", "module m\n", "a.go", "package m\n", "a_test.go", "package m\n\n", "a.txt", "text\n",
		"b/b.go", "package b\n", "b/testdata/a.go", "package a\n", ".c/c.go", "package c\n",
		"d/go.mod", "module d\n", "d/d.go", "package d\n", "d/e/e.go", "package e\n", "f/node_modules/f.go", "package f\n")
	r.git("tag", "v1.0.0")
	got, err := lastRelease(r.root)
	if err != nil {
		t.Fatal(err)
	}
	read, err := Read(r.root, "m")
	if err != nil {
		t.Fatal(err)
	}
	sum := sizes{}
	for _, f := range read.Files {
		sum.add(f.Path, f.Text)
	}
	if want := (size{shipped: 2, tests: 2, packages: 2}); got.size != want || sum.total() != want {
		t.Errorf("got %v, and %v from Read, want %v", got.size, sum.total(), want)
	}
}
