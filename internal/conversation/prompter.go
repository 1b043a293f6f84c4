package conversation

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"callgate/internal/agent/surface"
	"callgate/internal/conversation/prompt"
	"callgate/internal/kernel/modules"
	"callgate/llm"
)

// prompter builds the prompt of a conversation.
type prompter struct {
	conversation *Conversation
	modules      *modules.Set

	once       sync.Once // guards the next two
	tools      []prompt.Tool
	categories []prompt.Category
}

// memoryTools are the tools by which an agent keeps its working memory.
var memoryTools = []string{"set_goal", "task_create", "task_update", "remember"}

// build makes what the agent's model is told before everything else, as it is
// now.
func (p *prompter) build() prompt.Prompt { return prompt.Build(p.input()) }

func (p *prompter) input() prompt.Input {
	c := p.conversation
	a, s := c.agent, c.session
	in := prompt.Input{
		Agent: a.ID, Role: cmp.Or(a.Role, "assistant"), Specialty: a.Specialty, SystemPrompt: a.SystemPrompt,
		Mode: string(c.plan.Mode), Native: c.model.NativeTools, PlanFirst: a.PlanFirst, Workspace: s.Workspace(),
	}
	for _, e := range c.plan.Shown {
		in.Offered = append(in.Offered, llm.ToolDef{Name: e.Name, Description: e.Description, Schema: e.Schema})
	}
	in.Domain, in.Categories = p.describe()
	for _, section := range p.modules.Sections(s.Principal(), s.Loaded().Off) {
		if section.Text != "" {
			in.Memory = strings.TrimSpace(in.Memory + "\n" + section.Text)
		}
		for _, t := range section.Tools {
			if s.Caller().Sees(t) && slices.Contains(memoryTools, t.ID.Name) {
				in.MemoryTools = append(in.MemoryTools, t.ID.Dotted())
			}
		}
	}
	p.addApp(&in)
	return in
}

// addApp adds what the app file says: skills, and setup steps that were run.
func (p *prompter) addApp(in *prompt.Input) {
	c := p.conversation
	app := c.session.App()
	if app == nil {
		return
	}
	for _, s := range app.Skills {
		skill := prompt.Skill{Command: s.Command, Description: s.Description}
		if slices.Contains(c.agent.Skills, s.Command) {
			skill.Content = s.Content
		}
		in.Skills = append(in.Skills, skill)
	}
	for _, m := range app.Modules {
		if !c.session.Loaded().Accepted && !m.FromUser {
			continue // its steps were not run
		}
		for _, step := range m.Setup {
			in.Setup = append(in.Setup, m.Name+"."+step.Action)
		}
	}
}

// describe returns what the agent may call, as its prompt lists it. It is made
// once: a prompt whose beginning changes is paid for again.
func (p *prompter) describe() ([]prompt.Tool, []prompt.Category) {
	p.once.Do(func() {
		tools, err := p.conversation.session.View().List(context.Background())
		if err != nil {
			return // the prompt says less
		}
		for _, t := range tools {
			params, asText := parameters(t.Spec.Input)
			p.tools = append(p.tools, prompt.Tool{
				Name: t.ID.Dotted(), Module: t.ID.Namespace, Line: surface.OneLine(t.Spec.Description),
				Params: params, JSON: asText, Server: strings.HasPrefix(t.ID.Namespace, "mcp_"),
			})
			if n := len(p.categories); n == 0 || p.categories[n-1].ID != t.ID.Namespace {
				p.categories = append(p.categories, prompt.Category{
					ID: t.ID.Namespace, Summary: p.modules.Summary(t.ID.Namespace),
				})
			}
			last := &p.categories[len(p.categories)-1]
			last.Tools = append(last.Tools, t.ID.Name)
		}
	})
	return p.tools, p.categories
}

var plainParameter = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// parameters lists the parameters of a tool, and those that take JSON written
// as text.
func parameters(schema json.RawMessage) (names, asText []string) {
	var s struct {
		Properties map[string]struct {
			Type        any    `json:"type"`
			Description string `json:"description"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !plainParameter.MatchString(name) {
			continue // a server may call a parameter anything; here it would be an instruction
		}
		p := s.Properties[name]
		if p.Type == "string" && takesJSON(name, strings.ToLower(p.Description)) {
			asText = append(asText, name)
		}
		if !slices.Contains(s.Required, name) {
			name += "?"
		}
		names = append(names, name)
	}
	return names, asText
}

// takesJSON reports whether a text parameter is JSON, by its name or its
// description.
func takesJSON(name, description string) bool {
	said := func(text string) bool { return strings.Contains(description, text) }
	return strings.HasSuffix(name, "_json") || slices.ContainsFunc(
		[]string{"json string", "json-encoded", "stringified json"}, said)
}
