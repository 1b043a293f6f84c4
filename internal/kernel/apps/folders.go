package apps

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"callgate/internal/app"
	"callgate/internal/gate/schema"
	"callgate/internal/source/executable"
	"callgate/tool"
)

// folders is the executable tools of one app: its folders of manifests, as a
// source in a scope that only this app's sessions see. A tool in agent/
// overrides one of the same name in global/.
type folders struct {
	app   *app.App
	scope string
	parts []*executable.Source // those that override others first

	mu    sync.Mutex
	state string // what the folders looked like when they were last loaded
}

// newFolders makes the source of an app's folders. hidden is what no tool may
// ever see.
func newFolders(a *app.App, scope string, hidden []string) *folders {
	f := &folders{app: a, scope: scope}
	for _, layer := range []string{"agent", "global"} {
		for _, dir := range a.Dirs {
			part := filepath.Join(dir, layer)
			if info, err := os.Stat(part); err != nil || !info.IsDir() {
				continue
			}
			f.parts = append(f.parts, executable.New(executable.Options{
				Dir: part, Strict: a.Runtime.Strict, Hidden: hidden, Relaxed: a.Runtime.Relaxed,
				Check: func(raw json.RawMessage) error { _, err := schema.Compile(raw); return err },
			}))
		}
	}
	return f
}

// Name is the source's name: one for each scope.
func (f *folders) Name() string { return "the folders of " + f.scope }

// Tools loads all folders.
func (f *folders) Tools(ctx context.Context) ([]*tool.Tool, error) {
	var all []*tool.Tool
	taken := map[string]bool{}
	for _, part := range f.parts {
		tools, err := part.Tools(ctx)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, t := range tools {
			if name := t.ID.Dotted(); !taken[name] {
				all = append(all, t)
				names = append(names, name)
			}
		}
		for _, name := range names { // a folder does not override itself: it may hold several versions
			taken[name] = true
		}
	}
	return all, nil
}

// problems returns what kept manifests from loading.
func (f *folders) problems() []string {
	if f == nil {
		return nil
	}
	var all []string
	for _, part := range f.parts {
		for _, p := range part.Problems() {
			all = append(all, p.String())
		}
	}
	return all
}

// changed reports whether the folders look other than when it was last called.
func (f *folders) changed() bool {
	var look strings.Builder
	for _, dir := range f.app.Dirs {
		for _, layer := range []string{"", "agent", "global"} {
			entries, _ := os.ReadDir(filepath.Join(dir, layer))
			for _, e := range entries {
				if info, err := e.Info(); err == nil && info.Mode()&fs.ModeType == 0 {
					fmt.Fprintln(&look, layer, e.Name(), info.Size(), info.ModTime().UnixNano(), info.Mode())
				}
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	differs := f.state != look.String()
	f.state = look.String()
	return differs
}

// loadsLike reports whether two sources load the same folders the same way.
func (f *folders) loadsLike(other *folders) bool {
	return len(f.parts) == len(other.parts) && f.app.Runtime.Strict == other.app.Runtime.Strict &&
		f.app.Runtime.Relaxed == other.app.Runtime.Relaxed && slices.Equal(f.app.Dirs, other.app.Dirs)
}

// addFolders makes an app's folders known, or has them looked at again, and
// returns them; nil when the app has none.
func (l *Loader) addFolders(a *app.App, scope string) (*folders, error) {
	if len(a.Dirs) == 0 {
		return nil, nil
	}
	for _, dir := range a.Dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, tool.Errorf("apps.Load", tool.Invalid, "%s: tools.dirs names %s, which is not a folder", a.Path, dir).
				WithHint("make it, with global/ or agent/ in it, or take it out of tools.dirs")
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh, known := newFolders(a, scope, l.opt.Hidden), l.folders[scope]
	if known == nil || !known.loadsLike(fresh) {
		if known != nil {
			l.opt.Tools.Remove(known.Name())
		}
		fresh.changed()
		l.folders[scope] = fresh
		return fresh, l.opt.Tools.Add(scope, fresh)
	}
	if known.changed() {
		l.opt.Tools.Invalidate(known.Name())
	}
	return known, nil
}
