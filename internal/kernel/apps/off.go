package apps

import (
	"slices"

	"callgate/internal/app"
	"callgate/internal/kernel/modules"
)

// channelsModule is the module of the tools that send messages.
const channelsModule = "channels"

// grantedModules are the kernel's own modules that are off until a rule grants them, or something of them: most apps
// do what they do by other means.
var grantedModules = []string{"mcp"}

// turnedOff returns the shipped modules that a project leaves out; without one, none. An
// app without channels has no module for them, one that says nothing of agents that start
// others has none for that, and a module that needs settings is on only where it is named.
func turnedOff(a *app.App) map[string]bool {
	off := map[string]bool{
		channelsModule: a == nil || len(a.Runtime.Channels) == 0, app.SpawnModule: !a.GivesAgents(""),
	}
	for _, name := range grantedModules {
		off[name] = a == nil || !a.Rules.Grants(name)
	}
	project, named := a.OfProject(), modules.NeedSettings()
	for _, name := range modules.Names() {
		on := project == nil || lists(project, name)
		if slices.Contains(named, name) {
			on = a != nil && lists(a, name)
		}
		if !on && name != app.SpawnModule {
			off[name] = true
		}
	}
	return off
}

func lists(a *app.App, module string) bool {
	return slices.ContainsFunc(a.Modules, func(m app.Module) bool { return m.Name == module })
}
