package apps

import (
	"context"

	"callgate/internal/app"
)

// Try reads an app file as it would be in a folder, without making anything of it
// known. The folder's own app is loaded first, because the file may name the
// modules of its servers and tools.
func (l *Loader) Try(ctx context.Context, workspace, file string) (inForce *Loaded, tried *app.App, err error) {
	inForce, err = l.Load(ctx, workspace, "")
	if err != nil {
		return nil, nil, err
	}
	known, err := l.known(ctx, inForce.Scope)
	if err != nil {
		return nil, nil, err
	}
	tried, err = app.LoadWith(file, known, app.Vars{Workdir: inForce.Workspace})
	return inForce, tried, err
}

// Off returns the shipped modules that an app leaves out.
func Off(a *app.App) map[string]bool { return turnedOff(a) }
