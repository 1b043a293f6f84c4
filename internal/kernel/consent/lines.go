package consent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/provider"
)

// Lines is what an app does by itself, as a human is shown it. Secrets and
// variables of the environment are references in it: see [app.App.Hide].
func Lines(a *app.App) []string {
	if a = a.OfProject(); a == nil {
		return nil // the user's own file needs no consent
	}
	var lines []string
	add := func(text string) {
		if text != "" && !slices.Contains(lines, text) {
			lines = append(lines, text)
		}
	}
	for _, m := range a.Modules {
		add(Module(a, m))
		for _, step := range m.Setup {
			add(Step(a, m, step))
		}
	}
	add(Search(a))
	for _, p := range a.Programs {
		add(Program(a, p))
	}
	add(Workdir(a))
	add(Relaxed(a))
	for _, agent := range a.Agents {
		add(Prompt(a, agent))
	}
	used := summaryModels(a)
	for _, agent := range a.Agents {
		used = append(used, agentModels(agent)...)
	}
	for _, m := range used {
		add(Endpoint(a, m))
	}
	return lines
}

// Module says what an app gives to a module that is the user's to give: secrets,
// variables of the environment, the network, files outside the workspace, private
// addresses, an endpoint. It is empty when it gives nothing of that.
func Module(a *app.App, m app.Module) string {
	if m.FromUser {
		return ""
	}
	var given []string
	if names := secretNames(m); len(names) > 0 {
		given = append(given, "the secret "+strings.Join(names, ", "))
	}
	if len(m.Env) > 0 {
		given = append(given, "the variable "+strings.Join(m.Env, ", "))
	}
	if on, _ := m.Config["network"].(bool); on {
		given = append(given, "the network")
	}
	for _, wide := range []struct {
		from map[string]any
		key  string
		text string
	}{
		{m.Config, "env", "variables of the environment"},
		{m.Config, "readable", "files outside the workspace"},
		{m.Config, "endpoint", "an endpoint of its own"},
		{m.Config, "executable", "a program to run"},
		{m.Config, "unsandboxed", "pages without the sandbox of the browser"},
		{m.Constraints, "private_hosts", "private addresses"},
	} {
		if value := wide.from[wide.key]; value != nil && value != false {
			given = append(given, wide.text) // what exactly stands in the config that is shown
		}
	}
	if len(given) == 0 {
		return ""
	}
	text := "give the module " + m.Name + " " + strings.Join(given, ", ")
	if m.Config != nil {
		text += " with config " + inJSON(m.Config)
	}
	if m.Constraints != nil {
		text += " with constraints " + inJSON(m.Constraints)
	}
	return a.Hide(text)
}

// inJSON writes a value for people: it came from a file, so it can be written.
func inJSON(value map[string]any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value)
	return strings.TrimSuffix(b.String(), "\n")
}

// secretNames are the secrets that a module's block names.
func secretNames(m app.Module) []string {
	var names []string
	if m.Credential != "" {
		names = append(names, m.Credential)
	}
	for _, part := range strings.Split(inJSON(m.Config), "{{secret.")[1:] {
		name, _, _ := strings.Cut(part, "}}")
		names = append(names, name)
	}
	return slices.Compact(names)
}

// Step says what the kernel calls when a session opens.
func Step(a *app.App, m app.Module, step app.Step) string {
	return a.Hide("call " + m.Name + "." + step.Action + " with " + inJSON(step.Params) + " whenever a session opens")
}

// Search says where the texts of tools go; empty when they stay here.
func Search(a *app.App) string {
	e := a.Search.Endpoint
	if e.URL == "" {
		return ""
	}
	text := "send the texts of the tools, and searches, to " + e.URL
	switch shown := a.Hide(e.Key); {
	case strings.Contains(shown, "{{"):
		text += " with the key " + shown
	case e.Key != "":
		text += " with a key that stands in the file"
	}
	return a.Hide(text)
}

// Program says what an executable tool is given.
func Program(a *app.App, p app.Program) string { return a.Hide(p.Text) }

// Prompt says which variables of the environment an agent's prompt holds; empty when
// it holds none.
func Prompt(a *app.App, agent app.Agent) string {
	if len(agent.PromptEnv) == 0 || agent.FromUser {
		return ""
	}
	return a.Hide("put the variable " + strings.Join(agent.PromptEnv, ", ") + " into the prompt of the agent " + agent.ID)
}

// Workdir says in which folder outside its own an app works; empty when it works in
// none.
func Workdir(a *app.App) string {
	if a.Runtime.WorkdirMode != "fixed" {
		return ""
	}
	own, folder := filepath.Dir(a.Path), a.Runtime.Workdir
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(own, folder)
	}
	if rel, err := filepath.Rel(own, folder); err == nil && filepath.IsLocal(rel) {
		return ""
	}
	return a.Hide("work in the folder " + folder)
}

// Relaxed says that programs run behind fewer walls; empty when they do not.
func Relaxed(a *app.App) string {
	if !a.Runtime.Relaxed {
		return ""
	}
	return "run programs without the parts of the sandbox that this machine lacks"
}

// Endpoint says where a model's conversations go when that is the app file's
// own choice, and with which key; empty when it is not.
func Endpoint(a *app.App, m *app.Model) string {
	usual := provider.Config{Provider: m.Provider, Backend: provider.Backend(m.Backend), BaseURL: m.BaseURL}
	if m.FromUser || m.Provider == app.Offline || provider.IsDefaultURL(usual, os.Getenv) {
		return ""
	}
	text := "send conversations, and what tools answer in them, to " + m.BaseURL
	with := slices.Clone(m.DataSent)
	if m.Credential != "" {
		with = append(with, "the secret "+m.Credential)
	}
	if len(with) > 0 {
		text += " with " + strings.Join(with, ", ")
	}
	return a.Hide(text)
}

// Models returns all models that a conversation with an agent may use: its own,
// those of its lanes, those that write summaries, and their fallbacks.
func Models(a *app.App, agent app.Agent) []*app.Model {
	return slices.Concat(agentModels(agent), summaryModels(a))
}

func agentModels(a app.Agent) []*app.Model {
	all := withFallbacks(a.Model)
	for _, lane := range []string{app.EdgeLane, app.CoreLane} {
		all = append(all, withFallbacks(a.Lanes[lane])...)
	}
	return all
}

func summaryModels(a *app.App) []*app.Model {
	if a == nil {
		return nil
	}
	return withFallbacks(a.Runtime.Context.SummaryModel)
}

func withFallbacks(b *app.Model) (all []*app.Model) {
	for ; b != nil; b = b.Fallback {
		all = append(append(all, b), withFallbacks(b.Context.SummaryModel)...)
	}
	return all
}
