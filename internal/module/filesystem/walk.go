package filesystem

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"callgate/tool"
)

// maxDepth bounds a walk, which holds one open directory per level.
const maxDepth = 200

// entry is one thing met on a walk.
type entry struct {
	fs.DirEntry
	path  string   // from the start of the walk, with slashes
	depth int      // 1 for what lies in the start itself
	dir   *os.Root // the directory it lies in
}

// walk meets everything below a directory in the order of byPath. It never
// follows a symbolic link. The visitor answers like that of fs.WalkDir:
// fs.SkipDir does not enter a directory, fs.SkipAll ends the walk. Directories
// that cannot be read are left out, and named in the list that comes back.
func (w workspace) walk(ctx context.Context, start resolvedPath, visit func(entry) error) (unread []string, err error) {
	dir, err := openDir(w.root, start.name)
	if err != nil {
		return nil, w.fail(start.shown, err)
	}
	k := walker{ctx: ctx, visit: visit, grant: w.grant}
	err = k.dir(dir, "", 1)
	if err != nil && !errors.Is(err, fs.SkipAll) {
		return nil, w.fail(start.shown, err)
	}
	return k.unread, nil
}

type walker struct {
	ctx    context.Context
	visit  func(entry) error
	grant  tool.Grant
	unread []string
}

// dir visits what lies in one directory, which it closes.
func (k *walker) dir(dir *os.Root, at string, depth int) error {
	defer dir.Close()
	entries, err := readDir(dir)
	if err != nil {
		if at == "" {
			return err
		}
		k.noteUnread(at, err)
		return nil
	}
	for _, d := range entries {
		if err := k.ctx.Err(); err != nil {
			return err
		}
		if d.IsDir() && k.grant.IsHidden(dir, d.Name()) {
			continue // the kernel's own
		}
		e := entry{DirEntry: d, path: path.Join(at, d.Name()), depth: depth, dir: dir}
		err := k.visit(e)
		if errors.Is(err, fs.SkipDir) || err == nil && !d.IsDir() {
			continue
		}
		if err != nil {
			return err
		}
		if depth == maxDepth {
			k.unread = append(k.unread, e.path)
			continue
		}
		sub, err := openDir(dir, d.Name())
		if err != nil {
			k.noteUnread(e.path, err)
			continue
		}
		if err := k.dir(sub, e.path, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// noteUnread notes a directory that could not be read; one that vanished, or was
// swapped for something else, is not missed.
func (k *walker) noteUnread(at string, err error) {
	if errors.Is(err, fs.ErrPermission) {
		k.unread = append(k.unread, at)
	}
}

// readDir reads a directory in the order of its names.
func readDir(dir *os.Root) ([]fs.DirEntry, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// directory finds a directory to walk.
func (w workspace) directory(path string) (resolvedPath, error) {
	at, err := w.existing(path, true)
	if err != nil {
		return resolvedPath{}, err
	}
	if !at.info.IsDir() {
		return resolvedPath{}, w.notDirectory(at)
	}
	return at, nil
}

// unreadWarning says which directories a walk had to leave out.
func unreadWarning(unread []string) []string {
	if len(unread) == 0 {
		return nil
	}
	shown := unread[:min(len(unread), 5)]
	text := count(len(unread), "directory") + " could not be read: " + strings.Join(shown, ", ")
	if len(shown) < len(unread) {
		text += ", …"
	}
	return []string{text}
}
