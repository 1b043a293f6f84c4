package app

import (
	"maps"
	"slices"
	"strings"

	"callgate/internal/app/node"
)

// agentForm is the way out of an agent that cannot be read.
const agentForm = "write each agent as - id: main, and under it brain, system_prompt …"

const maxPrompt = 64 << 10 // bytes of a prompt or a skill

// agentBlock reads agents, those of the app file or of a file beside it.
type agentBlock struct {
	*node.Reader
	*scope
	agents *[]Agent // of the app, whatever file they come from
}

func (b agentBlock) read(e node.Entry) {
	if e.IsNull() {
		return
	}
	for _, in := range b.Items(e, "a list of agents", agentForm) {
		b.agent(in)
	}
}

func (b agentBlock) agent(e node.Entry) {
	a := Agent{Role: "assistant", PlanFirst: true}
	reads := b.team(&a.Team)
	models := b.models(b.Reader)
	var hooks node.Entry
	var instructions string
	var env []string
	maps.Copy(reads, map[string]node.Read{
		"id":        b.id(&a.ID),
		"role":      b.Label(&a.Role),
		"specialty": b.Label(&a.Specialty),
		"system_prompt": func(in node.Entry) {
			mark := b.variables.Mark()
			a.SystemPrompt = b.prompt(in)
			a.PromptEnv = b.variables.Since(mark)
		},
		"instructions": func(in node.Entry) {
			mark := b.variables.Mark()
			instructions = b.prompt(in)
			env = b.variables.Since(mark)
		},
		"brain":        func(in node.Entry) { a.Model = models.Read(in) },
		"lanes":        func(in node.Entry) { a.Lanes = models.Lanes(in) },
		"modules":      func(in node.Entry) { a.Modules = b.modules(in) },
		"capabilities": b.Texts(&a.Skills, "name skills that dev.skills lists, such as [release]"),
		"skills":       func(in node.Entry) { a.SkillText, _ = b.readBeside(b.Reader, in, maxPrompt) },
		"hooks":        func(in node.Entry) { hooks = in },
		"plan_first":   b.Boolean(&a.PlanFirst, "write true or false"),
		"max_tool_iterations": b.Number(&a.MaxIterations, 1, 10_000,
			"write how often its model is asked within one turn, such as 100"),
	})
	b.Mapping(levelAgent, e, reads)
	if instructions != "" {
		a.SystemPrompt = strings.TrimSpace(a.SystemPrompt + "\n\n" + instructions)
		a.PromptEnv = slices.Compact(slices.Sorted(slices.Values(append(a.PromptEnv, env...))))
	}
	b.skills(e, a.Skills)
	idAt := b.Position(e.Below("id"))
	switch {
	case a.ID == "" && idAt == (node.Position{}):
		b.Fail(e.At, agentForm, "%s has no id", e.Name())
	case a.ID != "" && slices.ContainsFunc(*b.agents, func(o Agent) bool { return o.ID == a.ID }):
		b.Fail(idAt, "give one of them another id", "there are two agents %s", node.Quote(a.ID))
	default:
		*b.agents = append(*b.agents, a)
	}
	if hooks != (node.Entry{}) {
		b.readHooks(b.Reader, hooks, a.ID)
	}
}

func (b agentBlock) id(to *string) node.Read {
	return func(e node.Entry) {
		id, ok := b.WithoutEnv().Text(e)
		if ok && !nameForm.MatchString(id) {
			b.Fail(e.At, "use letters, digits, - and _",
				"%s is %s, which cannot be an agent's id", e.Name(), node.Quote(id))
			return
		}
		*to = id
	}
}

// prompt reads a text, or {file: …}.
func (b agentBlock) prompt(e node.Entry) string {
	if !e.IsMapping() {
		text, _ := b.Text(e)
		return text
	}
	var text string
	b.Mapping(levelPromptFile, e, map[string]node.Read{
		"file": func(in node.Entry) { text, _ = b.readBeside(b.Reader, in, maxPrompt) },
	})
	return text
}

// modules reads modules, each by its name or as {name: [actions]}.
func (b agentBlock) modules(e node.Entry) []AgentModule {
	const form = "write - filesystem for all of it, or - filesystem: [read, grep]"
	modules := []AgentModule{}
	for _, in := range b.Items(e, "a list of modules", form) {
		if !in.IsMapping() {
			if name, ok := b.Text(in); ok {
				b.links.Mention(b.Reader, in.Path, name, "", true)
				modules = append(modules, AgentModule{Name: name})
			}
			continue
		}
		for _, m := range b.Entries(in, form) {
			one := AgentModule{Name: m.Key}
			b.SetPosition(m.Path, m.KeyAt)
			b.links.Mention(b.Reader, m.Path, m.Key, "", true)
			b.links.actions(b.Reader, m.Key, false, &one.Actions)(m)
			modules = append(modules, one)
		}
	}
	return modules
}

// skills notes the skills that an agent names, without their slashes.
func (b agentBlock) skills(e node.Entry, names []string) {
	list := node.Entry{Path: e.Below("capabilities")}
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, "/")
		b.links.skills = append(b.links.skills, skillRef{b.Reader, b.Position(list.Item(i)), names[i]})
	}
}
