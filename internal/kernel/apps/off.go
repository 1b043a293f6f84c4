package apps

import (
	"slices"

	"callgate/internal/app"
	"callgate/internal/kernel/modules"
)

// channelsModule is the module of the tools that send messages.
const channelsModule = "channels"

// turnedOff returns the shipped modules that a project leaves out; without one, none. An
// app without channels has no module for them, one that says nothing of agents that start
// others has none for that, and a module that needs settings is off where no file names it.
func turnedOff(a *app.App) map[string]bool {
	off := map[string]bool{
		channelsModule: a == nil || len(a.Runtime.Channels) == 0, app.SpawnModule: !a.GivesAgents(""),
	}
	for _, name := range modules.NeedSettings() {
		off[name] = a == nil || !names(a.Modules, name)
	}
	project := a.OfProject()
	if project == nil {
		return off
	}
	for _, name := range modules.Names() {
		if !names(project.Modules, name) && name != app.SpawnModule {
			off[name] = true
		}
	}
	return off
}

func names(list []app.Module, name string) bool {
	return slices.ContainsFunc(list, func(m app.Module) bool { return m.Name == name })
}
