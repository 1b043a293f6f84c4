package filesystem

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

// fail turns whatever went wrong with a path into an error that says what to
// do next. An error that already does so passes unchanged.
func (w workspace) fail(shown string, err error) error {
	var done *tool.Error
	if errors.As(err, &done) {
		return done
	}
	e := &tool.Error{Op: w.op, Kind: tool.Failed, Err: cause(err)}
	quoted := `"` + tool.Truncate(shown) + `"`
	switch {
	case errors.Is(err, context.Canceled):
		e.Kind, e.Message = tool.Cancelled, "the call was cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Message, e.Hint = tool.Timeout, "the call's time ran out", "ask for less: a narrower path, a smaller limit"
	case errors.Is(err, fs.ErrNotExist):
		return w.notFound(shown)
	case w.root != nil && w.escapes(err):
		return w.outside(shown, "leads outside the workspace")
	case errors.Is(err, fs.ErrPermission):
		e.Message, e.Hint = "the operating system does not permit access to "+quoted, "check the owner and the mode of the file and of its directory"
	case isFull(err):
		e.Kind, e.Message, e.Hint = tool.Unavailable, "the disk is full; "+quoted+" was left as it was", "free some space and try again"
	case errors.Is(err, syscall.EROFS):
		e.Kind, e.Message = tool.Unavailable, quoted+" is on a read-only file system"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		e.Kind, e.Message, e.Hint = tool.Unavailable, "too many files are open", "try again in a moment"
	case errors.Is(err, syscall.ENOTDIR):
		e.Kind, e.Message, e.Hint = tool.NotFound, "a part of "+quoted+" is a file, not a directory", "list the parent to see what is there"
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

// cause takes the paths out of an error: they are relative to the root, or
// name temporary files, and would only mislead.
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

// maxSimilar is how many names a "did you mean" offers.
const maxSimilar = 5

// notFound names what is near: in the deepest directory on the way that does
// exist, the names that resemble the first one that does not.
func (w workspace) notFound(shown string) error {
	e := tool.Errorf(w.op, tool.NotFound, "there is no %q in the workspace", tool.Truncate(shown))
	name := filepath.FromSlash(shown)
	parent, base := filepath.Dir(name), filepath.Base(name)
	for parent != "." {
		if info, err := w.root.Stat(parent); err == nil && info.IsDir() {
			break
		}
		parent, base = filepath.Dir(parent), filepath.Base(parent)
	}
	names := w.names(parent)
	for _, n := range nearest.Names(base, names, maxSimilar) {
		e.Similar = append(e.Similar, filepath.ToSlash(filepath.Join(parent, n)))
	}
	switch {
	case len(e.Similar) > 0:
		return e.WithHint("did you mean %q?", e.Similar[0])
	case parent != "." && base != filepath.Base(name):
		return e.WithHint("%q exists, but has no %q; use %s.list to see what is there", filepath.ToSlash(parent), base, Namespace)
	default:
		return e.WithHint("use %s.list or %s.glob to see what is there", Namespace, Namespace)
	}
}

// maxNames bounds the directory that a "did you mean" reads.
const maxNames = 10_000

func (w workspace) names(dir string) []string {
	sub, err := openDir(w.root, dir)
	if err != nil {
		return nil
	}
	defer sub.Close()
	f, err := sub.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxNames)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}
