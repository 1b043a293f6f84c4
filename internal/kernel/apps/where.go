package apps

import (
	"context"
	"reflect"

	"callgate/internal/app"
	"callgate/internal/app/inforce"
)

// Where says which app files are in force in a workspace, and why.
type Where struct {
	Search []string    // how they were found
	Files  []FileParts // those in force, the project's first
	Wins   []string    // what wins where they differ
}

// FileParts is what one app file brings.
type FileParts struct {
	Path     string
	IsUser   bool
	Servers  []string
	APIs     []string
	Agents   []string
	Skills   []string
	Profiles []string
	Modules  []string // those that it sets up
	Rules    []string
	Waits    []string // what of it waits for a human
}

// Where explains which app files are in force for a session.
func (l *Loader) Where(ctx context.Context, loaded *Loaded) (Where, error) {
	w := Where{Search: searchLines(loaded.Files)}
	a := loaded.App
	if a == nil {
		return w, nil
	}
	servers, err := l.opt.Servers.In(loaded.Scope).List(ctx)
	if err != nil {
		return w, err
	}
	waiting := map[string]bool{}
	for _, s := range servers {
		waiting[s.Name] = !s.Accepted
	}
	add := func(part *app.App, isUser bool) {
		if part == nil {
			return
		}
		f := fileParts(part)
		f.IsUser = isUser
		for _, s := range a.Servers {
			if s.FromUser == isUser && waiting[s.Name] {
				f.Waits = append(f.Waits, "start the MCP server "+s.Name+" (callgate mcp trust "+s.Name+")")
			}
		}
		if !isUser {
			for _, line := range loaded.Pending {
				f.Waits = append(f.Waits, line+" (callgate app trust)")
			}
		}
		w.Files = append(w.Files, f)
	}
	add(a.OfProject(), false)
	if a.Parts != nil {
		add(a.Parts.User, true)
		w.Wins = append(a.Rules.Differences(), inforce.Replaced(a.Parts.Project, a.Parts.User)...)
	}
	return w, nil
}

func searchLines(f inforce.Files) []string {
	var lines []string
	if f.Named {
		lines = append(lines, "the project's file was named, and not searched")
	}
	for _, folder := range f.Trail.Searched {
		text := ": there is no " + app.Filename
		if f.Trail.File != "" && folder == f.Trail.Searched[len(f.Trail.Searched)-1] {
			text = ": has one"
		}
		lines = append(lines, inforce.Short(folder)+text)
	}
	if f.Trail.End != "" {
		lines = append(lines, "the search ended there: "+f.Trail.End)
	}
	switch {
	case f.IsUser:
		lines = append(lines, "that file is your own, and no project's")
	case f.User != "":
		lines = append(lines, "your own file: "+inforce.Short(f.User))
	case f.Place != "":
		lines = append(lines, "your own file: there is none at "+inforce.Short(f.Place))
	}
	return lines
}

func fileParts(a *app.App) FileParts {
	f := FileParts{Path: a.Path, Rules: a.Rules.Lines()}
	for _, s := range a.Servers {
		f.Servers = append(f.Servers, s.Name)
	}
	for _, one := range a.APIs {
		f.APIs = append(f.APIs, one.Name)
	}
	for _, agent := range a.Agents {
		f.Agents = append(f.Agents, agent.ID)
	}
	for _, s := range a.Skills {
		f.Skills = append(f.Skills, s.Command)
	}
	for _, p := range a.Profiles {
		f.Profiles = append(f.Profiles, p.Name)
	}
	for _, m := range a.Modules {
		name := m.Name
		m.Name, m.FromUser = "", false
		if !reflect.ValueOf(m).IsZero() {
			f.Modules = append(f.Modules, name)
		}
	}
	return f
}
