package filewalk

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/module/filesystem/ignorefile"
	"callgate/internal/module/workfile"
)

// The ignore files of a directory.
const (
	gitIgnore = ".gitignore"
	dotIgnore = ".ignore"
	exclude   = gitDir + "/info/exclude"
)

// maxIgnoreFile limits what is read of an ignore file.
const maxIgnoreFile = 1 << 20

// ignores is what the ignore files say at one directory of a walk. The law:
//
//  1. The files of a directory count before those of the directories above it; all
//     files .ignore count before all files .gitignore, and those before the file
//     info/exclude of the repository.
//  2. A repository begins at a directory with .git in it, and nothing that a
//     .gitignore above says counts in it.
//  3. Files above the workspace count up to the root of its repository. They are the
//     only files above it that a tool reads, and nothing of them is shown.
//
// nil ignores nothing.
type ignores struct {
	above    *ignores
	from     int               // where the paths in this directory begin in those of the walk
	prefix   string            // of a directory above the start: what those of the walk lack
	git, dot *ignorefile.Rules // nil: there is no such file
	exclude  *ignorefile.Rules
	root     bool // a repository begins here
}

// ignored reports whether a path of the walk is ignored, given that the directory
// that it is in is not.
func (in *ignores) ignored(path string, dir bool) bool {
	if in == nil {
		return false
	}
	for at := in; at != nil; at = at.above {
		if v := at.match(at.dot, path, dir); v != ignorefile.Silent {
			return v == ignorefile.Ignored
		}
	}
	for at := in; at != nil; at = at.above {
		if v := at.match(at.git, path, dir); v != ignorefile.Silent {
			return v == ignorefile.Ignored
		}
		if at.root {
			return at.match(at.exclude, path, dir) == ignorefile.Ignored
		}
	}
	return false
}

func (in *ignores) match(rules *ignorefile.Rules, path string, dir bool) ignorefile.Verdict {
	if rules.Empty() {
		return ignorefile.Silent
	}
	if in.prefix != "" {
		return rules.Match(in.prefix+path, dir)
	}
	return rules.Match(path[in.from:], dir)
}

// enter returns the ignores of a directory of the walk whose entries are known.
func (in *ignores) enter(dir *os.Root, entries []fs.DirEntry, at string) *ignores {
	var has struct{ git, dot, root bool }
	for _, d := range entries {
		switch d.Name() {
		case gitIgnore:
			has.git = d.Type().IsRegular()
		case dotIgnore:
			has.dot = d.Type().IsRegular()
		case gitDir:
			has.root = true
		}
	}
	if !has.git && !has.dot && !has.root {
		return in
	}
	next := &ignores{above: in, from: len(at) + 1, root: has.root}
	if has.git {
		next.git = readRules(dir, gitIgnore)
	}
	if has.dot {
		next.dot = readRules(dir, dotIgnore)
	}
	if has.root {
		next.exclude = readRules(dir, exclude)
	}
	return next
}

// forget returns the ignores of a directory that was named although it is ignored:
// nothing above it counts.
func (in *ignores) forget() *ignores {
	if in == nil {
		return nil
	}
	return &ignores{root: true}
}

// ignoresAt returns the ignores of a directory of the workspace where a walk
// begins. If the directory is ignored itself, only its own files count: who names it
// wants to see it.
func ignoresAt(w workfile.Workspace, start string) *ignores {
	in := aboveWorkspace(w)
	at := "."
	var dir string
	for name := range strings.SplitSeq(filepath.ToSlash(start), "/") {
		in = in.add(w.Root, at, dir)
		if name == "." {
			break
		}
		if dir = join(dir, name); in.ignored(dir, true) {
			in = in.forget()
		}
		at = filepath.FromSlash(dir)
	}
	if dir != "" {
		in = in.add(w.Root, at, dir)
	}
	return in.rebase(dir)
}

// add returns the ignores of a directory, which is dir in a walk of the whole
// workspace.
func (in *ignores) add(root *os.Root, name, dir string) *ignores {
	next := &ignores{above: in}
	if dir != "" {
		next.from = len(dir) + 1
	}
	open := func(file string) *ignorefile.Rules { return readRules(root, filepath.Join(name, file)) }
	next.git, next.dot = open(gitIgnore), open(dotIgnore)
	if _, err := root.Lstat(filepath.Join(name, gitDir)); err == nil {
		next.root, next.exclude = true, open(exclude)
	}
	return next
}

// rebase makes the paths of the ignores those of a walk that begins at dir.
func (in *ignores) rebase(dir string) *ignores {
	if in == nil {
		return nil
	}
	next := *in
	next.above = in.above.rebase(dir)
	switch {
	case dir == "":
	case in.prefix != "": // above the workspace
		next.prefix = in.prefix + dir + "/"
	case in.from > len(dir):
		next.from = 0
	default:
		next.prefix, next.from = dir[in.from:]+"/", 0
	}
	return &next
}

// aboveWorkspace returns the ignores of the directories between the root of the
// repository that the workspace is in, and the workspace; nil if it is the root of
// one, or in none.
func aboveWorkspace(w workfile.Workspace) *ignores {
	if _, err := w.Root.Lstat(gitDir); err == nil {
		return nil
	}
	var folders []string // the innermost first
	for dir := filepath.Dir(w.Dir); ; dir = filepath.Dir(dir) {
		folders = append(folders, dir)
		if _, err := os.Lstat(filepath.Join(dir, gitDir)); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
	var in *ignores
	for i := len(folders) - 1; i >= 0; i-- {
		rel, err := filepath.Rel(folders[i], w.Dir)
		root, openErr := os.OpenRoot(folders[i])
		if err != nil || openErr != nil {
			continue
		}
		next := in.add(root, ".", "")
		next.prefix = filepath.ToSlash(rel) + "/"
		_ = root.Close()
		in = next
	}
	return in
}

// readRules reads an ignore file. One that is not a regular file, or cannot be read,
// says nothing.
func readRules(dir *os.Root, name string) *ignorefile.Rules {
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, _, err := workfile.OpenRegular(dir, name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err != nil {
		return nil
	}
	return ignorefile.Parse(data)
}
