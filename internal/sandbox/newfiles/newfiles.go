// Package newfiles finds what a run made that it must not make.
package newfiles

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// refused is the end of the name that something has which a run made and must not
// have made.
const refused = ".refused"

// Missing returns those of the paths that are in the workspace and not there.
func Missing(workspace string, paths []string) []string {
	var names []string
	for _, path := range paths {
		rel, err := filepath.Rel(workspace, path)
		if workspace == "" || err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if _, err := os.Lstat(path); os.IsNotExist(err) {
			names = append(names, rel)
		}
	}
	return names
}

// Refuse renames what was missing before a run and is there after it, and says so. Nothing can
// be mounted where nothing is, so it cannot be kept from coming to be. It is not
// removed, because the run may not be who made it.
func Refuse(workspace string, missing []string, log io.Writer) {
	if len(missing) == 0 {
		return
	}
	root, err := os.OpenRoot(workspace) // no link leads out of it
	if err != nil {
		return
	}
	defer root.Close()
	for _, name := range missing {
		if _, err := root.Lstat(name); err != nil {
			continue
		}
		_ = root.RemoveAll(name + refused)
		if err := root.Rename(name, name+refused); err == nil && log != nil {
			fmt.Fprintf(log, "\n%s holds rules, which a command may not make, and is now %s\n", name, name+refused)
		}
	}
}
