// Package modelchoice finds the model that a name means: of an app, or of a provider.
//
// Law: a model that the app file names is reached as the file says, and one beside it at the
// same provider too. What is set for the one does not count for the other.
package modelchoice

import (
	"strings"

	"callgate/internal/app"
	"callgate/tool"
)

// Name is a model's name, with its provider's.
func Name(provider, model string) string { return provider + "/" + model }

// Find finds the model that a name means: one of the app's, one at a provider
// that is named, or another one at the provider of the current model.
func Find(a *app.App, current *app.Model, name string) (*app.Model, error) {
	const op = "conversation.SetModel"
	name = strings.TrimSpace(name)
	for _, one := range OfApp(a) {
		if name == Name(one.Provider, one.Name) || name == one.Name {
			return one, nil
		}
	}
	provider, model, named := strings.Cut(name, "/")
	switch {
	case provider == app.Offline:
		return &app.Model{Provider: app.Offline, Name: app.Offline}, nil
	case named && provider != "" && model != "":
		return AtProvider(a, provider, model), nil
	case named || name == "":
		return nil, tool.Errorf(op, tool.Invalid, "%q is no model", tool.Truncate(name)).
			WithHint("name it as PROVIDER/MODEL, such as anthropic/claude-sonnet-4-5")
	case current == nil || current.Provider == app.Offline:
		return nil, tool.Errorf(op, tool.Invalid, "%q does not say whose model it is", tool.Truncate(name)).
			WithHint("name it as PROVIDER/MODEL, such as anthropic/claude-sonnet-4-5")
	}
	return another(current, name), nil
}

// AtProvider is a model of a provider, which is reached as the app reaches it.
func AtProvider(a *app.App, provider, model string) *app.Model {
	for _, one := range OfApp(a) {
		if one.Provider == provider {
			return another(one, model)
		}
	}
	return &app.Model{Provider: provider, Name: model}
}

// another is a model beside one, at the same address. What is set for the one need not
// fit it: its window, and how it makes its answer.
func another(m *app.Model, name string) *app.Model {
	return &app.Model{
		Provider: m.Provider, Name: name, Connection: m.Connection, Timeout: m.Timeout, NativeTools: m.NativeTools,
		Context: m.Context, FromUser: m.FromUser,
	}
}

// OfApp are the models that an app names, in its order.
func OfApp(a *app.App) (list []*app.Model) {
	if a == nil {
		return nil
	}
	for _, agent := range a.Agents {
		for _, m := range []*app.Model{agent.Model, agent.Lanes[app.EdgeLane], agent.Lanes[app.CoreLane]} {
			for ; m != nil; m = m.Fallback {
				list = append(list, m)
			}
		}
	}
	return list
}
