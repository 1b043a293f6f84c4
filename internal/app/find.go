package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"callgate/internal/ownership"
	"callgate/tool"
)

// Trail is how the app file of a folder was searched.
type Trail struct {
	File     string   // "": there is none
	Searched []string // the folders, the nearest first
	End      string   // why the search ended without a file; "" with one
}

// Find returns the app file that is in force in a folder: its own, or that of the
// nearest parent that has one. "" means that there is none.
func Find(folder string) (string, error) {
	t, err := Trace(folder)
	return t.File, err
}

// Folders returns the folders whose files count in a folder, the nearest first: the
// folder and its parents. They end at the root of the folder's repository, at the
// user's home, and where somebody else owns a parent or may write into it: a file that
// another user can put into a shared folder counts for nobody else. end says why there
// are no more.
func Folders(folder string) (folders []string, end string) {
	home, _ := os.UserHomeDir() // without one, the other ends hold
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	for {
		folders = append(folders, folder)
		if end = searchEnd(folder, home); end != "" {
			return folders, end
		}
		folder = filepath.Dir(folder)
	}
}

// Trace finds the app file that is in force in a folder: that of the first of its
// [Folders] that has one.
func Trace(folder string) (Trail, error) {
	folders, end := Folders(folder)
	for i, folder := range folders {
		file := filepath.Join(folder, Filename)
		switch _, err := os.Lstat(file); {
		case err == nil:
			return Trail{File: file, Searched: folders[:i+1]}, nil
		case !errors.Is(err, fs.ErrNotExist):
			return Trail{}, &tool.Error{
				Op: "app.Find", Kind: tool.Unavailable, Err: err,
				Message: "it cannot be seen whether there is an app file at " + file,
			}
		}
	}
	return Trail{Searched: folders, End: end}, nil
}

// searchEnd says why the folders above one are not searched; "" means that they are.
func searchEnd(folder, home string) string {
	parent := filepath.Dir(folder)
	switch {
	case folder == home:
		return folder + " is your home"
	case parent == folder:
		return "there is no folder above " + folder
	case isRepository(folder):
		return folder + " is the root of a repository"
	}
	info, err := os.Stat(parent)
	if err != nil {
		return parent + " cannot be looked at"
	}
	if w := ownership.WriterOf(info); w != nil { // the user's private group is nobody else
		return w.Who + " may put files into " + parent + " (" + w.How + ")"
	}
	return ""
}

// isRepository reports whether a folder is the root of a git repository or worktree.
func isRepository(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, ".git"))
	return err == nil
}
