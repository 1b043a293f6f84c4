package apps

import (
	"cmp"
	"os"
	"path/filepath"

	"callgate/internal/app"
	"callgate/internal/app/inforce"
	"callgate/internal/gate"
)

// Files are the app files that are in force in a workspace, and how they were found.
type Files struct {
	Project string    // "": there is none
	User    string    // the user's own; "": there is none
	Named   bool      // the project's was named by the user, not searched
	Trail   app.Trail // how it was searched
	IsUser  bool      // the file that was named or found is the user's own
	Place   string    // where the user's own is, or would be
}

// None reports whether no app file is in force.
func (f Files) None() bool { return f.Project == "" && f.User == "" }

// InForce returns the files, as people write them: the project's first.
func (f Files) InForce() []string {
	var all []string
	for _, path := range []string{f.Project, f.User} {
		if path != "" {
			all = append(all, inforce.Short(path))
		}
	}
	return all
}

// find finds the app files of a workspace. A user's own file that is there and cannot
// be read is found too: its reading says why, because nothing may run without the rules
// in it.
func (l *Loader) find(workspace, named string) (f Files, err error) {
	f.Project, f.Named, f.Place = named, named != "", l.opt.UserFile
	if named == "" {
		if f.Trail, err = app.Trace(workspace); err != nil {
			return f, err
		}
		f.Project = f.Trail.File
	}
	if l.opt.UserFile == "" {
		return f, nil
	}
	if _, err := os.Lstat(l.opt.UserFile); !os.IsNotExist(err) {
		f.User = l.opt.UserFile
	}
	if f.User != "" && f.Project != "" && inforce.Same(f.Project, f.User) {
		f.Project, f.IsUser = "", true
	}
	return f, nil
}

// scope names what the files bring to a workspace.
func (f Files) scope(workspace string) string {
	return gate.Scope(cmp.Or(f.Project, f.User), workspace)
}

// of returns the file that an agent is in.
func (f Files) of(a app.Agent) string {
	if a.FromUser {
		return f.User
	}
	return f.Project
}

// load reads the files.
func (f Files) load(workspace string, known app.KnownModules) (*app.App, error) {
	var project, user *app.App
	var err error
	vars := app.Vars{Workdir: workspace}
	if f.Project != "" {
		if project, err = app.LoadWith(f.Project, known, vars); err != nil {
			return nil, err
		}
	}
	if f.User != "" {
		vars.ServerDir = workspace
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
	return a, nil
}

// keepPlace sees that the folder of the user's own file is there where a tool could
// make it, so that it can be kept read-only. Where it cannot be made, no tool can
// make it either.
func (f Files) keepPlace(workspace string) {
	if f.Place == "" {
		return
	}
	folder := filepath.Dir(f.Place)
	if rel, err := filepath.Rel(workspace, folder); err == nil && filepath.IsLocal(rel) {
		_ = os.MkdirAll(folder, 0o700)
	}
}

// addServers adds the modules of servers whose tools are not known yet: each file may
// name the servers of the other.
func addServers(known app.KnownModules, servers []app.Server) {
	for _, s := range servers {
		if name := app.ServerModule(s.Name); known[name].Actions == nil {
			known[name] = app.KnownModule{AlwaysOn: true}
		}
	}
}

// RuleFiles returns the files and folders that hold the rules of the session. The
// folder of the user's own file is one of them also before there is such a file,
// because a file that a tool puts there would be in force everywhere.
func (l *Loaded) RuleFiles() []string {
	all := l.App.RuleFiles()
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
	return l.App.Runtime.Relaxed && l.Accepted
}
