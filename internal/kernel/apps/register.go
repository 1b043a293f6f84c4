package apps

import (
	"context"
	"slices"

	"callgate/internal/app"
	"callgate/internal/app/inforce"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/servers"
	"callgate/internal/source/executable"
)

// registered is what a scope was given last.
type registered struct {
	app   *app.App
	files inforce.Files
}

// register makes what an app brings known in its scope: its servers, APIs, folders and LLM-backed tools, as far as a
// human accepted them.
func (l *Loader) register(
	ctx context.Context, a *app.App, files inforce.Files, scope string,
) (*executable.Layers, error) {
	accepted := l.opt.Consents.Of(a)
	relaxed := a.Runtime.Relaxed && accepted.Has(consent.Relaxed(a))
	terms := servers.Terms{Pinning: a.Pinning, Relaxed: relaxed, AppFile: files.Project}
	terms.Rules = slices.Concat(a.RuleFiles(), servers.CodeFiles(a.Servers))
	if err := l.opt.Servers.Use(scope, accepted.Servers(a), terms); err != nil {
		return nil, err
	}
	if err := l.addAPIs(ctx, a, scope, terms); err != nil {
		return nil, err
	}
	f, err := l.addFolders(ctx, a, scope)
	if err != nil {
		return nil, err
	}
	if err := l.addLLMTools(a, scope); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current[scope] = registered{a, files}
	return f, nil
}

// forget notes that the app of a scope brings nothing, whatever one before it brought.
func forget(l *Loader, scope string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.current, scope)
}

// Keep notes what the scope of an app has, and returns what gives it that again.
func (l *Loader) Keep(old *Loaded) (restore func(context.Context) error) {
	scope := scopeOf(old.Files, old.Workspace)
	l.mu.Lock()
	was, known := l.current[scope]
	l.mu.Unlock()
	if !known {
		was = registered{&app.App{}, old.Files}
	}
	return func(ctx context.Context) error {
		_, err := l.register(ctx, was.app, was.files, scope)
		if !known {
			forget(l, scope)
		}
		return err
	}
}
