package consent

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/gate/policy"
	"callgate/internal/provider"
	"callgate/internal/secret/scope"
	"callgate/tool"
)

// Lines is what an app does by itself, as a human is shown it. Secrets and
// variables of the environment are references in it: see [app.App.Hide].
func Lines(a *app.App) []string {
	if a = a.OfProject(); a == nil {
		return nil // the user's own file needs no consent
	}
	var lines []string
	added := map[string]bool{"": true}
	add := func(text string) {
		if !added[text] {
			added[text] = true
			lines = append(lines, text)
		}
	}
	for _, g := range a.Wider {
		add(Grant(a, g))
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
	for _, s := range a.Servers {
		for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
			add(ServerTool(a, s, name))
		}
	}
	for _, c := range a.Runtime.Channels {
		add(Channel(a, c))
	}
	for _, t := range a.Runtime.Triggers {
		add(Trigger(a, t))
	}
	add(SharedID(a))
	add(Workdir(a))
	add(Relaxed(a))
	for _, name := range a.Features() {
		add(Feature(a, name))
	}
	for _, c := range a.Runtime.Contract.Apps {
		add(AppCall(a, c))
	}
	for _, s := range a.Skills {
		add(Skill(a, s))
	}
	for _, text := range append(texts(a), apiLines(a)...) {
		add(text)
	}
	for _, h := range a.Runtime.Hooks {
		add(Hook(a, h))
	}
	for _, line := range modelLines(a) {
		add(line)
	}
	return lines
}

// usedModels are the models of an app: those of its agents, and those that write summaries.
func usedModels(a *app.App) []*app.Model {
	used := summaryModels(a)
	for _, agent := range a.Agents {
		used = append(used, agentModels(agent)...)
	}
	return used
}

// shown is a text without values of the environment that the project's file uses.
func shown(a *app.App, text string) string {
	if project := a.OfProject(); project != nil {
		return project.Hide(text)
	}
	return a.Hide(text)
}

// The words around a grant.
const (
	grantStart  = "let agents run "
	grantExcept = " except "
	grantEnd    = " without asking you"
)

// Grant says what an app's rules let run.
func Grant(a *app.App, g policy.Grant) string {
	text := grantStart + g.Text
	if len(g.Except) > 0 {
		text += grantExcept + strings.Join(g.Except, ", ")
	}
	return shown(a, text+grantEnd)
}

// covers reports whether who accepted one line accepted another too: the same, or
// the same grant with less in it.
func covers(accepted, line string) bool {
	if accepted == line {
		return true
	}
	text, except, ok := cutGrant(accepted)
	other, less, isGrant := cutGrant(line)
	return ok && isGrant && text == other &&
		!slices.ContainsFunc(except, func(one string) bool { return !slices.Contains(less, one) })
}

// cutGrant takes the line of a grant apart. One with arguments in it is not: they are
// any text, which might look like an exception.
func cutGrant(line string) (text string, except []string, ok bool) {
	line, starts := strings.CutPrefix(line, grantStart)
	line, ends := strings.CutSuffix(line, grantEnd)
	text, rest, has := strings.Cut(line, grantExcept)
	if has {
		except = strings.Split(rest, ", ")
	}
	return text, except, starts && ends && !strings.Contains(line, " with ")
}

// Skill says how an app teaches agents something.
func Skill(a *app.App, s app.Skill) string {
	if project := a.OfProject(); project == nil ||
		!slices.ContainsFunc(project.Skills, func(o app.Skill) bool { return o.Path == s.Path }) {
		return "" // it is in the user's own file
	}
	return shown(a, "teach agents the skill "+s.Command+" from "+beside(a, s.Path)+named(s.Digest()))
}

// File says which text beside it an app reads.
func File(a *app.App, f app.File) string {
	return shown(a, "take agents or prompts from "+beside(a, f.Path)+named(f.Digest))
}

// beside is the path of a file as the app file's folder sees it.
func beside(a *app.App, path string) string {
	if rel, err := filepath.Rel(filepath.Dir(a.Path), path); err == nil && filepath.IsLocal(rel) {
		return "./" + filepath.ToSlash(rel)
	}
	return path
}

// named names a content. The digest is long enough that nobody finds two contents
// with the same.
func named(digest string) string {
	const shown = 40
	switch {
	case digest == "":
		return " (which is not there)"
	case len(digest) < shown:
		return " (" + digest + ")"
	}
	return " (sha256 " + digest[:shown] + ")"
}

// ServerTool says that an app holds a tool of an MCP server for less dangerous than
// the server may; empty when it does not.
func ServerTool(a *app.App, s app.Server, name string) string {
	t := s.Tools[name]
	if s.FromUser || !lowers(t) {
		return ""
	}
	var as []string
	if t.Risk != "" {
		as = append(as, "of "+string(t.Risk)+" risk")
	}
	if t.SideEffect != "" {
		as = append(as, "of the side effect "+string(t.SideEffect))
	}
	if t.Idempotent {
		as = append(as, "safe to call twice")
	}
	return shown(a, "treat the tool "+name+" of the MCP server "+s.Name+" as "+strings.Join(as, ", "))
}

// lowers reports whether an app's word on a server's tool may permit more.
func lowers(t app.ServerTool) bool {
	return t.Idempotent || t.Risk != "" && t.Risk != tool.High || t.SideEffect != "" && t.SideEffect != tool.External
}

