package kernel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/provider"
	"callgate/internal/source/mcp/trust"
	"callgate/tool"
)

// What an app file has done by itself, without anybody calling: its setup
// steps, an endpoint that is told of the tools, secrets that it has given to a
// module, a model at an address of its own. A folder may come from a stranger,
// so a human sees and accepts exactly that first, as with the command of an MCP
// server; until then it is left out, and said to be.

// consentLine is what an app does by itself, as a human is shown it. Secrets
// are references in it.
func consentLine(a *app.App) []string {
	var line []string
	for _, m := range a.Modules {
		if text := wantsSecrets(m); text != "" {
			line = append(line, text)
		}
		for _, step := range m.Setup {
			params, _ := json.Marshal(step.Params) // it came from a file
			line = append(line, "call "+m.Name+"."+step.Action+" "+string(params))
		}
	}
	if e := a.Search.Endpoint; e.URL != "" {
		text := "send the texts of the tools, and searches, to " + e.URL
		if e.Key != "" {
			text += " with the key " + e.Key
		}
		line = append(line, text)
	}
	asked := summaryBrains(a)
	for _, agent := range a.Agents {
		asked = append(asked, brains(agent)...)
	}
	for _, b := range asked {
		if text := speaksTo(b); text != "" && !slices.Contains(line, text) {
			line = append(line, text)
		}
	}
	return line
}

// wantsSecrets says which secrets an app gives to a module, and what the module
// is told to do with them.
func wantsSecrets(m app.Module) string {
	config, _ := json.Marshal(m.Config)
	constraints, _ := json.Marshal(m.Constraints)
	var names []string
	if m.Credential != "" {
		names = append(names, m.Credential)
	}
	for _, part := range strings.Split(string(config), "{{secret.")[1:] {
		name, _, _ := strings.Cut(part, "}}")
		names = append(names, name)
	}
	if len(names) == 0 {
		return ""
	}
	return "give the module " + m.Name + " the secret " + strings.Join(slices.Compact(names), ", ") + " with config " + string(config) + " and constraints " + string(constraints)
}

// brains are all the models that an agent may be answered by, and those that
// write summaries for it.
func brains(a app.Agent) []*app.Model {
	return slices.Concat(withStandIns(a.Model), withStandIns(a.Lanes[edgeLane]), withStandIns(a.Lanes[coreLane]))
}

// summaryBrains are the models that write summaries for any agent of an app.
func summaryBrains(a *app.App) []*app.Model {
	if a == nil {
		return nil
	}
	return withStandIns(a.Runtime.Context.SummaryModel)
}

// withStandIns is a brain and those that are asked in its place.
func withStandIns(b *app.Model) (all []*app.Model) {
	for ; b != nil; b = b.Fallback {
		all = append(append(all, b), withStandIns(b.Context.SummaryModel)...)
	}
	return all
}

// speaksTo says where a brain's conversations go when that is the app file's own
// choice, and with which key.
func speaksTo(b *app.Model) string {
	if b.Provider == app.Offline || provider.Own(provider.Config{Provider: b.Provider, Backend: provider.Backend(b.Backend), BaseURL: b.BaseURL}, os.Getenv) {
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

func consentKey(a *app.App) string {
	sum := sha256.Sum256([]byte(a.Path))
	return "app-" + hex.EncodeToString(sum[:6])
}

// consented reports whether a human accepted what an app does by itself.
func (k *Kernel) consented(a *app.App) bool {
	line := consentLine(a)
	return len(line) == 0 || k.trust.MayLaunch(consentKey(a), line) == nil
}

// Unaccepted is what the session's app would do by itself and nobody has
// accepted yet, for a human to see; empty when there is nothing.
func (s *Session) Unaccepted() string {
	if s.App == nil || s.kernel.consented(s.App) {
		return ""
	}
	return trust.Shell(consentLine(s.App))
}

// accept takes a human's yes to what the app does by itself.
func (s *Session) accept(shown, by string) error {
	const op = "callgate.Trust"
	if s.App == nil {
		return tool.Errorf(op, tool.NotFound, "this session has no app file")
	}
	line := consentLine(s.App)
	if now := trust.Shell(line); len(line) == 0 || now != shown {
		return tool.Errorf(op, tool.Conflict, "the app file now does something else than was shown: %s", now).WithHint("look at it again")
	}
	return s.kernel.trust.AcceptLaunch(consentKey(s.App), line, by)
}
