package workfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"callgate/internal/nearest"
	"callgate/tool"
)

// Fail turns an error about a path into one that says what to do next. An error
// that is a tool's error already is returned as it is.
func (w Workspace) Fail(shown string, err error) error {
	var done *tool.Error
	if errors.As(err, &done) {
		return done
	}
	e := &tool.Error{Op: w.Op, Kind: tool.Failed, Err: withoutPath(err)}
	quoted := `"` + tool.Truncate(shown) + `"`
	switch {
	case errors.Is(err, context.Canceled):
		e.Kind, e.Message = tool.Cancelled, "the call was cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Message = tool.Timeout, "the call's time ran out"
		e.Hint = "ask for less: a narrower path, a smaller limit"
	case errors.Is(err, fs.ErrNotExist):
		return w.notFound(shown)
	case w.escapes(err):
		return w.OutsideError(shown, "leads outside the workspace")
	case errors.Is(err, fs.ErrPermission):
		e.Message = "the operating system does not permit access to " + quoted
		e.Hint = "check the owner and the mode of the file and of its directory"
	case isFull(err):
		e.Kind, e.Message = tool.Unavailable, "the disk is full; "+quoted+" was left as it was"
		e.Hint = "free some space and try again"
	case errors.Is(err, syscall.EROFS):
		e.Kind, e.Message = tool.Unavailable, quoted+" is on a read-only file system"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		e.Kind, e.Message, e.Hint = tool.Unavailable, "too many files are open", "try again in a moment"
	case errors.Is(err, syscall.ENOTDIR):
		e.Kind, e.Message = tool.NotFound, "a part of "+quoted+" is a file, not a directory"
		e.Hint = "list the parent to see what is there"
	case errors.Is(err, syscall.EISDIR):
		e.Kind, e.Message = tool.Invalid, quoted+" is a directory"
	case errors.Is(err, syscall.ENAMETOOLONG):
		e.Kind, e.Message = tool.Invalid, quoted+" is too long for a file name"
	case errors.Is(err, syscall.ELOOP):
		e.Message = quoted + " goes through symbolic links that lead in a circle"
	case errors.Is(err, fs.ErrExist):
		e.Kind, e.Message = tool.Conflict, quoted+" exists already"
	default:
		e.Message = quoted + " could not be reached"
	}
	return e
}

// withoutPath removes the paths from an error: they are relative to the root, or
// name temporary files, and would mislead.
func withoutPath(err error) error {
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
// not export that error, so we provoke one to compare with.
func (w Workspace) escapes(err error) bool {
	if errors.Is(err, fs.ErrClosed) {
		return false
	}
	_, refusal := w.Root.Lstat("..")
	return refusal != nil && errors.Is(err, withoutPath(refusal))
}

// maxSimilar limits the names that an error suggests.
const maxSimilar = 5

// notFound suggests names: it compares the first name on the path that does not
// exist with the names in the directory where it is missing.
func (w Workspace) notFound(shown string) error {
	e := tool.Errorf(w.Op, tool.NotFound, "there is no %q in the workspace", tool.Truncate(shown))
	name := filepath.FromSlash(shown)
	parent, base := filepath.Dir(name), filepath.Base(name)
	for parent != "." {
		if info, err := w.Root.Stat(parent); err == nil && info.IsDir() {
			break
		}
		parent, base = filepath.Dir(parent), filepath.Base(parent)
	}
	for _, n := range nearest.Names(base, w.names(parent), maxSimilar) {
		e.Similar = append(e.Similar, filepath.ToSlash(filepath.Join(parent, n)))
	}
	switch {
	case len(e.Similar) > 0:
		return e.WithHint("did you mean %q?", e.Similar[0])
	case parent != "." && base != filepath.Base(name):
		return e.WithHint("%q exists, but has no %q; use filesystem.list to see what is there",
			filepath.ToSlash(parent), base)
	default:
		return e.WithHint("use filesystem.list or filesystem.glob to see what is there")
	}
}

// names returns the names in a directory, for suggestions.
func (w Workspace) names(dir string) []string {
	const maxNames = 10_000
	sub, err := OpenDir(w.Root, dir)
	if err != nil {
		return nil
	}
	defer sub.Close()
	f, err := sub.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxNames)
	return names
}
