package apps

import (
	"context"
	"slices"

	"callgate/internal/app"
	"callgate/internal/app/llmtools"
	"callgate/internal/kernel/catalogs"
	"callgate/internal/kernel/servers"
	"callgate/internal/registry"
)

// hasTools reports whether an app brings tools of its own.
func hasTools(a *app.App) bool {
	return len(a.Dirs) > 0 || len(a.Servers) > 0 || len(a.APIs) > 0 || a.LLM.HasTools()
}

// addAPIs makes the APIs of an app known, those that a human accepted. One whose name is taken is a
// warning, and left out.
func (l *Loader) addAPIs(ctx context.Context, a *app.App, scope string, t servers.Terms) error {
	taken, err := takenNames(l, ctx, a)
	if err != nil {
		return err
	}
	isTaken := func(one app.API) bool { return taken[one.Name] != "" }
	accepted := slices.DeleteFunc(l.opt.Consents.Of(a).APIs(a), isTaken)
	return l.opt.Servers.UseAPIs(ctx, scope, accepted, t)
}

// takenNames says which APIs of an app cannot have the name they have, and who has it. Not only a tool of the
// same name would be replaced: what a rule grants to a module would be granted to whatever stands in it.
func takenNames(l *Loader, ctx context.Context, a *app.App) (map[string]string, error) {
	if len(a.APIs) == 0 {
		return nil, nil
	}
	snap, err := l.opt.Tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	taken := map[string]string{}
	for _, one := range a.APIs {
		isOwn := func(t llmtools.Tool) bool { return t.FromUser && t.ID.Namespace == one.Name }
		switch {
		case catalogs.Reserved(one.Name):
			taken[one.Name] = "a module that is built in has that name"
		case len(snap.View(registry.Global).Find(registry.Filter{Namespace: one.Name})) > 0:
			taken[one.Name] = "a module of the program that runs the kernel has that name"
		case !one.FromUser && slices.ContainsFunc(a.LLM.Tools, isOwn):
			taken[one.Name] = "tools of your own app file are in a module of that name"
		}
	}
	return taken, nil
}

// warnOfTakenNames warns of APIs that are left out because of their names.
func warnOfTakenNames(l *Loader, ctx context.Context, loaded *Loaded) error {
	taken, err := takenNames(l, ctx, loaded.App)
	if err != nil {
		return err
	}
	for _, one := range loaded.App.APIs {
		if why := taken[one.Name]; why != "" {
			loaded.warn("the API " + one.Name + " is left out, because " + why +
				": give it another under tools.modules.openapi.config.apis")
		}
	}
	return nil
}

// nameHosts notes in a project's file which hosts its documents name, so that a human who accepts one is shown them.
func nameHosts(l *Loader, project *app.App) {
	for i, one := range project.APIs {
		if one.Digest != "" && one.Server == "" {
			project.APIs[i].Hosts = l.opt.Servers.APIHosts(one)
		}
	}
}
