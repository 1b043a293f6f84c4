package kernel

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"callgate/internal/agent/surface"
	"callgate/internal/conversation/prompt"
	"callgate/llm"
)

// Prompt is what the agent's model is told before everything else, as it is
// now.
func (c *Conversation) Prompt() prompt.Prompt { return prompt.Build(c.promptInput()) }

// keepers are the tools by which an agent keeps its working memory.
var keepers = []string{"set_goal", "task_create", "task_update", "remember"}

func (c *Conversation) promptInput() prompt.Input {
	in := prompt.Input{
		Agent: c.Agent.ID, Role: cmp.Or(c.Agent.Role, "assistant"), Specialty: c.Agent.Specialty, SystemPrompt: c.Agent.SystemPrompt,
		Mode: string(c.Plan.Mode), Native: c.Brain.NativeTools, PlanFirst: c.Agent.PlanFirst, Workspace: c.Workspace(),
	}
	for _, e := range c.Plan.Shown {
		in.Offered = append(in.Offered, llm.ToolDef{Name: e.Name, Description: e.Description, Schema: e.Schema})
	}
	in.Domain, in.Categories = c.described()
	for _, m := range c.kernel.modules {
		if m.PromptSection == nil || c.door.DisabledModules[m.Name] {
			continue
		}
		if text := m.PromptSection(c.door.Principal); text != "" {
			in.Memory = strings.TrimSpace(in.Memory + "\n" + text)
		}
		for _, t := range m.Tools {
			if c.door.CanSee(t) && slices.Contains(keepers, t.ID.Name) {
				in.MemoryTools = append(in.MemoryTools, t.ID.Dotted())
			}
		}
	}
	if c.App == nil {
		return in
	}
	for _, s := range c.App.Skills {
		skill := prompt.Skill{Command: s.Command, Description: s.Description}
		if slices.Contains(c.Agent.Skills, s.Command) {
			skill.Content = s.Content
		}
		in.Skills = append(in.Skills, skill)
	}
	if c.kernel.consented(c.App) {
		for _, m := range c.App.Modules {
			for _, step := range m.Setup {
				in.Setup = append(in.Setup, m.Name+"."+step.Action)
			}
		}
	}
	return in
}

// described is what the agent may call, as its prompt tells of it. It is made
// once: a prompt whose beginning changes is paid for again.
func (c *Conversation) described() ([]prompt.Tool, []prompt.Category) {
	c.telling.Do(func() {
		tools, err := c.domain(c.kernel.ctx)
		if err != nil {
			return // the prompt says less
		}
		for _, t := range tools {
			params, asText := parameters(t.Spec.Input)
			c.tools = append(c.tools, prompt.Tool{
				Name: t.ID.Dotted(), Module: t.ID.Namespace, Line: surface.OneLine(t.Spec.Description),
				Params: params, JSON: asText, Server: strings.HasPrefix(t.ID.Namespace, "mcp_"),
			})
			if n := len(c.categories); n == 0 || c.categories[n-1].ID != t.ID.Namespace {
				c.categories = append(c.categories, prompt.Category{ID: t.ID.Namespace})
			}
			last := &c.categories[len(c.categories)-1]
			last.Tools = append(last.Tools, t.ID.Name)
		}
		for i := range c.categories {
			if m := c.kernel.module(c.categories[i].ID); m != nil {
				c.categories[i].Summary = m.Summary
			}
		}
	})
	return c.tools, c.categories
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
		words := strings.ToLower(p.Description)
		if p.Type == "string" && (strings.HasSuffix(name, "_json") || strings.Contains(words, "json string") || strings.Contains(words, "json-encoded") || strings.Contains(words, "stringified json")) {
			asText = append(asText, name)
		}
		if !slices.Contains(s.Required, name) {
			name += "?"
		}
		names = append(names, name)
	}
	return names, asText
}
