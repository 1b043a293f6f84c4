package repo_test

import (
	"os"
	"testing"

	"callgate/internal/module/git/gittest"
	"callgate/internal/module/git/repo"
)

func TestMain(m *testing.M) { os.Exit(gittest.Main(m)) }

const op = "git.test"

var check = gittest.Check

// open opens the repository in a folder of the workspace.
func open(w *gittest.Workspace, folder string) (*repo.Repository, error) {
	runner := &repo.Runner{}
	w.T.Cleanup(func() { check(w.T, runner.Close()) })
	return runner.Open(op, w.Grant, folder)
}

// newRepository opens a repository with two commits.
func newRepository(t *testing.T) (*gittest.Workspace, *repo.Repository) {
	t.Helper()
	w := gittest.New(t).WithRepository()
	return w, reopened(w)
}

// reopened opens the workspace's repository as the next call does: what it says
// of itself is read anew.
func reopened(w *gittest.Workspace) *repo.Repository {
	w.T.Helper()
	r, err := open(w, ".")
	check(w.T, err)
	return r
}
