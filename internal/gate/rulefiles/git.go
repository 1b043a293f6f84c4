package rulefiles

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The limits of the search for repositories inside a workspace: it is made before
// each command, and one that lies deeper is not found.
const (
	maxDepth   = 2
	maxFolders = 200
)

// gitFiles returns what Git runs programs by in the repositories of a workspace:
// settings and hooks, and the file that leads to those of another folder.
func (s Set) gitFiles() []string {
	var all []string
	left := maxFolders
	var visit func(folder string, depth int)
	visit = func(folder string, depth int) {
		all = append(all, filesOfRepository(filepath.Join(folder, gitFolderName))...)
		entries, err := os.ReadDir(folder)
		if depth == maxDepth || err != nil {
			return
		}
		for _, e := range entries {
			if e.IsDir() && e.Name() != gitFolderName && e.Name() != "node_modules" && left > 0 {
				left--
				visit(filepath.Join(folder, e.Name()), depth+1)
			}
		}
	}
	visit(s.Workspace, 0)
	return all
}

// filesOfRepository returns what matters in a repository's own folder. Where that is
// a file, which names another folder, it is the file. A folder for hooks is made where
// there is none, so that it can be kept as it is: empty.
func filesOfRepository(git string) []string {
	info, err := os.Lstat(git)
	switch {
	case err != nil:
		return nil
	case info.Mode().IsRegular():
		return []string{git}
	}
	if _, err := os.Stat(filepath.Join(git, "config")); err != nil {
		return nil // it is no repository
	}
	all := inRepository(git)
	modules, _ := os.ReadDir(filepath.Join(git, "modules")) // without any, there is none
	for _, m := range modules {
		all = append(all, inRepository(filepath.Join(git, "modules", m.Name()))...)
	}
	return all
}

func inRepository(git string) []string {
	hooks := filepath.Join(git, "hooks")
	_ = os.Mkdir(hooks, 0o755) // where it cannot be made, no command makes it either
	all := []string{filepath.Join(git, "config"), hooks, filepath.Join(git, "commondir")}
	if worktree := filepath.Join(git, "config.worktree"); exists(worktree) {
		all = append(all, worktree)
	}
	return all
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// ruledFromAbove reports whether an app file of a folder above the workspace is in
// force: one that comes to be in the workspace would take its place.
func (s Set) ruledFromAbove() bool {
	for _, file := range s.Files {
		if filepath.Base(file) == appFileName && file != filepath.Join(s.Workspace, appFileName) &&
			isWithin(s.Workspace, filepath.Dir(file)) {
			return true
		}
	}
	return false
}

// maxEntries limits how much of a folder is looked at for rules in it.
const maxEntries = 5_000

// holdsRules reports whether a folder has an app file or a repository in it.
func holdsRules(folder string) bool {
	found, left := false, maxEntries
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if left--; err != nil || left < 0 {
			return fs.SkipDir
		}
		name := e.Name()
		if path != folder && (strings.EqualFold(name, appFileName) || strings.EqualFold(name, gitFolderName)) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}
