package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
)

// refused is the end of the name that something has which a run made and must not
// have made.
const refused = ".refused"

// missing returns what must stay as it is in the workspace, and is not there.
func (s *Spec) missing() []string {
	var names []string
	for _, path := range s.ReadOnly {
		rel, err := filepath.Rel(s.Workspace, path)
		if s.Workspace == "" || err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if _, err := os.Lstat(path); os.IsNotExist(err) {
			names = append(names, rel)
		}
	}
	return names
}

// refuseMade renames what was missing before a run and is there after it. Nothing can
// be mounted where nothing is, so it cannot be kept from coming to be. It is not
// removed, because the run may not be who made it.
func (s *Spec) refuseMade(missing []string) {
	if len(missing) == 0 {
		return
	}
	root, err := os.OpenRoot(s.Workspace) // no link leads out of it
	if err != nil {
		return
	}
	defer root.Close()
	for _, name := range missing {
		if _, err := root.Lstat(name); err != nil {
			continue
		}
		_ = root.RemoveAll(name + refused)
		if err := root.Rename(name, name+refused); err == nil && s.Stderr != nil {
			fmt.Fprintf(s.Stderr, "\n%s holds rules, which a command may not make, and is now %s\n", name, name+refused)
		}
	}
}
