package access

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/sqlite"
	"callgate/tool"
)

// openFile opens a SQLite file of the workspace, or makes it. The path is
// judged by the root of the grant, which follows no link out; what SQLite then
// opened must be that very file.
func (a *Opener) openFile(ctx context.Context, t Target) (engine.Engine, error) {
	if t.Database == ":memory:" {
		return opened(sqlite.Open(ctx, sqlite.Config{Shown: ":memory:"}))
	}
	rel, err := a.local(t.Database)
	if err != nil {
		return nil, err
	}
	if err := a.makeFile(rel); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(a.Grant.Workspace, rel))
	if err != nil {
		return nil, a.outside(t.Database)
	}
	verify := func(path string) error {
		inside, err1 := a.Grant.Root.Stat(rel)
		there, err2 := os.Stat(path)
		if err1 != nil || err2 != nil || !os.SameFile(inside, there) || !within(a.Grant.Workspace, path) {
			return a.outside(t.Database)
		}
		return nil
	}
	if !within(a.Grant.Workspace, real) || slices.ContainsFunc(a.Hidden, func(dir string) bool { return within(dir, real) }) {
		return nil, a.outside(t.Database)
	}
	return opened(sqlite.Open(ctx, sqlite.Config{Path: real, Shown: filepath.ToSlash(rel), Verify: verify}))
}

// local spells a file's path relative to the workspace.
func (a *Opener) local(path string) (string, error) {
	switch {
	case a.Grant.Root == nil:
		return "", tool.Errorf("", tool.Denied, "this session has no workspace, so there are no files to open").WithHint("start the session in a folder, or use :memory:")
	case strings.TrimSpace(path) == "":
		return "", tool.Errorf("", tool.Invalid, "database is missing").WithHint("name a file of the workspace, such as data.db")
	case strings.HasPrefix(strings.ToLower(path), "file:") || strings.ContainsRune(path, 0):
		return "", tool.Errorf("", tool.Denied, "database is the path of a file, not a URI").WithHint("name a file of the workspace, such as data.db")
	}
	name := filepath.FromSlash(path)
	if !filepath.IsAbs(name) {
		name = filepath.Join(a.Grant.Workspace, name)
	}
	rel, err := filepath.Rel(a.Grant.Workspace, name)
	if err != nil || !filepath.IsLocal(rel) {
		return "", a.outside(path)
	}
	return rel, nil
}

// makeFile sees to it that there is a regular file.
func (a *Opener) makeFile(rel string) error {
	shown := filepath.ToSlash(rel)
	info, err := a.Grant.Root.Stat(rel)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return tool.Errorf("", tool.Invalid, "%q is not a regular file", shown)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return a.outside(shown)
	case a.ReadOnly:
		return tool.Errorf("", tool.NotFound, "there is no file %q, and this app only reads, so none is made", shown)
	}
	f, err := a.Grant.Root.OpenFile(rel, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return a.outside(shown) // a link that leads nowhere
	case errors.Is(err, fs.ErrNotExist):
		return tool.Errorf("", tool.NotFound, "the folder of %q does not exist", shown).WithHint("make it first")
	case err != nil:
		return tool.Errorf("", tool.Failed, "the file %q cannot be made: %v", shown, errors.Unwrap(err))
	}
	return f.Close()
}

func (a *Opener) outside(path string) error {
	return tool.Errorf("", tool.Denied, "%q is not a file of the workspace", tool.Truncate(path)).
		WithHint("only files under %s can be opened; give a path relative to it", a.Grant.Workspace)
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
