package inforce

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"callgate/internal/agent/surface"
	"callgate/internal/app"
	"callgate/internal/app/apis"
	"callgate/internal/app/sections"
	"callgate/internal/gate/policy"
)

// Combine returns what the files in force say together. Either may be nil. Without a
// project the app has no path, and no name of its own.
func Combine(project, user *app.App) *app.App {
	if user == nil {
		return project
	}
	parts := &app.Parts{Project: project, User: user}
	if project == nil {
		a, none := *user, (*policy.Rules)(nil)
		a.Parts, a.Path, a.Identity = parts, "", app.Identity{}
		a.Runtime.Workdir, a.Runtime.WorkdirMode = "", "auto"
		a.Rules = none.Over(user.Rules, "", Short(user.Path))
		return &a
	}
	a := *project
	a.Parts = parts
	a.Rules = project.Rules.Over(user.Rules, Short(project.Path), Short(user.Path))
	a.Warnings = slices.Concat(user.Warnings, project.Warnings)
	a.Pinning = project.Pinning || user.Pinning
	a.SignedDirs = project.SignedDirs || user.SignedDirs
	a.Middleware = slices.Concat(user.Middleware, project.Middleware)
	a.Modules = modules(project, user)
	a.Runtime.Strict = project.Runtime.Strict || user.Runtime.Strict
	a.Runtime.NoInstructions = project.Runtime.NoInstructions || user.Runtime.NoInstructions
	a.Runtime.Hooks = slices.Concat(user.Runtime.Hooks, project.Runtime.Hooks)
	a.Runtime.Context = project.Runtime.Context.Over(user.Runtime.Context)
	a.Runtime.Attachments = project.Runtime.Attachments.And(user.Runtime.Attachments)
	a.Runtime.Sessions.Mode = cmp.Or(project.Runtime.Sessions.Mode, user.Runtime.Sessions.Mode)
	a.Runtime.Sessions.Max = least(project.Runtime.Sessions.Max, user.Runtime.Sessions.Max)
	a.Runtime.Sections = union(user.Runtime.Sections, project.Runtime.Sections, sectionKey)
	sections.Sort(a.Runtime.Sections)
	a.Runtime.Channels = union(user.Runtime.Channels, project.Runtime.Channels, channelKey)
	a.Runtime.DefaultChannel = cmp.Or(project.Runtime.DefaultChannel, user.Runtime.DefaultChannel)
	a.Runtime.Scheduler = cmp.Or(project.Runtime.Scheduler, user.Runtime.Scheduler)
	if len(project.Runtime.Modes) == 0 {
		a.Runtime.Modes = user.Runtime.Modes
	}
	a.Runtime.Watchers = project.Runtime.Watchers || user.Runtime.Watchers
	if len(project.Agents) == 0 {
		a.Agents, a.Runtime.Entry = user.Agents, user.Runtime.Entry
	}
	a.Search.NoLearn = false // which alone is no way to search
	if reflect.ValueOf(a.Search).IsZero() {
		a.Search = user.Search
	}
	a.Search.NoLearn = project.Search.NoLearn || user.Search.NoLearn
	a.Surface = combineSurface(project.Surface, user.Surface)
	a.Warnings = append(a.Warnings, Replaced(project, user)...)
	a.Servers = union(user.Servers, project.Servers, serverKey)
	a.APIs = union(user.APIs, project.APIs, apiKey)
	a.LLM = project.LLM.Over(user.LLM)
	a.Providers = slices.Concat(user.Providers, project.Providers)
	a.Memory = cmp.Or(project.Memory, user.Memory)
	a.UserSkills = project.UserSkills || user.UserSkills
	a.Skills = union(user.Skills, project.Skills, skillKey)
	a.Profiles = union(user.Profiles, project.Profiles, profileKey)
	return &a
}

