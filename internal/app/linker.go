package app

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"callgate/internal/app/node"
	"callgate/internal/gate/policy"
	"callgate/tool"
)

// linker keeps the names by which one part of the file refers to another. They
// are looked up when the whole file is read.
type linker struct {
	known    KnownModules
	modules  []moduleRef
	profiles []profileRef
	skills   []skillRef
	agents   []agentRef
	keys     []missingKey
}

// moduleRef is where the file names a module, and perhaps an action of it.
type moduleRef struct {
	*node.Reader
	at             node.Position
	module, action string
	permits        bool // the place would permit something
	blocked        bool // the place takes the action away, which is harmless for one that nobody has
}

// skillRef is where an agent names a skill.
type skillRef struct {
	*node.Reader
	at      node.Position
	command string
}

// missingKey is a key whose variable is not set. Whether that matters is known
// when the whole model is read.
type missingKey struct {
	*node.Reader
	entry node.Entry
	model *Model
}

// Mention notes that a module is named at a path.
func (l *linker) Mention(r *node.Reader, path, module, action string, permits bool) {
	l.modules = append(l.modules, moduleRef{
		Reader: r, at: r.Position(path), module: module, action: action, permits: permits,
	})
}

// IsModule reports whether a module exists.
func (l *linker) IsModule(name string) bool {
	_, ok := l.known[name]
	return ok
}

// actions reads a list of actions of one module, which may be those that are taken away.
func (l *linker) actions(r *node.Reader, module string, blocked bool, to *[]string) node.Read {
	read := r.Texts(to, "name the actions, such as [read], or leave the key out")
	return func(e node.Entry) {
		read(e)
		for i, action := range *to {
			l.Mention(r, e.Item(i), module, action, true)
			l.modules[len(l.modules)-1].blocked = blocked
		}
	}
}

// link looks up what the file names, and compiles its rules.
func (f *file) link() {
	for _, k := range f.links.keys {
		if k.model.Credential == "" {
			k.Fail(k.entry.At, "set it, name a credential, or write {{secret.NAME}}",
				"the variable in %s is not set", k.entry.Name())
		}
	}
	f.linkSkills()
	f.linkAgents()
	f.linkEntry()
	f.linkTriggers()
	f.linkModules()
	f.linkProfiles()
	f.compile()
}

func (f *file) linkSkills() {
	var commands []string
	for _, s := range f.app.Skills {
		commands = append(commands, s.Command)
	}
	for _, ref := range f.links.skills {
		if ref.command != "" && !slices.Contains(commands, ref.command) {
			ref.Fail(ref.at, node.DidYouMean(ref.command, commands, "dev.skills has"),
				"there is no skill %s", node.Quote(ref.command))
		}
	}
}

// linkEntry looks up the agent that is spoken to: the first unless the file
// names one.
func (f *file) linkEntry() {
	var ids []string
	for _, a := range f.app.Agents {
		ids = append(ids, a.ID)
	}
	entry := &f.app.Runtime.Entry
	if *entry != "" && !slices.Contains(ids, *entry) {
		f.Fail(f.Position("runtime.entry_agent"), node.DidYouMean(*entry, ids, "the agents are"),
			"there is no agent %s", node.Quote(*entry))
	}
	if *entry == "" && len(ids) > 0 {
		*entry = ids[0]
	}
}

func (f *file) linkModules() {
	warned := make(map[string]bool) // of modules that do not exist, each once
	for _, ref := range f.links.modules {
		if _, ok := f.known[ref.module]; ok || !warned[ref.module] {
			warned[ref.module] = true
			f.lookup(ref)
		}
	}
}

// lookup reports an action that its module does not have, and a module whose name
// is probably misspelt: a rule for it would hold for nothing. It warns of another
// module that does not exist: it may come later, as an MCP server's does, or with
// the executables of tools.dirs.
func (f *file) lookup(ref moduleRef) {
	known, ok := f.known[ref.module]
	listed := f.constraints != nil && !f.isUser && ref.module != SpawnModule // which a grant turns on
	switch {
	case ref.blocked && slices.Contains(known.Statements, ref.action):
	case ref.module == "" || ref.module == "*" || !ok && isOutside(f.app, ref.module):
	case !ok:
		near := node.Closest(ref.module, slices.Sorted(maps.Keys(f.known)))
		if near != "" && len(f.app.Dirs) == 0 && !strings.HasPrefix(ref.module, mcpModule+"_") {
			ref.Fail(ref.at, "did you mean "+near+"?", "there is no module %s", node.Quote(ref.module))
			return
		}
		text := "there is no module " + node.Quote(ref.module) + " here, so this waits until there is one"
		if near != "" {
			text += "; did you mean " + near + "?"
		}
		f.warn(ref.Reader, ref.at, text)
	case ref.action == "" && ref.permits && listed && !known.AlwaysOn && !f.isOn(ref.module):
		f.warn(ref.Reader, ref.at, "the module "+ref.module+" is off, because tools.modules does not list it")
	case ref.action != "" && ref.action != "*" && len(known.Actions) > 0:
		actions := f.known.Actions(ref.module)
		_, _, err := tool.ParseDotted(ref.action)
		if ref.blocked && err != nil && !slices.Contains(actions, ref.action) && node.Closest(ref.action, actions) == "" {
			f.warn(ref.Reader, ref.at, "the module "+ref.module+" has no action "+node.Quote(ref.action)+
				", so there is nothing to block")
			return
		}
		lookupAction(ref, actions)
	}
}

func (f *file) isOn(module string) bool {
	return slices.ContainsFunc(f.app.Modules, func(m Module) bool { return m.Name == module })
}

func lookupAction(ref moduleRef, actions []string) {
	if slices.Contains(actions, ref.action) {
		return
	}
	if bare := strings.TrimPrefix(ref.action, ref.module+"."); slices.Contains(actions, bare) {
		ref.Fail(ref.at, "write "+bare,
			"an action is named without its module here, and this is %s", node.Quote(ref.action))
		return
	}
	actions = slices.Compact(slices.Sorted(slices.Values(actions)))
	ref.Fail(ref.at, node.DidYouMean(ref.action, actions, "its actions are"),
		"the module %s has no action %s", ref.module, node.Quote(ref.action))
}

// compile has policy check the rules, and points at what it refuses.
func (f *file) compile() {
	rules, err := policy.Compile(f.capabilities, f.constraints)
	var e *tool.Error
	switch {
	case err == nil:
		f.app.Rules = rules.LimitData(tool.DataClass(f.maxData))
	case errors.As(err, &e) && len(e.Fields) > 0:
		for _, field := range e.Fields {
			path := "tools." + field.Path
			f.Fail(f.Nearest(path), "write "+field.Want, "%s is %s", tool.TruncateTo(path, 200), field.Got)
		}
	default:
		f.Fail(node.Position{}, "", "%s", err)
	}
}
