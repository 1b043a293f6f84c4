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

// openFile opens a SQLite file of the workspace, or creates it. The root of the
// grant resolves the path and follows no link out of the workspace. The file that
// SQLite opens must be the same one.
func (o *Opener) openFile(ctx context.Context, t Target) (engine.Engine, error) {
	if t.Database == ":memory:" {
		return opened(sqlite.Open(ctx, sqlite.Config{Shown: ":memory:"}))
	}
	rel, err := o.local(t.Database)
	if err != nil {
		return nil, err
	}
	if o.Grant.Forbids(rel) {
		return nil, o.outside(t.Database)
	}
	if err := o.createFile(rel); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(o.Grant.Workspace, rel))
	if err != nil {
		return nil, o.outside(t.Database)
	}
	verify := func(path string) error {
		allowed, err1 := o.Grant.Root.Stat(rel)
		opened, err2 := os.Stat(path)
		if err1 != nil || err2 != nil || !os.SameFile(allowed, opened) || !within(o.Grant.Workspace, path) {
			return o.outside(t.Database)
		}
		return nil
	}
	hidden := slices.ContainsFunc(o.Hidden, func(dir string) bool { return within(dir, real) })
	if hidden || !within(o.Grant.Workspace, real) {
		return nil, o.outside(t.Database)
	}
	return opened(sqlite.Open(ctx, sqlite.Config{Path: real, Shown: filepath.ToSlash(rel), Verify: verify}))
}

// local returns a path relative to the workspace.
func (o *Opener) local(path string) (string, error) {
	switch {
	case o.Grant.Root == nil:
		return "", tool.Errorf("", tool.Denied, "this session has no workspace, so there are no files to open").
			WithHint("start the session in a folder, or use :memory:")
	case strings.TrimSpace(path) == "":
		return "", tool.Errorf("", tool.Invalid, "database is missing").
			WithHint("name a file of the workspace, such as data.db")
	case strings.HasPrefix(strings.ToLower(path), "file:") || strings.ContainsRune(path, 0):
		return "", tool.Errorf("", tool.Denied, "database is the path of a file, not a URI").
			WithHint("name a file of the workspace, such as data.db")
	}
	name := filepath.FromSlash(path)
	if !filepath.IsAbs(name) {
		name = filepath.Join(o.Grant.Workspace, name)
	}
	rel, err := filepath.Rel(o.Grant.Workspace, name)
	if err != nil || !filepath.IsLocal(rel) {
		return "", o.outside(path)
	}
	return rel, nil
}

// createFile creates the file unless it is there, and checks that it is regular.
func (o *Opener) createFile(rel string) error {
	shown := filepath.ToSlash(rel)
	info, err := o.Grant.Root.Stat(rel)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return tool.Errorf("", tool.Invalid, "%q is not a regular file", shown)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return o.outside(shown)
	case o.ReadOnly:
		return tool.Errorf("", tool.NotFound, "there is no file %q, and this app only reads, so it is not created", shown)
	}
	f, err := o.Grant.Root.OpenFile(rel, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return o.outside(shown) // a link without a target
	case errors.Is(err, fs.ErrNotExist):
		return tool.Errorf("", tool.NotFound, "the folder of %q does not exist", shown).WithHint("create the folder first")
	case err != nil:
		return tool.Errorf("", tool.Failed, "the file %q cannot be created: %v", shown, errors.Unwrap(err))
	}
	return f.Close()
}

func (o *Opener) outside(path string) error {
	return tool.Errorf("", tool.Denied, "%q is not a file of the workspace", tool.Truncate(path)).
		WithHint("only files under %s can be opened; give a path relative to it", o.Grant.Workspace)
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
