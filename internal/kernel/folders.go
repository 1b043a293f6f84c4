package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"callgate/internal/app"
	"callgate/internal/gate/schema"
	"callgate/internal/sandbox"
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
func newFolders(a *app.App, scope string, hidden []string, helpers *sandbox.Helpers) *folders {
	f := &folders{app: a, scope: scope}
	for _, layer := range []string{"agent", "global"} {
		for _, dir := range a.Dirs {
			part := filepath.Join(dir, layer)
			if info, err := os.Stat(part); err != nil || !info.IsDir() {
				continue
			}
			f.parts = append(f.parts, executable.New(executable.Options{
				Dir: part, Strict: a.Strict, Hidden: hidden, Helpers: helpers, Relaxed: a.Relaxed,
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

// problems tells what kept manifests from loading.
func (f *folders) problems() []string {
	var all []string
	for _, part := range f.parts {
		for _, p := range part.Problems() {
			all = append(all, p.String())
		}
	}
	return all
}

// changed reports whether the folders look other than when it was last asked.
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

// addFolders makes an app's folders known, or has them looked at again, and
// returns them; nil when the app has none.
func (k *Kernel) addFolders(a *app.App, scope string) (f *folders, err error) {
	if len(a.Dirs) == 0 {
		return nil, nil
	}
	for _, dir := range a.Dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, tool.Errorf("callgate.addFolders", tool.Invalid, "%s: tools.dirs names %s, which is not a folder", a.Path, dir).
				WithHint("make it, with global/ or agent/ in it, or take it out of tools.dirs")
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	fresh := newFolders(a, scope, k.hidden(), k.helpers)
	f = k.folders[scope]
	if f == nil || !sameFolders(f, fresh) {
		if f != nil {
			k.tools.Remove(f.Name())
		}
		f = fresh
		f.changed()
		k.folders[scope] = f
		return f, k.tools.Add(scope, f)
	}
	if f.changed() {
		k.tools.Invalidate(f.Name())
	}
	return f, nil
}

// sameFolders reports whether two sources load the same folders the same way.
func sameFolders(a, b *folders) bool {
	return len(a.parts) == len(b.parts) && a.app.Strict == b.app.Strict && a.app.Relaxed == b.app.Relaxed &&
		strings.Join(a.app.Dirs, "\n") == strings.Join(b.app.Dirs, "\n")
}
