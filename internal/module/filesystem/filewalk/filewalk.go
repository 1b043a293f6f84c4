// Package filewalk walks directories of the workspace, and selects files by
// pattern.
package filewalk

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"callgate/internal/module/workfile"
	"callgate/tool"
)

// MaxDepth limits a walk, which holds one open directory per level.
const MaxDepth = 200

// Entry is one file or directory that a walk finds.
type Entry struct {
	fs.DirEntry
	Path  string   // from the start of the walk, with slashes
	Depth int      // 1 for what lies in the start itself
	Dir   *os.Root // the directory that it lies in
	// Ignored says that an ignore file names it. A walk that enters such a directory
	// heeds only the ignore files in it.
	Ignored bool
}

// Walk visits everything below a directory in the order of [Compare]. It never
// follows a symbolic link. visit returns what a fs.WalkDirFunc does: fs.SkipDir
// skips a directory, fs.SkipAll ends the walk. Walk skips directories that cannot
// be read, and returns their paths. It heeds no ignore files.
func Walk(
	ctx context.Context, w workfile.Workspace, start workfile.Path, visit func(Entry) error,
) (unread []string, err error) {
	return walk(ctx, w, start, nil, visit)
}

// WalkIgnores is Walk, and says of each entry whether an ignore file names it.
func WalkIgnores(
	ctx context.Context, w workfile.Workspace, start workfile.Path, visit func(Entry) error,
) (unread []string, err error) {
	return walk(ctx, w, start, ignoresAt(w, start.Name), visit)
}

func walk(
	ctx context.Context, w workfile.Workspace, start workfile.Path, in *ignores, visit func(Entry) error,
) (unread []string, err error) {
	dir, err := workfile.OpenDir(w.Root, start.Name)
	if err != nil {
		return nil, w.Fail(start.Shown, err)
	}
	k := walker{ctx: ctx, visit: visit, grant: w.Grant}
	err = k.walkDir(dir, "", 1, in)
	if err != nil && !errors.Is(err, fs.SkipAll) {
		return nil, w.Fail(start.Shown, err)
	}
	return k.unread, nil
}

type walker struct {
	ctx    context.Context
	visit  func(Entry) error
	grant  tool.Grant
	unread []string
}

// walkDir visits what lies in one directory, and closes it.
func (k *walker) walkDir(dir *os.Root, at string, depth int, in *ignores) error {
	defer dir.Close()
	entries, err := readDir(dir)
	if err != nil {
		if at == "" {
			return err
		}
		k.noteUnread(at, err)
		return nil
	}
	if in != nil && depth > 1 { // of the start it is known already
		in = in.enter(dir, entries, at)
	}
	for _, d := range entries {
		if err := k.ctx.Err(); err != nil {
			return err
		}
		if k.grant.IsHidden(dir, d.Name()) {
			continue // the kernel's own, or the user's private files
		}
		e := Entry{DirEntry: d, Path: join(at, d.Name()), Depth: depth, Dir: dir}
		e.Ignored = in.ignored(e.Path, d.IsDir())
		err := k.visit(e)
		if errors.Is(err, fs.SkipDir) || err == nil && !d.IsDir() {
			continue
		}
		if err != nil {
			return err
		}
		if depth == MaxDepth {
			k.unread = append(k.unread, e.Path)
			continue
		}
		sub, err := workfile.OpenDir(dir, d.Name())
		if err != nil {
			k.noteUnread(e.Path, err)
			continue
		}
		below := in
		if e.Ignored {
			below = in.forget()
		}
		if err := k.walkDir(sub, e.Path, depth+1, below); err != nil {
			return err
		}
	}
	return nil
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// noteUnread records a directory that may not be read. A directory that vanished,
// or was swapped for something else, is not recorded.
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

// Compare orders paths with slashes as a walk visits them: name by name, a
// directory before what is in it.
func Compare(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return cmp.Compare(rank(a[i]), rank(b[i]))
		}
	}
	return cmp.Compare(len(a), len(b))
}

func rank(c byte) int {
	if c == '/' {
		return -1
	}
	return int(c)
}
