package git_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/module/git"
	"callgate/internal/module/git/gittest"
	"callgate/tool"
)

func TestMain(m *testing.M) { os.Exit(gittest.Main(m)) }

type args = gittest.Args

// newTools opens the module on an empty workspace.
func newTools(t testing.TB) *gittest.Tools {
	t.Helper()
	return gittest.New(t).Open(git.Module(), execute)
}

// onRepository opens the module on a workspace that is a repository with two
// commits.
func onRepository(t testing.TB) *gittest.Tools {
	t.Helper()
	return gittest.New(t).WithRepository().Open(git.Module(), execute)
}

var check = gittest.Check

// writeHome writes a file of the user's home.
func writeHome(g *gittest.Tools, name, text string) {
	g.T.Helper()
	path := filepath.Join(g.Home, name)
	check(g.T, os.MkdirAll(filepath.Dir(path), 0o755))
	check(g.T, os.WriteFile(path, []byte(text), 0o644))
}

// execute runs a tool without a gate.
func execute(ctx context.Context, one *tool.Tool, call tool.Call, grant tool.Grant) (*tool.Result, error) {
	return one.Handler.Execute(ctx, call, grant)
}