// narrowing is the part of an app's word on a server's tool that permits no more.
func narrowing(t app.ServerTool) app.ServerTool {
	only := app.ServerTool{Off: t.Off}
	if t.Risk == tool.High {
		only.Risk = t.Risk
	}
	if t.SideEffect == tool.External {
		only.SideEffect = t.SideEffect
	}
	return only
}

// Servers are the servers of an app, with what a human accepted of the app's word on
// their tools.
func (a Accepted) Servers(of *app.App) []app.Server {
	servers := slices.Clone(of.Servers)
	for i, s := range servers {
		tools := maps.Clone(s.Tools)
		for name, t := range tools {
			if !a.Has(ServerTool(of, s, name)) {
				tools[name] = narrowing(t)
			}
		}
		servers[i].Tools, servers[i].Hide = tools, of.Hide
		if s.URL != "" && !s.FromUser {
			servers[i].Dir = filepath.Dir(of.Path)
		}
	}
	return servers
}

// Step says what the kernel calls when a session opens.
func Step(a *app.App, m app.Module, step app.Step) string {
	if m.FromUser {
		return ""
	}
	return shown(a, "call "+m.Name+"."+step.Action+" with "+inJSON(step.Params)+" whenever a session opens")
}

// Search says where the texts of tools go, or which folder outside its own the app
// reads a model of the search from; empty when nothing leaves and nothing is read.
func Search(a *app.App) string {
	e := a.Search.Endpoint
	switch model := a.Search.Model; {
	case a.Search.FromUser:
		return ""
	case model != "" && isOutside(a, resolved(model)):
		return shown(a, "read the model of the search in the folder "+resolved(model))
	case e.URL == "":
		return ""
	}
	text := "send the texts of the tools, and searches, to " + e.URL
	switch key := shown(a, e.Key); {
	case strings.Contains(key, "{{"):
		text += " with the key " + key
	case e.Key != "":
		text += " with a key that stands in the file"
	}
	return shown(a, text)
}

// Program says what an executable tool is given.
func Program(a *app.App, p app.Program) string { return shown(a, p.Text) }

// Prompt says which variables of the environment an agent's prompt holds; empty when
// it holds none.
func Prompt(a *app.App, agent app.Agent) string {
	if len(agent.PromptEnv) == 0 || agent.FromUser {
		return ""
	}
	return shown(a, "put the variable "+strings.Join(agent.PromptEnv, ", ")+" into the prompt of the agent "+agent.ID)
}

// Workdir says in which folder outside its own an app works; empty when it works in
// none.
func Workdir(a *app.App) string {
	if a.Runtime.WorkdirMode != "fixed" {
		return ""
	}
	folder := FixedFolder(a)
	if !isOutside(a, folder) {
		return ""
	}
	return shown(a, "work in the folder "+folder)
}

// isOutside reports whether a path, which has no links, is not in the app file's
// folder.
func isOutside(a *app.App, path string) bool {
	rel, err := filepath.Rel(resolved(filepath.Dir(a.Path)), path)
	return err != nil || !filepath.IsLocal(rel)
}

// FixedFolder is the folder in which an app works that names one, whatever links lead
// there.
func FixedFolder(a *app.App) string {
	folder := a.Runtime.Workdir
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(filepath.Dir(a.Path), folder)
	}
	return resolved(folder)
}

// resolved is a path without links; the path itself where there is nothing.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// Relaxed says that programs run behind fewer walls; empty when they do not.
func Relaxed(a *app.App) string {
	if !a.Runtime.Relaxed {
		return ""
	}
	return "run programs without the parts of the sandbox that this machine lacks"
}

// Endpoint says where a model's conversations go when that is the app file's
// own choice, and with which key; empty when it is not. At the provider's own address
// it is about what is sent there beside the user's key for it: another secret, a
// header, a key in the file, whose owner may read the conversations.
func Endpoint(a *app.App, m *app.Model) string {
	if m.FromUser || m.Provider == app.Offline {
		return ""
	}
	at := provider.Config{Provider: m.Provider, Backend: provider.Backend(m.Backend), BaseURL: m.BaseURL}
	with := slices.Clone(m.DataSent)
	if m.Credential != "" {
		with = append(with, "the secret "+scope.InWords(m.Credential, true))
	}
	if provider.IsDefaultURL(at, os.Getenv) {
		if with = slices.DeleteFunc(with, isKeyOf(provider.DefaultKey(at))); len(with) == 0 {
			return ""
		}
	}
	text := "send your conversations, and what tools answer in them, to " + cmp.Or(m.BaseURL, m.Provider)
	if len(with) > 0 {
		text += " with " + strings.Join(with, ", ")
	}
	return shown(a, text)
}

// isKeyOf reports what is sent that is the user's own key for a provider.
func isKeyOf(name string) func(sent string) bool {
	return func(sent string) bool {
		return name != "" && slices.Contains([]string{
			"a key {{env." + name + "}}", "a key {{secret." + name + "}}", "the secret " + name,
			"the secret " + scope.InWords(name, true),
		}, sent)
	}
}

// Conversation is what a conversation with an agent needs.
func Conversation(a *app.App, agent app.Agent) []string {
	if a == nil {
		return nil
	}
	lines := []string{Prompt(a, agent)}
	if project := a.OfProject(); project != nil && !agent.FromUser {
		for _, f := range project.Files {
			lines = append(lines, File(a, f))
		}
	}
	for _, m := range Models(a, agent) {
		lines = append(lines, Endpoint(a, m))
	}
	return lines
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
