// Package llmprovider is the module llm_provider: the language models of an app, as tools.
//
// # Law
//
//   - A model is asked that the app file names and a human accepted, at the address and with the key that stand there.
//     No tool here takes a key, an address or a header, shows one, or moves one: what the app file says of its models
//     is a human's to change.
//   - What configure makes is a name for a model of the app with defaults for asking it, in one session, and ends
//     with it. A question that bears the name is judged, shown, counted and sent with what the name stood for when the
//     question came. No name is that of a model or a provider of the app.
//   - A question is sent under the app's limits and charged to its budget like every other, and is on record.
//   - What a model answers is data for whoever asked.
package llmprovider

import (
	"cmp"
	"context"
	_ "embed"
	"slices"
	"sync"
	"time"

	"callgate/internal/module"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "llm_provider"

// Module returns the module.
func Module() module.Module {
	return module.Module{
		Name: Namespace, Summary: "The app's language models: list them, ask one, keep defaults for asking under a name.",
		Settings: func() any { return defaultSettings() }, NeedsSettings: true,
		Open: func(h module.Host) (*module.Instance, error) {
			p := &providers{models: h.Models, bySession: map[string]map[string]preset{}}
			var tools []*tool.Tool
			for _, d := range p.definitions() {
				d.Aliases, d.Tags = aliases[d.Name], []string{"llm", "model", "provider", "modèle", "Modell", "modelo", "模型"}
				tools = append(tools, d.Tool(Namespace))
			}
			return &module.Instance{Tools: tools, OnSessionEnd: p.forget}, nil
		},
	}
}

type settings struct {
	MaxTokens int            `config:"max_tokens" range:"1,100000" help:"how long an answer is unless the call says otherwise"`
	Timeout   module.Seconds `config:"timeout_seconds" range:"1,600" help:"how long an answer may take"`
	Models    []string       `constraint:"models" help:"the only models of the app that are asked here: provider/model"`
	MaxInput  int            `constraint:"max_input" range:"1,2000000" help:"how many characters a question may have"`
}

func defaultSettings() *settings { return &settings{MaxTokens: 2000, Timeout: 120, MaxInput: 200_000} }

// providers is the open module.
type providers struct {
	models module.Models

	mu        sync.Mutex
	bySession map[string]map[string]preset
}

// preset is a model with defaults for asking it.
type preset struct {
	Name        string   `json:"name"`
	Model       string   `json:"model"`
	System      string   `json:"system,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"`
}

// maxPresets bounds the presets of a session.
const maxPresets = 32

// with returns the preset with what another says in its place.
func (p preset) with(o preset) preset {
	p.Model, p.System, p.MaxTokens = cmp.Or(o.Model, p.Model), cmp.Or(o.System, p.System), cmp.Or(o.MaxTokens, p.MaxTokens)
	p.Temperature, p.TopP = cmp.Or(o.Temperature, p.Temperature), cmp.Or(o.TopP, p.TopP)
	return p
}

func (p *providers) forget(session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.bySession, session)
}

func (p *providers) get(session, name string) (preset, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.bySession[session][name]
	return found, ok
}

func (p *providers) all(session string) []preset {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := []preset{}
	for _, one := range p.bySession[session] {
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b preset) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// put keeps a preset; false: there are too many.
func (p *providers) put(session string, one preset) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.bySession[session]
	if _, known := of[one.Name]; !known && len(of) >= maxPresets {
		return false
	}
	if of == nil {
		of = map[string]preset{}
		p.bySession[session] = of
	}
	of[one.Name] = one
	return true
}

func (p *providers) drop(session, name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, known := p.bySession[session][name]
	delete(p.bySession[session], name)
	return known
}

// request is a call, as the handlers need it.
type request struct {
	op       string
	call     tool.Call
	settings *settings
}

// handler reads a call.
func handler[In any](run func(context.Context, request, In) (*tool.Result, error)) tool.Handler {
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, g tool.Grant) (*tool.Result, error) {
		op := call.Tool.Dotted()
		in, err := module.Args[In](op, call)
		if err != nil {
			return nil, err
		}
		return run(ctx, request{op, call, module.SettingsOf(g, defaultSettings)}, in)
	})
}

// listed returns the models of the app that may be asked here.
func (p *providers) listed(ctx context.Context, r request) ([]module.ModelInfo, error) {
	lister, ok := p.models.(module.ModelLister)
	if !ok {
		return nil, tool.Errorf(r.op, tool.Unavailable, "there is no language model here").
			WithHint("a human gives an agent of the app a brain in callgate.yaml")
	}
	all, err := lister.List(ctx, r.call)
	return slices.DeleteFunc(all, func(m module.ModelInfo) bool {
		return len(r.settings.Models) > 0 && !slices.ContainsFunc(r.settings.Models, m.Named)
	}), err
}

// find returns the model that a name means; "": the first.
func (p *providers) find(ctx context.Context, r request, name string) (module.ModelInfo, error) {
	all, err := p.listed(ctx, r)
	if err != nil {
		return module.ModelInfo{}, err
	}
	var names []string
	for _, m := range all {
		if name == "" || m.Named(name) {
			return m, nil
		}
		names = append(names, m.Provider+"/"+m.Name)
	}
	if len(all) == 0 {
		return module.ModelInfo{}, tool.Errorf(r.op, tool.Unavailable, "the app has no model that may be asked here").
			WithHint("a human gives an agent of the app a brain in callgate.yaml")
	}
	return module.ModelInfo{}, tool.Errorf(r.op, tool.NotFound, "the app has no model %q", tool.Truncate(name)).
		WithHint("it has %v; a human adds others in callgate.yaml, with their keys", names)
}

const timeLimit = 11 * time.Minute
