package apps

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/gate/schema"
	"callgate/internal/kernel/consent"
	"callgate/internal/source/executable"
	"callgate/tool"
)

// addFolders makes an app's folders of executable tools known, or has them
// looked at again, and returns them; nil when the app has none.
func (l *Loader) addFolders(ctx context.Context, a *app.App, scope string) (*executable.Layers, error) {
	if len(a.Dirs) == 0 {
		l.dropFolders(scope)
		return nil, nil
	}
	fresh, err := l.layers(ctx, a, scope)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.folders[scope]
	if known == nil || !known.Same(fresh) {
		if known != nil {
			l.opt.Tools.Remove(known.Name())
		}
		l.folders[scope] = fresh
		return fresh, l.opt.Tools.Add(scope, fresh)
	}
	if known.Changed() {
		l.opt.Tools.Invalidate(known.Name())
	}
	return known, nil
}

// dropFolders takes the tools of folders away that the app of a scope no longer names.
func (l *Loader) dropFolders(scope string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.folders[scope]; known != nil {
		l.opt.Tools.Remove(known.Name())
		delete(l.folders, scope)
	}
}

// layers are an app's folders of executable tools, which nobody knows of yet.
func (l *Loader) layers(ctx context.Context, a *app.App, scope string) (*executable.Layers, error) {
	for _, dir := range a.Dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, tool.Errorf("apps.Load", tool.Invalid, "%s: tools.dirs names %s, which is not a folder",
				a.Path, a.Hide(dir)).
				WithHint("make it, with global/ or agent/ in it, or take it out of tools.dirs")
		}
	}
	check, keys, err := l.signed(ctx, a)
	if err != nil {
		return nil, err
	}
	return executable.NewLayers(executable.LayersOptions{
		Name: "the folders of " + scope, Dirs: a.Dirs, Root: filepath.Dir(a.Path),
		Strict: a.Runtime.Strict, Relaxed: a.Runtime.Relaxed && l.opt.Consents.Of(a).Has(consent.Relaxed(a)),
		Hidden: l.opt.Hidden, Folders: l.opt.Folders, Helpers: l.opt.Helpers, Host: l.opt.Host, Signed: check, Keys: keys,
		Check: func(raw json.RawMessage) error { _, err := schema.Compile(raw); return err },
	}), nil
}

// lookInto adds the programs of an app's folders to what it asks for, without making them known.
func (l *Loader) lookInto(ctx context.Context, a *app.App, scope string) error {
	project := a.OfProject()
	if len(a.Dirs) == 0 || project == nil {
		return nil
	}
	fresh, err := l.layers(ctx, a, scope)
	if err != nil {
		return err
	}
	tools, err := fresh.Tools(ctx)
	if err != nil {
		return err
	}
	if bad := problems(fresh); a.Runtime.Strict && len(bad) > 0 {
		return tool.Errorf("apps.Load", tool.Invalid, "%s: runtime.strict: invalid tool: %s", a.Path, bad[0])
	}
	for _, t := range tools {
		one := app.Program{Tool: t.ID.Dotted(), Text: given(t, project.Path)}
		if one.Text != "" && !slices.Contains(project.Programs, one) {
			project.Programs = append(project.Programs, one)
		}
	}
	slices.SortFunc(project.Programs, func(a, b app.Program) int { return strings.Compare(a.Text, b.Text) })
	a.Programs = project.Programs
	return nil
}

// problems returns what kept the manifests of an app's folders from loading.
func problems(f *executable.Layers) []string {
	if f == nil {
		return nil
	}
	var all []string
	for _, p := range f.Problems() {
		all = append(all, p.String())
	}
	return all
}
