package app

import (
	"maps"
	"slices"
	"strings"

	"callgate/internal/agent/surface"
	"callgate/internal/app/budget"
	"callgate/internal/app/contract"
	"callgate/internal/app/hooks"
	"callgate/internal/app/identity"
	"callgate/internal/app/llmtools"
	"callgate/internal/app/node"
	"callgate/internal/app/providers"
	"callgate/internal/app/retain"
	"callgate/internal/app/rules"
	"callgate/internal/app/users"
	"callgate/internal/gate/policy"
)

// file reads an app file block by block into an app.
type file struct {
	*node.Reader
	*scope
	app          *App
	agents       agentBlock
	capabilities *policy.Capabilities         // nil: the file has no such block
	constraints  map[string]policy.Constraint // nil: the file lists no modules
	maxData      string                       // of the block security
	included     []*node.Report               // of the files that were read beside this one
}

func newFile(r *node.Reader, s *scope, a *App) *file {
	f := &file{Reader: r, scope: s, app: a}
	f.agents = agentBlock{Reader: r, scope: s, agents: &a.Agents}
	return f
}

// read reads the file. The blocks dev and app come first, wherever they are
// written, because the others may use their variables.
func (f *file) read(e node.Entry) {
	blocks := map[string]node.Read{
		"app": f.identityBlock, "tools": f.toolsBlock, "runtime": f.runtimeBlock, "search": f.searchBlock,
		"security": f.securityBlock, "dev": f.devBlock, "agents": f.agents.read, "profiles": f.profilesBlock,
		"schema_version": identity.SchemaVersion(f.Reader), "budget": budget.Into(&f.app.Budget, f.Reader),
		"providers": providers.Into(&f.app.Providers, f.Reader), "retain": retain.Block(f.Reader, f.isUser),
		"users": users.Block(f.Reader, f.isUser),
	}
	for _, first := range []string{"dev", "app"} {
		for _, in := range f.Entries(e, "its keys are "+strings.Join(slices.Sorted(maps.Keys(blocks)), ", ")) {
			if in.Key == first {
				blocks[first](in)
				blocks[first] = func(node.Entry) {}
			}
		}
	}
	f.Mapping(levelRoot, e, blocks)
}

// devBlock reads the variables before the skills and the included files, which may use them.
func (f *file) devBlock(e node.Entry) {
	var later []node.Entry
	keep := func(in node.Entry) { later = append(later, in) }
	f.Mapping(levelDev, e, map[string]node.Read{
		"variables": func(in node.Entry) { f.variables.Define(f.Reader, in) },
		"allow_user_skills": f.Boolean(&f.app.UserSkills,
			"write true: agents may use the skills in the user's own folder, which the user accepted"),
		"skills":  keep,
		"include": keep,
	})
	for _, in := range later {
		if in.Key == "skills" {
			f.app.Skills = readSkills(f.Reader, f.folder, in)
		} else {
			f.includeBlock(in)
		}
	}
}

// includeBlock reads agents and hooks out of other files.
func (f *file) includeBlock(e node.Entry) {
	const remedy = "write each file on a line of its own, such as - agents/reviewer.yaml"
	each := func(read node.Read) node.Read {
		return func(in node.Entry) {
			for _, name := range f.Items(in, "a list of files", remedy) {
				read(name)
			}
		}
	}
	f.Mapping(levelInclude, e, map[string]node.Read{"agents": each(f.includeAgents), "hooks": each(f.includeHooks)})
}

// includeHooks reads one file of hooks. What they ask for is consented to hook by hook, so the file itself is not.
func (f *file) includeHooks(e node.Entry) {
	text, path := f.File(e, f.folder, maxInclude)
	if path == "" {
		return
	}
	r, root, ok := f.Beside(path, []byte(text))
	f.included = append(f.included, r.Report)
	if ok {
		f.addHooks(r, root, hooks.ReadFile(r, root, f.hookSource("", path)))
	}
}

// includeAgents reads one file: an agent, or a list of agents. Its mistakes are
// reported with its own name and lines.
func (f *file) includeAgents(e node.Entry) {
	text, path := f.readBeside(f.Reader, e, maxInclude)
	if path == "" {
		return
	}
	r, root, ok := f.Beside(path, []byte(text))
	f.included = append(f.included, r.Report)
	if !ok {
		return
	}
	agents := agentBlock{Reader: r, scope: f.scope, agents: &f.app.Agents}
	if root.IsMapping() {
		agents.agent(root)
		return
	}
	agents.read(root)
}

func (f *file) identityBlock(e node.Entry) { readIdentity(f.Reader, &f.identity, &f.takes, e) }

// runtimeBlock reads how the app's agents run.
func (f *file) runtimeBlock(e node.Entry) {
	b := runtimeBlock{Reader: f.Reader, scope: f.scope, surface: f.app.Surface}
	b.read(e)
	b.runtime.Channels, b.runtime.Contract.Apps = f.app.Runtime.Channels, f.app.Runtime.Contract.Apps // of the block tools
	f.app.Runtime, f.app.Surface, f.app.Middleware = b.runtime, b.surface, b.middleware
	f.app.Memory = b.memory
}

func (f *file) searchBlock(e node.Entry) { f.app.Search = readSearch(f.Reader, f.links, e) }

func (f *file) securityBlock(e node.Entry) {
	f.Mapping(levelSecurity, e, map[string]node.Read{
		"require_pinning": f.Boolean(&f.app.Pinning,
			"write true to show nothing of an MCP server before a human accepted it"),
		"max_data_classification": f.Choice(&f.maxData, "public", "internal", "sensitive", "restricted"),
	})
}

func (f *file) toolsBlock(e node.Entry) {
	f.Mapping(levelTools, e, map[string]node.Read{
		"modules":      f.modulesBlock,
		"capabilities": f.capabilitiesBlock,
		"dirs":         f.Texts(&f.app.Dirs, "write one folder on each line, such as - tools"),
		"require_signed": f.Boolean(&f.app.SignedDirs,
			"write true to load no manifest that none of the keys signed that you trust"),
		"llm":      llmtools.Into(&f.app.LLM, f.Reader, f.folder, &f.included),
		"builtin":  f.builtin,
		"channels": f.channelsBlock,
		"apps": func(in node.Entry) {
			f.app.Runtime.Contract.Apps = contract.Apps(f.Reader, in, f.folder)
		},
	})
}

// builtin reads which modules an MCP client is given: auto, all, none, or the
// names of some.
func (f *file) builtin(e node.Entry) {
	b := &f.app.Surface.Builtin
	if !e.IsList() {
		f.Choice(&b.Choice, surface.BuiltinAuto, surface.BuiltinAll, surface.BuiltinNone)(e)
		return
	}
	b.Modules = []string{}
	f.Texts(&b.Modules, "name the modules, such as [database, memory], or write auto, all or none")(e)
	for i, name := range b.Modules {
		f.links.Mention(f.Reader, e.Item(i), name, "", true)
	}
}

func (f *file) modulesBlock(e node.Entry) {
	b := moduleBlock{Reader: f.Reader, scope: f.scope, constraints: make(map[string]policy.Constraint)}
	b.read(e)
	f.app.Modules, f.app.Servers, f.app.APIs, f.constraints = b.modules, b.servers, b.apis, b.constraints
}

func (f *file) capabilitiesBlock(e node.Entry) {
	f.capabilities = rules.Read(f.Reader, e, f.links)
}
