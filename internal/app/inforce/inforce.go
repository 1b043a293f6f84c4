// Package inforce knows which app files are in force in a folder, and what they say
// together.
//
// # Law
//
// The user's own file stands behind that of every project, and behind a folder that
// has none:
//
//   - rules: see combine.go of package policy. A project widens nothing that the user
//     denied;
//   - servers, channels, skills and profiles are those of both. Where two have one name the user's is used,
//     and a warning says so: a cloned folder must not put another program behind a
//     name that the user knows;
//   - a module is set up as the project says, and where that says nothing of it, as the
//     user does. The two are never mixed: a header of one could reach the endpoint of
//     the other. Where the user's keep it from something, the project's need consent;
//   - which modules are on is the project's word. The user's file turns none off by not
//     listing it; it hides or denies what should be nowhere;
//   - agents are the project's, or the user's where it has none;
//   - what makes stricter (require_pinning, strict, middleware) holds from either.
//
// The user's file needs no consent. So it must be the user's own, and nobody else may
// write it or its folder; and it is one of the files that no tool changes unasked.
package inforce

import (
	"os"
	"path/filepath"
	"reflect"

	"callgate/internal/app"
	"callgate/internal/ownership"
	"callgate/tool"
)

// UserFile returns where the user's own app file is, or would be. A relative
// XDG_CONFIG_HOME counts as none. It is "" for a user without a home.
func UserFile(getenv func(string) string) string {
	config := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		home := getenv("HOME")
		if home == "" {
			home, _ = os.UserHomeDir() // "" is handled below
		}
		if !filepath.IsAbs(home) {
			return ""
		}
		config = filepath.Join(home, ".config")
	}
	return filepath.Join(config, "callgate", app.Filename)
}

// Short returns a path as people write it: with ~ for the user's home.
func Short(path string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		return path
	}
	rel, err := filepath.Rel(home, path)
	switch {
	case err != nil || !filepath.IsLocal(rel):
		return path
	case rel == ".":
		return "~"
	}
	return "~" + string(filepath.Separator) + rel
}

// Same reports whether two paths lead to one file.
func Same(a, b string) bool {
	if a == b {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// LoadUser reads the user's own app file. vars.ServerDir is the folder of the project
// in which its servers work.
func LoadUser(path string, known app.KnownModules, vars app.Vars) (*app.App, error) {
	const op = "inforce.LoadUser"
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); err == nil {
		if w := ownership.WriterOf(info); w != nil {
			return nil, tool.Errorf(op, tool.Denied, "the app file %s is not read: %s may change its folder (%s)",
				path, w.Who, w.How).WithHint("%s", w.Hint(folder))
		}
	}
	vars.IsUser = true
	a, err := app.LoadWith(path, known, vars)
	if err != nil {
		return nil, err
	}
	if len(a.Dirs) > 0 {
		return nil, tool.Errorf(op, tool.Invalid, "%s: tools.dirs is not read in your own app file", path).
			WithHint("name the folder in a project's callgate.yaml")
	}
	if len(a.LLM.Dirs) > 0 {
		return nil, tool.Errorf(op, tool.Invalid, "%s: tools.llm.dirs is not read in your own app file", path).
			WithHint("write the tools in tools.llm.tools, or name the folder in a project's callgate.yaml")
	}
	a.LLM.MarkOwn()
	if len(a.Runtime.Triggers) > 0 {
		return nil, tool.Errorf(op, tool.Invalid, "%s: runtime.triggers is not read in your own app file", path).
			WithHint("name them in a project's callgate.yaml")
	}
	for i := range a.Runtime.Channels {
		a.Runtime.Channels[i].FromUser = true
	}
	if a.Runtime.WorkdirMode != "auto" {
		a.Warnings = append(a.Warnings, path+": runtime.workdir_mode is for a project's file, and not used here")
	}
	for i := range a.Modules {
		a.Modules[i].FromUser = true
	}
	for i := range a.Servers {
		a.Servers[i].FromUser = true
	}
	for i := range a.APIs {
		a.APIs[i].FromUser = true
	}
	for i := range a.Agents {
		agent := &a.Agents[i]
		agent.FromUser = true
		markModels(agent.Model)
		for _, m := range agent.Lanes {
			markModels(m)
		}
	}
	for i := range a.Runtime.Hooks {
		a.Runtime.Hooks[i].FromUser = true
	}
	markModels(a.Runtime.Context.SummaryModel)
	a.Search.FromUser = !reflect.ValueOf(a.Search).IsZero()
	return a, nil
}

func markModels(m *app.Model) {
	for ; m != nil && !m.FromUser; m = m.Fallback {
		m.FromUser = true
		markModels(m.Context.SummaryModel)
	}
}
