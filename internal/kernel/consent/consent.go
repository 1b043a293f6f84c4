// Package consent holds a human's word on what an app file does by itself,
// without anybody calling: its setup steps, an endpoint that receives the texts
// of tools, secrets that it gives to a module, a model at an address of its
// own.
//
// Law: a folder may come from a stranger, so a human sees and accepts exactly
// that first; until then it is left out, and the session says so.
package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/provider"
	"callgate/internal/source/mcp/trust"
	"callgate/tool"
)

// Store keeps what a human accepted, by a key. [trust.Store] is one.
type Store interface {
	// MayLaunch returns nil when exactly this was accepted.
	MayLaunch(key string, line []string) error
	AcceptLaunch(key string, line []string, by string) error
}

// Consents knows what humans accepted of app files.
type Consents struct{ store Store }

// New makes the consents of a store.
func New(s Store) *Consents { return &Consents{s} }

// Accepted reports whether a human accepted all that an app does by itself.
func (c *Consents) Accepted(a *app.App) bool {
	line := Lines(a)
	return len(line) == 0 || c.store.MayLaunch(key(a), line) == nil
}

// Pending returns what a human has not accepted yet, as it is shown; empty when
// there is nothing.
func (c *Consents) Pending(a *app.App) string {
	if a == nil || c.Accepted(a) {
		return ""
	}
	return trust.Shell(Lines(a))
}

// Accept takes a human's yes to exactly what was shown.
func (c *Consents) Accept(a *app.App, shown, by string) error {
	const op = "consent.Accept"
	if a == nil {
		return tool.Errorf(op, tool.NotFound, "this session has no app file")
	}
	line := Lines(a)
	if now := trust.Shell(line); len(line) == 0 || now != shown {
		return tool.Errorf(op, tool.Conflict, "the app file now does something else than was shown: %s", now).
			WithHint("look at it again")
	}
	return c.store.AcceptLaunch(key(a), line, by)
}

// Needed returns the error for something that waits for consent.
func Needed(op, text string) *tool.Error {
	return tool.Errorf(op, tool.Denied, "the app needs consent to %s", text).
		WithHint("the user looks at it and accepts it with: callgate app trust")
}

// Lines is what an app does by itself, as a human is shown it. Secrets are
// references in it.
func Lines(a *app.App) []string {
	if a = a.OfProject(); a == nil {
		return nil // the user's own file needs no consent
	}
	var lines []string
	for _, m := range a.Modules {
		if text := Module(m); text != "" {
			lines = append(lines, text)
		}
		for _, step := range m.Setup {
			params, _ := json.Marshal(step.Params) // it came from a file
			lines = append(lines, "call "+m.Name+"."+step.Action+" "+string(params))
		}
	}
	if e := a.Search.Endpoint; e.URL != "" {
		text := "send the texts of the tools, and searches, to " + e.URL
		if e.Key != "" {
			text += " with the key " + e.Key
		}
		lines = append(lines, text)
	}
	for _, p := range a.Programs {
		lines = append(lines, p.Text)
	}
	if text := Workdir(a); text != "" {
		lines = append(lines, text)
	}
	if a.Runtime.Relaxed {
		lines = append(lines, "run programs without the parts of the sandbox that this machine lacks")
	}
	for _, agent := range a.Agents {
		if text := Prompt(agent); text != "" {
			lines = append(lines, text)
		}
	}
	used := summaryModels(a)
	for _, agent := range a.Agents {
		used = append(used, agentModels(agent)...)
	}
	for _, m := range used {
		if text := Endpoint(m); text != "" && !slices.Contains(lines, text) {
			lines = append(lines, text)
		}
	}
	return lines
}

// Module says what an app gives to a module that is the user's to give: secrets,
// variables of the environment, the network, files outside the workspace, private
// addresses, an endpoint. It is empty when it gives nothing of that.
func Module(m app.Module) string {
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
	return "give the module " + m.Name + " " + strings.Join(given, ", ") + " with " + m.Shown()
}

// secretNames are the secrets that a module's block names.
func secretNames(m app.Module) []string {
	var names []string
	if m.Credential != "" {
		names = append(names, m.Credential)
	}
	config, _ := json.Marshal(m.Config)
	for _, part := range strings.Split(string(config), "{{secret.")[1:] {
		name, _, _ := strings.Cut(part, "}}")
		names = append(names, name)
	}
	return slices.Compact(names)
}

// Prompt says which variables of the environment an agent's prompt holds; empty when
// it holds none.
func Prompt(a app.Agent) string {
	if len(a.PromptEnv) == 0 || a.FromUser {
		return ""
	}
	return "put the variable " + strings.Join(a.PromptEnv, ", ") + " into the prompt of the agent " + a.ID
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
	return "work in the folder " + folder
}

// Endpoint says where a model's conversations go when that is the app file's
// own choice, and with which key; empty when it is not.
func Endpoint(b *app.Model) string {
	usual := provider.Config{Provider: b.Provider, Backend: provider.Backend(b.Backend), BaseURL: b.BaseURL}
	if b.FromUser || b.Provider == app.Offline || provider.IsDefaultURL(usual, os.Getenv) {
		return ""
	}
	text := "send conversations, and what tools answer in them, to " + b.BaseURL
	with := slices.Clone(b.DataSent)
	if b.Credential != "" {
		with = append(with, "the secret "+b.Credential)
	}
	if len(with) > 0 {
		text += " with " + strings.Join(with, ", ")
	}
	return text
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

func key(a *app.App) string {
	sum := sha256.Sum256([]byte(a.Path)) // the project's, also of a combined app
	return "app-" + hex.EncodeToString(sum[:6])
}
