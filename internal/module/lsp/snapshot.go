package lsp

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/module/lsp/langserver"
)

// snapshot is when and how large the files of a workspace are, of which a server must know.
type snapshot map[string]stamp

type stamp struct{ changed, size int64 }

// maxWalked bounds the files that are looked at before a request.
const maxWalked = 50_000

// lookAround tells the server which files of the workspace were made, changed or removed since it
// was last asked: other tools, and other programs, write them.
func (e *entry) lookAround(ctx context.Context, c *request) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := c.walk(ctx)
	old := e.files
	e.files = now
	if old == nil {
		return nil // it has just been started, and reads them itself
	}
	var changes []langserver.Change
	add := func(name string, kind int) {
		changes = append(changes, langserver.Change{URI: langserver.URI(filepath.Join(c.Dir, name)), Type: kind})
	}
	for name, is := range now {
		if was, ok := old[name]; !ok {
			add(name, langserver.Created)
		} else if was != is {
			add(name, langserver.Changed)
		}
	}
	for name := range old {
		if _, ok := now[name]; !ok {
			add(name, langserver.Deleted)
		}
	}
	if err := e.server.FilesChanged(ctx, changes); err != nil {
		return err
	}
	for _, name := range e.server.Open() {
		shown, _ := c.show(name)
		f, err := c.read(shown)
		if err != nil {
			err = e.server.Forget(ctx, name) // it was removed
		} else {
			_, err = e.server.Sync(ctx, name, f.disk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// walk looks at the files of the workspace that some server reads.
func (c *request) walk(ctx context.Context) snapshot {
	found, walked := snapshot{}, 0
	_ = fs.WalkDir(c.Root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if walked++; walked > maxWalked || ctx.Err() != nil {
			return fs.SkipAll
		}
		switch {
		case err != nil && (d == nil || !d.IsDir()):
			return nil
		case err != nil, d.IsDir() && path != "." && skipped(d.Name()):
			return fs.SkipDir
		case d.IsDir() || !d.Type().IsRegular() || !c.settings.watches(d.Name()):
			return nil
		}
		if info, err := d.Info(); err == nil && !c.Grant.Forbids(filepath.FromSlash(path)) {
			found[path] = stamp{info.ModTime().UnixNano(), info.Size()}
		}
		return nil
	})
	return found
}

// skipped reports whether a folder holds no code of the project's own.
func skipped(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "__pycache__"
}

func (s *settings) watches(name string) bool {
	return slices.Contains(watched, name) ||
		slices.ContainsFunc(s.known, func(one server) bool { return one.covers(name) })
}