// least is the stricter of two bounds, of which 0 is none.
func least(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// combineSurface is how tools are shown: as the project says, and where it says
// nothing, as the user does. Which built-in modules a client is given is a choice by
// itself.
func combineSurface(project, user app.Surface) app.Surface {
	builtin := project.Builtin
	if builtin.Choice == surface.BuiltinAuto {
		builtin = user.Builtin
	}
	project.Builtin = surface.Builtin{}
	if reflect.ValueOf(project).IsZero() {
		project = user
	}
	project.Builtin = builtin
	return project
}

// modules are those of the project. One of which it says nothing is set up as the user
// says. The modules of the user's servers are on, too, and those that must be named and the
// user names.
func modules(project, user *app.App) []app.Module {
	for i, m := range project.Modules {
		project.Modules[i].Replaces = !saysNothing(m) && !isServer(user, m.Name) && limits(user, m.Name)
	}
	all := slices.Clone(project.Modules)
	for i, m := range all {
		if isServer(user, m.Name) {
			all[i] = app.Module{Name: m.Name}
		}
	}
	for _, own := range user.Modules {
		i := slices.IndexFunc(all, func(m app.Module) bool { return m.Name == own.Name })
		switch {
		case i >= 0 && saysNothing(all[i]):
			all[i] = own
		case i < 0 && (isServer(user, own.Name) || own.Named):
			all = append(all, own)
		}
	}
	return all
}

func isServer(a *app.App, module string) bool {
	return slices.ContainsFunc(a.Servers, func(s app.Server) bool { return app.ServerModule(s.Name) == module })
}

// limits reports whether an app keeps a module from something by its settings.
func limits(a *app.App, module string) bool {
	return slices.ContainsFunc(a.Modules, func(m app.Module) bool {
		return m.Name == module && (m.Constraints != nil || len(m.Middleware) > 0)
	})
}

func saysNothing(m app.Module) bool {
	m.Name, m.Named = "", false
	return reflect.ValueOf(m).IsZero()
}

func serverKey(s app.Server) string { return app.ServerModule(s.Name) }

func apiKey(a apis.API) string { return a.Name }

func channelKey(c app.Channel) string { return c.Name }

func sectionKey(s app.Section) string { return s.ID }

func profileKey(p app.Profile) string { return p.Name }

func skillKey(s app.Skill) string { return strings.ToLower(s.Command) }

// union returns the user's things, and those of the project whose names the user does
// not have.
func union[T any](user, project []T, key func(T) string) []T {
	return append(slices.Clone(user), slices.DeleteFunc(slices.Clone(project), func(one T) bool {
		return has(user, one, key)
	})...)
}

func has[T any](all []T, one T, key func(T) string) bool {
	return slices.ContainsFunc(all, func(other T) bool { return key(other) == key(one) })
}

// Replaced says what of a project is not used, because the user has one of that name.
func Replaced(project, user *app.App) []string {
	if project == nil || user == nil {
		return nil
	}
	var lines []string
	line := func(what string) {
		lines = append(lines, Short(project.Path)+": its "+what+" is not used, because "+
			Short(user.Path)+" has one of that name; rename one of the two")
	}
	for _, s := range project.Servers {
		if has(user.Servers, s, serverKey) {
			line("MCP server " + s.Name)
		}
	}
	for _, one := range project.APIs {
		if has(user.APIs, one, apiKey) {
			line("API " + one.Name)
		}
	}
	for _, c := range project.Runtime.Channels {
		if has(user.Runtime.Channels, c, channelKey) {
			line("channel " + c.Name)
		}
	}
	for _, s := range project.Runtime.Sections {
		if has(user.Runtime.Sections, s, sectionKey) {
			line("section " + s.ID + " of the context")
		}
	}
	for _, s := range project.Skills {
		if has(user.Skills, s, skillKey) {
			line("skill " + s.Command)
		}
	}
	for _, p := range project.Profiles {
		if has(user.Profiles, p, profileKey) {
			line("profile " + p.Name)
		}
	}
	return lines
}
