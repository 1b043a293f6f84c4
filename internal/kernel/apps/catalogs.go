package apps

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"callgate/internal/app"
	appllm "callgate/internal/app/llmtools"
	"callgate/internal/kernel/catalogs"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/llmtools"
	"callgate/internal/kernel/signatures"
	"callgate/internal/signing"
	"callgate/llmtool"
	"callgate/tool"
)

// listedApp is an app that names catalogs of tools, as it was loaded last in its scope.
type listedApp struct {
	app  *app.App // of its own: nobody changes it
	uses []use
}

// use is a catalog, and how the app names it.
type use struct {
	appllm.ToolCatalog
	config  catalogs.Config
	catalog *catalogs.Catalog
}

// tools are what the catalogs list now.
func (l *listedApp) tools() (all []appllm.Tool) {
	if l == nil {
		return nil
	}
	for _, u := range l.uses {
		for _, t := range u.catalog.Listing().Tools {
			d, ok := llmtool.DefinitionOf(t.Tool)
			if !ok {
				continue
			}
			all = append(all, appllm.Tool{
				Tool: t.Tool, Definition: d, Digest: t.Digest, FromUser: u.FromUser, Catalog: u.URL, At: u.At,
			})
		}
	}
	return all
}

// listings are those of the catalogs, by which it is known whether something changed.
func (l *listedApp) listings() (all []*catalogs.Listing) {
	if l == nil {
		return nil
	}
	for _, u := range l.uses {
		all = append(all, u.catalog.Listing())
	}
	return all
}

// takeCatalogs opens the catalogs of an app that a human accepted, closes those that it no longer
// names, and adds to the app what they list. One that cannot be used is a warning.
func (l *Loader) takeCatalogs(ctx context.Context, a *app.App, scope string) error {
	if len(a.LLM.ToolCatalogs) == 0 && !l.opt.Catalogs.Any(scope) {
		return nil
	}
	known, err := l.opt.Signatures.List(ctx)
	if err != nil {
		return err
	}
	taken, accepted := &listedApp{app: withListed(a, nil)}, l.opt.Consents.Of(a)
	for _, c := range a.LLM.ToolCatalogs {
		if !accepted.Has(consent.ToolCatalog(a, c)) {
			continue // what is pending says so
		}
		key, err := keyOf(c, known, a.LLM.Signed)
		if err != nil {
			said := fmt.Sprintf("%s: the catalog %s is left out: %v", a.Path, c.URL, err)
			if a.Runtime.Strict {
				return tool.Errorf("apps.Load", tool.Invalid, "%s", said)
			}
			a.Warnings = append(a.Warnings, said)
			continue
		}
		config := catalogs.Config{URL: c.URL, Key: key, Refresh: c.Refresh, Private: c.PrivateHosts}
		taken.uses = append(taken.uses, use{ToolCatalog: c, config: config})
	}
	l.mu.Lock()
	open, err := l.useCatalogs(taken, scope)
	l.mu.Unlock()
	if err != nil {
		return err
	}
	catalogs.Wait(ctx, open)
	for _, c := range open {
		a.Warnings = append(a.Warnings, c.Listing().Problems...)
	}
	*a = *withListed(a, taken.tools())
	return nil
}

// useCatalogs opens the catalogs of an app; l.mu is held.
func (l *Loader) useCatalogs(taken *listedApp, scope string) ([]*catalogs.Catalog, error) {
	configs := make([]catalogs.Config, len(taken.uses))
	for i, u := range taken.uses {
		configs[i] = u.config
	}
	open, err := l.opt.Catalogs.Use(scope, configs)
	if err != nil {
		return nil, err
	}
	for i, c := range open {
		taken.uses[i].catalog = c
	}
	if l.listed[scope] = taken; len(open) == 0 {
		delete(l.listed, scope)
	}
	return open, nil
}

// keyOf returns the key that signs a catalog: the one that is written, or the trusted one of a name.
// Where tools must be signed, only a trusted one counts.
func keyOf(c appllm.ToolCatalog, known []signatures.Info, mustTrust bool) (signing.Key, error) {
	key, err := signing.ParseKey(c.Key)
	isTrusted := func(i signatures.Info) bool {
		return i.Trusted && (err != nil && i.Name == c.Key || err == nil && i.Key == key.String())
	}
	i := slices.IndexFunc(known, isTrusted)
	switch {
	case i >= 0:
		return signing.ParseKey(known[i].Key)
	case err != nil:
		return key, tool.Errorf("apps.Load", tool.NotFound, "you trust no key named %s", c.Key).
			WithHint("if you know whose key that is: callgate keys trust %s KEY", c.Key)
	case mustTrust:
		return key, tool.Errorf("apps.Load", tool.Denied, "tools must be signed, and you do not trust the key %s", key.ID()).
			WithHint("if you know whose key that is: callgate keys trust NAME %s", key)
	}
	return key, nil
}

// withListed returns an app with the tools that its catalogs list. The app itself stays as it is.
func withListed(a *app.App, listed []appllm.Tool) *app.App {
	if len(a.LLM.ToolCatalogs) == 0 {
		return a
	}
	out := *a
	out.LLM = a.LLM.WithListed(listed)
	if a.Parts == nil || a.Parts.Project == nil {
		return &out
	}
	parts, project := *a.Parts, *a.Parts.Project
	ofUser := func(t appllm.Tool) bool { return t.FromUser }
	project.LLM = project.LLM.WithListed(slices.DeleteFunc(slices.Clone(listed), ofUser))
	parts.Project, out.Parts = &project, &parts
	return &out
}

// relist shows what the catalogs of a scope list now.
func (l *Loader) relist(scope string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.listed[scope]; known != nil {
		_ = l.showLLMTools(known.app, scope) // the app was loaded with its own tools, and a catalog has no others
	}
}

// Withdraw closes the catalogs of a scope that a human no longer accepts, and takes the LLM-backed tools
// away that they no longer do.
func (l *Loader) Withdraw(scope string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.listed[scope]
	if known == nil {
		return nil
	}
	accepted := l.opt.Consents.Of(known.app)
	left := &listedApp{app: known.app}
	for _, u := range known.uses {
		if accepted.Has(consent.ToolCatalog(known.app, u.ToolCatalog)) {
			left.uses = append(left.uses, u)
		}
	}
	if _, err := l.useCatalogs(left, scope); err != nil {
		return err
	}
	return l.showLLMTools(known.app, scope)
}

// nowListed returns an app of a session with what its catalogs list now: whose a tool is, and which
// models it asks, holds for one too that was listed after the session began.
func (l *Loader) nowListed(a *app.App, scope string) llmtools.AppOf {
	if len(a.LLM.ToolCatalogs) == 0 {
		return func() *app.App { return a }
	}
	var mu sync.Mutex
	var seen []*catalogs.Listing
	now := a
	return func() *app.App {
		l.mu.Lock()
		known := l.listed[scope]
		l.mu.Unlock()
		mu.Lock()
		defer mu.Unlock()
		if listings := known.listings(); !slices.Equal(listings, seen) {
			seen, now = listings, withListed(a, known.tools())
		}
		return now
	}
}

// Catalogs are the catalogs of LLM-backed tools of all apps.
func (l *Loader) Catalogs() *catalogs.Set { return l.opt.Catalogs }
