// Package workfile is a file of the workspace, for the modules that read one or
// leave one there.
//
// # Law
//
//   - Everything goes through the root of the call's grant, which follows no
//     link out of the workspace. Paths are relative to the workspace, or
//     absolute inside it.
//   - Only regular files are opened, without waiting, and looked at again once
//     open: a pipe or a device can neither hang a call nor be disturbed by it.
//   - A new file is a draft beside its place until it is whole; it is then
//     synced and renamed. Whoever looks sees the old file or the new one.
package workfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callgate/tool"
)

// Workspace is the folder of one call.
type Workspace struct {
	op    string
	root  *os.Root
	dir   string
	grant tool.Grant // for what belongs to the kernel
}

// New is the workspace that a call was granted; op is what its errors name.
func New(op string, g tool.Grant) (Workspace, error) {
	if g.Root == nil {
		return Workspace{}, tool.Errorf(op, tool.Denied, "this session has no workspace, so there are no files to reach").
			WithHint("start the session in a folder")
	}
	return Workspace{op, g.Root, g.Workspace, g}, nil
}

// local spells a path relative to the workspace, or refuses it.
func (w Workspace) local(path string) (string, error) {
	if strings.TrimSpace(path) == "" || strings.ContainsRune(path, 0) {
		return "", tool.Errorf(w.op, tool.Invalid, "%q is not a path", tool.Truncate(path)).WithHint("name a file, relative to the workspace")
	}
	name := filepath.FromSlash(path)
	if !filepath.IsAbs(name) {
		name = filepath.Join(w.dir, name)
	}
	rel, err := filepath.Rel(w.dir, name)
	if err != nil || !filepath.IsLocal(rel) {
		return "", w.outside(path)
	}
	if w.grant.Forbids(rel) {
		return "", tool.Errorf(w.op, tool.Denied, "%q belongs to the kernel", tool.Truncate(path)).WithHint("its state is no tool's business; work elsewhere")
	}
	return rel, nil
}

func (w Workspace) outside(path string) error {
	return tool.Errorf(w.op, tool.Denied, "%q is outside the workspace", tool.Truncate(path)).
		WithHint("only files under %s can be reached; give a path relative to it", w.dir)
}

// Open opens a regular file for reading. Shown is its path as the workspace
// has it, with slashes.
func (w Workspace) Open(path string) (f *os.File, shown string, err error) {
	name, err := w.local(path)
	if err != nil {
		return nil, "", err
	}
	shown = filepath.ToSlash(name)
	info, err := w.root.Stat(name)
	if err == nil {
		err = w.regular(shown, info)
	}
	if err != nil {
		return nil, "", w.fail(shown, err)
	}
	if f, err = w.root.OpenFile(name, os.O_RDONLY|nonBlocking, 0); err != nil {
		return nil, "", w.fail(shown, err)
	}
	if info, err = f.Stat(); err == nil {
		err = w.regular(shown, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, "", w.fail(shown, err)
	}
	return f, shown, nil
}

func (w Workspace) regular(shown string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return tool.Errorf(w.op, tool.Invalid, "%q is a directory", shown).WithHint("name a file in it")
	default:
		return tool.Errorf(w.op, tool.Invalid, "%q is not a regular file; it is never opened", shown)
	}
}

// fail says what went wrong with a path. An error that says so passes.
func (w Workspace) fail(shown string, err error) error {
	var done *tool.Error
	if errors.As(err, &done) {
		return done
	}
	e := &tool.Error{Op: w.op, Kind: tool.Failed, Err: cause(err)}
	quoted := `"` + tool.Truncate(shown) + `"`
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Message, e.Hint = tool.NotFound, "there is no "+quoted+" in the workspace", "list the folder to see what is there"
	case w.escapes(err):
		return w.outside(shown)
	case errors.Is(err, fs.ErrPermission):
		e.Message, e.Hint = "the operating system does not permit access to "+quoted, "check the owner and the mode of the file and of its directory"
	case isFull(err):
		e.Kind, e.Message, e.Hint = tool.Unavailable, "the disk is full", "free some space and try again"
	default:
		e.Message = quoted + " could not be reached"
	}
	return e
}

// cause takes the paths out of an error: they name drafts, or are relative to
// a root that nobody sees.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	default:
		return err
	}
}

// escapes reports whether err is the root's refusal to leave it. The root does
// not export that error, so it is asked for one to compare with.
func (w Workspace) escapes(err error) bool {
	if errors.Is(err, fs.ErrClosed) {
		return false
	}
	_, refusal := w.root.Lstat("..")
	return refusal != nil && errors.Is(err, cause(refusal))
}
