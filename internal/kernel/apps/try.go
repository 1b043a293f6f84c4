package apps

import (
	"context"

	"callgate/internal/app"
	"callgate/internal/app/inforce"
)

// Try reads an app file as it would be in a folder, over the user's own, without
// making anything of it known. What is in force in the folder is loaded first,
// because the file may name the modules of its servers and tools.
func (l *Loader) Try(ctx context.Context, workspace, file string) (inForce *Loaded, tried *app.App, err error) {
	inForce, err = l.Load(ctx, workspace, "")
	if err != nil {
		return nil, nil, err
	}
	known, err := l.known(ctx, inForce.Scope)
	if err != nil {
		return nil, nil, err
	}
	files, err := inforce.Find(inForce.Workspace, file, l.opt.UserFile)
	if err != nil {
		return nil, nil, err
	}
	if inForce.App != nil {
		addModules(known, inForce.App)
	}
	tried, err = loadFiles(l, files, inForce.Workspace, known, true)
	return inForce, tried, err
}

// TryText reads a text as it would be in the place of the project's app file, over the
// user's own, without making anything of it known. What only the folders and servers that
// the text adds would tell is not part of it.
func (l *Loader) TryText(ctx context.Context, inForce *Loaded, text []byte) (*app.App, error) {
	known, err := l.known(ctx, inForce.Scope)
	if err != nil {
		return nil, err
	}
	if text == nil {
		text = []byte{} // a file without a word
	}
	tried, err := loadText(l, inForce.Files, inForce.Workspace, known, true, text)
	if err != nil {
		return nil, err
	}
	addModules(known, tried)
	if tried, err = loadText(l, inForce.Files, inForce.Workspace, known, false, text); err != nil {
		return nil, err
	}
	return tried, l.learn(ctx, tried, inForce.Scope)
}

// Off returns the shipped modules that an app leaves out.
func Off(a *app.App) map[string]bool { return turnedOff(a.OfProject()) }
