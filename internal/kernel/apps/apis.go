package apps

import (
	"context"
	"slices"

	"callgate/internal/app"
	"callgate/internal/kernel/catalogs"
	"callgate/internal/kernel/servers"
)

// hasTools reports whether an app brings tools of its own.
func hasTools(a *app.App) bool {
	return len(a.Dirs) > 0 || len(a.Servers) > 0 || len(a.APIs) > 0 || a.LLM.HasTools()
}

// addAPIs makes the APIs of an app known, those that a human accepted. One whose name is taken is a
// warning, and left out.
func (l *Loader) addAPIs(ctx context.Context, a *app.App, scope string, t servers.Terms) error {
	isTaken := func(one app.API) bool { return catalogs.Reserved(one.Name) }
	accepted := slices.DeleteFunc(l.opt.Consents.Of(a).APIs(a), isTaken)
	return l.opt.Servers.UseAPIs(ctx, scope, accepted, t)
}

// takenNames warns of APIs that cannot have the name they have.
func takenNames(a *app.App) (warnings []string) {
	for _, one := range a.APIs {
		if catalogs.Reserved(one.Name) {
			warnings = append(warnings, "the API "+one.Name+" is left out, because a module that is built in has that name: "+
				"give it another under tools.modules.openapi.config.apis")
		}
	}
	return warnings
}
