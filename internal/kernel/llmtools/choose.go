package llmtools

import (
	"slices"

	"callgate/internal/app"
	appllm "callgate/internal/app/llmtools"
	"callgate/internal/kernel/consent"
	"callgate/internal/protocol"
	"callgate/internal/source/prompted/builtin"
	"callgate/llmtool"
	"callgate/tool"
)

// Choose lets a call choose a model of an agent, which a human accepts before it is asked, or one
// that the app names for benchmarks.
func (m *models) Choose(name string) error {
	if slices.Contains(agentModels(m.known), name) || slices.Contains(m.app.LLM.OwnBenchModels, name) {
		return nil
	}
	if slices.Contains(m.app.LLM.BenchModels, name) {
		return m.Line(m.app, consent.BenchModels(m.app))
	}
	return tool.Errorf("llmtools.Choose", tool.Denied, "the app does not name the model %s", tool.Truncate(name)).
		WithHint("add it to tools.llm.bench_models in callgate.yaml, and accept it with callgate app trust")
}

// agentModels are the names of models that agents have.
func agentModels(known []*app.Model) (names []string) {
	for _, m := range known {
		if m.Provider != app.Offline {
			names = append(names, m.Provider+"/"+m.Name)
		}
	}
	return names
}

// Describe says what a benchmark must know of an LLM-backed tool of an app, which may be nil.
func Describe(a *app.App, t *tool.Tool) (protocol.LLMTool, bool) {
	d, ok := llmtool.DefinitionOf(t)
	if !ok {
		return protocol.LLMTool{}, false
	}
	if a == nil {
		a = &app.App{}
	}
	out := protocol.LLMTool{
		Digest: digest(a, t.ID, d), Threshold: d.RecommendedThreshold, Compat: a.LLM.Compat, Order: order(a, t.ID, d),
	}
	if out.Threshold == 0 {
		out.Threshold = 100
	}
	for _, c := range a.LLM.Catalogs {
		if !c.FromUser {
			out.Catalog = c.Path
		}
	}
	for _, name := range slices.Concat(d.ModelPreference.Models(), a.LLM.First(t.ID),
		a.LLM.BenchModels, a.LLM.OwnBenchModels, agentModels(consent.AppModels(a, ""))) {
		if !slices.Contains(out.Models, name) {
			out.Models = append(out.Models, name)
		}
	}
	if name := a.LLM.Default(t.ID); len(out.Models) == 0 && name != "" {
		out.Models = []string{name}
	}
	return out, true
}

// order lists the models that a tool asks one after the other, as far as they can be asked.
func order(a *app.App, id tool.ID, d llmtool.Definition) (names []string) {
	m := &models{app: a, call: tool.Call{Tool: id}, known: consent.AppModels(a, "")}
	named := slices.Concat(a.LLM.First(id), d.ModelPreference.Models())
	if id.Namespace == builtin.Namespace && !turnsOn(a, id) {
		named = nil // it asks the app's own model alone
	}
	if len(named) == 0 || d.ModelPreference.OrDefault {
		named = append(named, m.Default())
	}
	for _, name := range named {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// digest is that of what is written of a tool, or of what its definition says; functions of a Go program have
// none.
func digest(a *app.App, id tool.ID, d llmtool.Definition) string {
	for _, t := range a.LLM.Tools {
		if t.ID == id && t.Digest != "" {
			return t.Digest
		}
	}
	return appllm.DigestOf(d)
}
