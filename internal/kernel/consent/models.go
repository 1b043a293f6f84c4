package consent

import (
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/app/llmtools"
)

// modelLines say what an app sends to models.
func modelLines(a *app.App) (lines []string) {
	for _, agent := range a.Agents {
		lines = append(lines, Prompt(a, agent))
	}
	for _, m := range usedModels(a) {
		lines = append(lines, Endpoint(a, m))
	}
	for _, c := range a.LLM.ToolCatalogs {
		lines = append(lines, ToolCatalog(a, c))
	}
	for _, t := range a.LLM.Tools {
		lines = append(lines, LLMTool(a, t))
	}
	return append(lines, BenchModels(a))
}

// BenchModels says which models benchmarks of an app's tools ask.
func BenchModels(a *app.App) string {
	if len(a.LLM.BenchModels) == 0 {
		return ""
	}
	names := slices.Sorted(slices.Values(a.LLM.BenchModels))
	return shown(a, "send the cases of benchmarks, with the prompts of LLM-backed tools, to "+strings.Join(names, ", "))
}

// ToolCatalog says where an app finds LLM-backed tools, and by whose word. What each tool sends is a line of
// its own, once it is listed.
func ToolCatalog(a *app.App, c llmtools.ToolCatalog) string {
	if c.FromUser {
		return ""
	}
	return shown(a, "look for LLM-backed tools at "+c.URL+", signed with the key "+c.Key+privateText(c.PrivateHosts))
}

// LLMTool says which models an LLM-backed tool of an app asks, with which prompt.
func LLMTool(a *app.App, t llmtools.Tool) string {
	if t.FromUser {
		return ""
	}
	const own = "the model of the agent that calls it"
	asks := own
	if names := a.LLM.Models(t); len(names) > 0 {
		slices.Sort(names)
		asks = strings.Join(names, ", ")
		if t.Definition.ModelPreference.OrDefault && a.LLM.Default(t.ID) == "" {
			asks += ", or else " + own
		}
	}
	if t.Builtin { // its prompt is the kernel's own
		return shown(a, "send what the built-in tool "+t.ID.Dotted()+" is given to "+asks)
	}
	return shown(a, "send what the tool "+t.ID.Dotted()+" is given, with its prompt"+named(t.Digest)+", to "+asks)
}

// AppModels returns the models of an app's agents, those of one agent first.
func AppModels(a *app.App, own string) (models []*app.Model) {
	for _, isOwn := range []bool{true, false} {
		for _, agent := range a.Agents {
			if (agent.ID == own) == isOwn {
				models = append(models, Models(a, agent)...)
			}
		}
	}
	return models
}
