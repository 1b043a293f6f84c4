// Package llmtools has models do the work of LLM-backed tools. Law: a tool asks the models that its
// app may use, with the keys that the app has: the one of an agent of the same name, another of an
// agent's provider, or one of a provider that the user has a key for. What a human must accept
// first is not asked.
package llmtools

import (
	"cmp"
	"context"

	"callgate/internal/app"
	"callgate/internal/kernel/modelset"
	"callgate/internal/source/prompted"
	"callgate/llmtool"
	"callgate/tool"
)

// Options is what LLM-backed tools need of the kernel.
type Options struct {
	Opener *modelset.Opener
	AppOf  modelset.AppOf
	Hooks  llmtool.Hooks
}

// New makes what runs LLM-backed tools.
func New(o Options) *prompted.Runner {
	return &prompted.Runner{Models: &models{o}, Hooks: o.Hooks}
}

// models opens models for calls.
type models struct{ Options }

var _ prompted.Models = (*models)(nil)

// Open returns a model by its name.
func (m *models) Open(_ context.Context, call tool.Call, name string) (prompted.Opened, error) {
	provider, model, err := llmtool.SplitModel(name)
	if err != nil {
		return prompted.Opened{}, err
	}
	_, known, check, err := m.AppOf(call.Principal.Session)
	if err != nil {
		return prompted.Opened{}, err
	}
	at := find(known, provider, model)
	if check != nil {
		if err := check(at); err != nil {
			return prompted.Opened{}, err
		}
	}
	target := llmtool.Target{Provider: provider, Model: model, Count: count}
	if provider == app.Offline {
		return prompted.Opened{Model: substitute{}, Target: target, Note: offlineNote}, nil
	}
	opened, info, err := m.Opener.Connect(at)
	if err != nil {
		return prompted.Opened{}, err
	}
	target.Window = info.Window
	return prompted.Opened{Model: opened, MaxOutput: info.MaxOutput, Target: target}, nil
}

// Limits are those that the app sets.
func (m *models) Limits(call tool.Call) prompted.Limits {
	a, _, _, err := m.AppOf(call.Principal.Session)
	if err != nil || a == nil {
		return prompted.Limits{}
	}
	return prompted.Limits{FirstToken: a.LLM.FirstToken, Total: a.LLM.Timeout}
}

// find returns how a model is reached: as an agent's model of its name, as the models of an
// agent's provider, or in the provider's usual way.
func find(known []*app.Model, provider, name string) *app.Model {
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
	return &app.Model{Provider: provider, Name: name}
}

// Recommended returns the models that were measured to be good at a tool.
func (m *models) Recommended(tool.Call, tool.ID) []string { return nil }

// Default is the app's default model, or its agent's own.
func (m *models) Default(call tool.Call) string {
	a, known, _, err := m.AppOf(call.Principal.Session)
	switch {
	case err != nil || a == nil:
		return ""
	case a.LLM.DefaultModel != "":
		return a.LLM.DefaultModel
	case len(known) > 0:
		return known[0].Provider + "/" + cmp.Or(known[0].Name, known[0].Provider) // the offline one has no name
	}
	return ""
}

// count estimates the tokens of a text: four bytes each.
func count(text string) int { return (len(text) + 3) / 4 }
