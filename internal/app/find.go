package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"callgate/internal/ownership"
	"callgate/tool"
)

// Find returns the app file that is in force in a folder: its own, or that of the
// nearest parent that has one. The search ends at the root of the folder's
// repository, at the user's home, and where somebody else owns a parent or may write
// into it: a file that another user can put into a shared folder rules nobody else.
// "" means that there is none.
func Find(folder string) (string, error) {
	home, _ := os.UserHomeDir() // without one, the other ends hold
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	for {
		file := filepath.Join(folder, Filename)
		switch _, err := os.Lstat(file); {
		case err == nil:
			return file, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", &tool.Error{
				Op: "app.Find", Kind: tool.Unavailable, Err: err,
				Message: "it cannot be seen whether there is an app file at " + file,
			}
		}
		parent := filepath.Dir(folder)
		if folder == home || parent == folder || isRepository(folder) || !isOwn(parent) {
			return "", nil
		}
		folder = parent
	}
}

// isRepository reports whether a folder is the root of a git repository or worktree.
func isRepository(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, ".git"))
	return err == nil
}

// isOwn reports whether a folder is the user's or root's, and nobody else can put a
// file into it. The user's private group is nobody else: see ownership.WriterOf.
func isOwn(folder string) bool {
	info, err := os.Stat(folder)
	return err == nil && ownership.WriterOf(info) == nil
}
