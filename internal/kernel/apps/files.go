package apps

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"callgate/internal/app"
	"callgate/internal/app/inforce"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/servers"
	"callgate/internal/registry"
)

// scopeOf names what the files bring to a workspace.
func scopeOf(f inforce.Files, workspace string) string {
	return registry.Scope(cmp.Or(f.Project, f.User), workspace)
}

// fileOf returns the file that an agent is in.
func fileOf(f inforce.Files, a app.Agent) string {
	if a.FromUser {
		return f.User
	}
	return f.Project
}

// loadFiles reads the files in force. It is partial before all of their modules are
// known.
func loadFiles(
	l *Loader, f inforce.Files, workspace string, known app.KnownModules, partial bool,
) (*app.App, error) {
	return loadText(l, f, workspace, known, partial, nil)
}

// loadText is loadFiles with a text in the place of the project's; nil: what the file says.
func loadText(
	l *Loader, f inforce.Files, workspace string, known app.KnownModules, partial bool, text []byte,
) (*app.App, error) {
	var project, user *app.App
	var err error
	vars := app.Vars{Workdir: workspace, Partial: partial}
	if f.Project != "" {
		vars.Text = text
		if project, err = app.LoadWith(f.Project, known, vars); err != nil {
			return nil, err
		}
		nameHosts(l, project)
	}
	if f.User != "" {
		vars.Text, vars.ServerDir = nil, workspace
		if project != nil {
			vars.ServerDir = filepath.Dir(project.Path)
		}
		if user, err = inforce.LoadUser(f.User, known, vars); err != nil {
			return nil, err
		}
	}
	a := inforce.Combine(project, user)
	if project == nil {
		a.ID, a.Name = filepath.Base(workspace), filepath.Base(workspace) // a folder is an app of its own
	}
	a.LLM.Known = a.LLM.Table()
	for _, m := range consent.AppModels(a, "") {
		m.Catalog = a.LLM.Known
	}
	return a, nil
}

// keepPlace sees that the folder of the user's own file is there where a tool could
// make it, so that it can be kept read-only. Where it cannot be made, no tool can
// make it either.
func keepPlace(f inforce.Files, workspace string) {
	if f.Place == "" {
		return
	}
	folder := filepath.Dir(f.Place)
	if rel, err := filepath.Rel(workspace, folder); err == nil && filepath.IsLocal(rel) {
		_ = os.MkdirAll(folder, 0o700)
	}
}

// addModules adds the modules of servers and APIs whose tools are not known yet: each file may
// name those of the other.
func addModules(known app.KnownModules, a *app.App) {
	for _, one := range a.APIs { // an operation that is held is a tool all the same
		if m, taken := known[one.Name]; !taken || m.AlwaysOn {
			known[one.Name] = app.KnownModule{AlwaysOn: true}
		}
	}
	for _, s := range a.Servers {
		if name := app.ServerModule(s.Name); known[name].Actions == nil {
			known[name] = app.KnownModule{AlwaysOn: true}
		}
	}
}

// RuleFiles finds the files and folders in a workspace that hold rules of agents.
func RuleFiles(l *Loader) func(ctx context.Context, workspace string) []string {
	return func(ctx context.Context, workspace string) []string {
		loaded, err := l.Load(ctx, workspace, "")
		if err != nil {
			return nil // what holds rules by its name does so all the same
		}
		return loaded.RuleFiles()
	}
}

// RuleFiles returns the files and folders that hold the rules of the session, and those
// that its MCP servers run. The
// folder of the user's own file is one of them also before there is such a file,
// because a file that a tool puts there would be in force everywhere.
func (l *Loaded) RuleFiles() []string {
	all := l.App.RuleFiles()
	if l.App != nil {
		all = append(slices.Clip(all), servers.CodeFiles(l.App.Servers)...)
	}
	if l.Files.Place != "" {
		all = append(all, filepath.Dir(l.Files.Place))
	}
	return all
}

// Relaxed reports whether processes run even where the sandbox cannot be complete:
// the project says so and a human accepted it, or the user's own file says so.
func (l *Loaded) Relaxed() bool {
	if l.App.Parts != nil && l.App.Parts.User.Runtime.Relaxed {
		return true
	}
	return l.App.Runtime.Relaxed && l.Accepted.Has(consent.Relaxed(l.App))
}
