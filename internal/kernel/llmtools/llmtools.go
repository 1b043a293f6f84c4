// Package llmtools has models do the work of LLM-backed tools. Law: a tool asks the models that its
// app may use, with the keys that the app has: the one of an agent of the same name, another of an
// agent's provider, or one of a provider that the user has a key for. What a human must accept
// first is not asked. That holds for every LLM-backed tool of a session, whoever brings it.
package llmtools

import (
	"cmp"
	"context"
	"slices"

	"callgate/internal/app"
	appllm "callgate/internal/app/llmtools"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/modelset"
	"callgate/internal/provider/catalog"
	"callgate/internal/source/prompted"
	"callgate/internal/source/prompted/builtin"
	"callgate/llmtool"
	"callgate/tool"
)

// Options is what LLM-backed tools need of the kernel.
type Options struct {
	Opener *modelset.Opener
	// Check returns why a model of an app may not be asked: nobody accepted where it is.
	Check func(a *app.App, m *app.Model) error
	// Line returns why a line of an app does not count: nobody accepted it.
	Line  func(a *app.App, line string) error
	Hooks llmtool.Hooks
}

// AppOf is what LLM-backed tools are given as the settings of their module: the app that they are
// called in. It is a function so that nothing that writes settings down writes the app down.
type AppOf func() *app.App

// Settings returns what a session gives LLM-backed tools: whoever brings one, a backend and an
// embedding program too, it is called within the limits of the session's app.
func Settings(of AppOf) func(*tool.Tool) any {
	return func(t *tool.Tool) any {
		if _, ok := llmtool.DefinitionOf(t); ok {
			return of
		}
		return nil
	}
}

// New makes what runs LLM-backed tools.
func New(o Options) *prompted.Runner {
	return &prompted.Runner{Hooks: o.Hooks, Models: func(call tool.Call, grant tool.Grant) prompted.Models {
		m := &models{Options: o, app: &app.App{}, call: call}
		if of, ok := grant.Settings.(AppOf); ok {
			a := of()
			m.app, m.known = a, consent.AppModels(a, call.Principal.Agent)
			m.ownOnly = call.Tool.Namespace == builtin.Namespace && !turnsOn(a, call.Tool)
		}
		return m
	}}
}

// models are those of one call.
type models struct {
	Options
	app   *app.App // an empty one: the tool is of no app
	call  tool.Call
	known []*app.Model
	// ownOnly: the tool is a built-in that the app does not turn on, so nobody accepted that it asks
	// other models than the app does.
	ownOnly bool
}

// turnsOn reports whether an app turns a built-in tool on.
func turnsOn(a *app.App, id tool.ID) bool {
	return slices.ContainsFunc(a.LLM.Tools, func(t appllm.Tool) bool { return t.Builtin && t.ID == id })
}

var _ prompted.Models = (*models)(nil)

// Open returns a model by its name.
func (m *models) Open(_ context.Context, name string) (prompted.Opened, error) {
	provider, model, err := llmtool.SplitModel(name)
	if err != nil {
		return prompted.Opened{}, err
	}
	if m.ownOnly && name != m.Default() {
		return prompted.Opened{}, tool.Errorf("llmtools.Open", tool.Unavailable,
			"the app does not turn this tool on, so it asks the app's own model alone").
			WithHint("name it in tools.llm.builtins of callgate.yaml")
	}
	at := find(m.known, m.app.LLM.Known, provider, model)
	if err := m.Check(m.app, at); err != nil {
		return prompted.Opened{}, err
	}
	target := llmtool.Target{Provider: provider, Model: model, Count: count}
	if provider == app.Offline {
		return prompted.Opened{Model: substitute{}, Target: target, Note: offlineNote}, nil
	}
	use := m.Opener.UseIn(m.app, m.call)
	use.Connect = m.app.LLM.Connect
	opened, info, err := m.Opener.Connect(use, at)
	if err != nil {
		return prompted.Opened{}, err
	}
	target.Window = info.Window
	return prompted.Opened{Model: opened, MaxOutput: info.MaxOutput, Target: target}, nil
}

// Limits are those that the app sets.
func (m *models) Limits() prompted.Limits {
	return prompted.Limits{FirstToken: m.app.LLM.FirstToken, Total: m.app.LLM.Timeout}
}

// Recommended returns the models that the app has a tool ask first, and those that were measured to
// be good at it.
func (m *models) Recommended(id tool.ID) []string { return m.app.LLM.First(id) }

// Default is the app's default model, or its agent's own.
func (m *models) Default() string {
	switch {
	case m.app.LLM.Default(m.call.Tool) != "":
		return m.app.LLM.Default(m.call.Tool)
	case len(m.known) > 0:
		return m.known[0].Provider + "/" + cmp.Or(m.known[0].Name, m.known[0].Provider) // the offline one has no name
	}
	return ""
}

// find returns how a model is reached: as an agent's model of its name, as the models of an
// agent's provider, or in the provider's usual way.
func find(known []*app.Model, table *catalog.Catalog, provider, name string) *app.Model {
	for _, m := range known {
		if m.Provider == provider && m.Name == name {
			return m
		}
	}
	for _, m := range known {
		if m.Provider == provider {
			other := *m
			other.Name, other.Fallback, other.Window = name, nil, 0
			return &other
		}
	}
	m := &app.Model{Provider: provider, Name: name}
	m.Catalog = table
	return m
}

// count estimates the tokens of a text: four bytes each.
func count(text string) int { return (len(text) + 3) / 4 }
