package briefing

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/agent/surface"
	"callgate/internal/app"
	"callgate/internal/conversation/environment"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/instructions"
	"callgate/internal/conversation/prompt"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/modelset"
	"callgate/internal/kernel/modules"
	"callgate/internal/kernel/session"
	"callgate/internal/resulttext"
	"callgate/llm"
	"callgate/tool"
)

// Subject is whose prompt is built: a conversation, or one that could be opened, as it is
// now.
type Subject struct {
	Agent   app.Agent
	Session *session.Session
	Mode    surface.Mode
	AppMode app.AppMode // it has no name where the app has no modes
	Model   modelset.Info
	Names   resulttext.Names // by which the model calls tools
	Offered []llm.ToolDef
	Log     *history.Log // nil for one that is not opened
	// Remembers is whose memory the model is shown.
	Remembers tool.Principal
}

// Prompter builds the prompt of a conversation.
type Prompter struct {
	Subject func() Subject
	Modules *modules.Set
	Files   string              // the user's own file of instructions; "": none
	Now     func() time.Time    // nil: the machine's
	Scrub   func(string) string // takes secrets out of a text; may be nil
	// Directive is told with what begins the next turn, once.
	Directive string

	once       sync.Once // guards the next two
	tools      []prompt.Tool
	categories []prompt.Category
}

// memoryTools are the tools by which an agent keeps its working memory, and memorySearch
// is the one that finds what is not shown of it.
var memoryTools = []string{"set_goal", "task_create", "task_update", "remember"}

const memorySearch = "query"

// Input is everything that the prompt depends on, as it is now. What is wrong with the
// sections stands in them.
func (p *Prompter) Input() prompt.Input {
	in, _ := p.input()
	return in
}

// input is Input, with what is wrong with the sections.
func (p *Prompter) input() (prompt.Input, error) {
	c := p.Subject()
	a, s := c.Agent, c.Session
	in := prompt.Input{
		Agent: a.ID, Role: cmp.Or(a.Role, "assistant"), Specialty: a.Specialty, SystemPrompt: a.SystemPrompt,
		Mode: string(c.Mode), Native: c.Model.NativeTools, PlanFirst: a.PlanFirst, Offered: c.Offered,
		AppMode: prompt.AppMode{Name: c.AppMode.Name, Description: c.AppMode.Description, Behavior: c.AppMode.Behavior},
	}
	in.Domain, in.Categories = p.describe()
	for _, section := range p.Modules.Sections(c.Remembers, s.Loaded().Off) {
		if section.Text != "" {
			in.Memory = strings.TrimSpace(in.Memory + "\n" + section.Text)
		}
		for _, t := range section.Tools {
			switch {
			case !s.Caller().Sees(t):
			case slices.Contains(memoryTools, t.ID.Name):
				in.MemoryTools = append(in.MemoryTools, p.callName(c.Names, t))
			case t.ID.Name == memorySearch:
				in.MemorySearch = p.callName(c.Names, t)
			}
		}
	}
	p.addApp(&in)
	p.addPlace(&in)
	return in, p.addSections(&in)
}

// callName is the name by which the model calls a tool: its wire name where it is shown,
// and its dotted name where it is called by another tool.
func (p *Prompter) callName(names resulttext.Names, t *tool.Tool) string {
	name, _ := names(t.ID.Dotted())
	return cmp.Or(name, t.ID.Dotted())
}

// The bytes of all files of instructions together: a share of the model's window, and
// no more than a limit.
const (
	maxInstructions   = 32 << 10
	minInstructions   = 2 << 10
	instructionsShare = 10 // a tenth of the window
	bytesPerToken     = 4
)

// addPlace adds where the conversation is held, and the files of instructions there.
func (p *Prompter) addPlace(in *prompt.Input) {
	s := p.Subject().Session
	now := time.Now
	if p.Now != nil {
		now = p.Now
	}
	folders, _ := app.Folders(s.Workspace())
	in.Place = prompt.Place{
		Workspace: s.Workspace(), System: environment.System(), Today: environment.Today(now()),
		Branch: environment.Branch(folders),
	}
	if slices.ContainsFunc(in.Domain, func(t prompt.Tool) bool { return t.Module+"."+t.Action == "shell.bash" }) {
		in.Place.Shell = "bash"
	}
	o := instructions.Options{Folders: folders, User: p.Files, MaxBytes: p.maxFound()}
	if a := s.App(); a != nil && a.Runtime.NoInstructions {
		return
	} else if a != nil && a.Runtime.WorkdirMode == "none" {
		o.Folders = nil // it works in no project
	} else if a == nil || a.Memory == app.MemoryAuto {
		o.Memory = instructions.MemoryFile(folders)
	}
	if a := s.App(); a != nil && a.Memory != app.MemoryAuto && a.Memory != app.MemoryNone {
		o.Memory = a.Memory
	}
	for _, f := range instructions.Read(o) {
		f.Text = p.clean(f.Text)
		in.Instructions = append(in.Instructions, prompt.Instructions(f))
	}
}

// clean takes secrets out of a text, and what the app's filter masks.
func (p *Prompter) clean(text string) string {
	if p.Scrub != nil {
		text = p.Scrub(text)
	}
	if mask := p.Subject().Session.Loaded().Modules.Mask; mask != nil {
		text = mask(text)
	}
	return text
}

// addApp adds what the app file says: skills, and setup steps that were run.
func (p *Prompter) addApp(in *prompt.Input) {
	c := p.Subject()
	a := c.Session.App()
	loaded := c.Session.Loaded()
	for _, s := range loaded.Skills {
		if s.ForUser {
			continue
		}
		skill := prompt.Skill{Command: s.Command, Description: s.Description}
		if slices.Contains(c.Agent.Skills, s.Command) {
			skill.Content = s.Text()
		}
		in.Skills = append(in.Skills, skill)
	}
	if a == nil {
		return
	}
	if c.Agent.SkillText != "" {
		in.Skills = append(in.Skills, prompt.Skill{Command: c.Agent.ID, Content: c.Agent.SkillText})
	}
	for _, m := range a.Middleware {
		if m.Kind == "prompt_inject" {
			in.SystemPrompt = strings.TrimSpace(in.SystemPrompt + "\n\n" + m.Text)
		}
	}
	in.Team.Coordination = c.Agent.Team.Coordination
	for _, s := range a.Specialists(c.Agent) {
		one := prompt.Specialist{Name: s.ID, Role: s.Role, Specialty: s.Specialty}
		in.Team.Specialists = append(in.Team.Specialists, one)
	}
	for _, c := range loaded.Called {
		in.Team.Apps = append(in.Team.Apps, prompt.App{ID: c.ID, Description: c.Description, Input: c.Input})
	}
	for _, ch := range a.Runtime.Channels {
		if loaded.Accepted.Has(consent.Channel(a, ch)) {
			in.Channels = append(in.Channels, prompt.Channel{
				Name: ch.Name, Type: ch.Type, Default: ch.Name == a.Runtime.DefaultChannel,
			})
		}
	}
	for _, m := range a.Modules {
		for _, step := range m.Setup {
			if loaded.Accepted.Has(consent.Step(a, m, step)) {
				in.Setup = append(in.Setup, m.Name+"."+step.Action)
			}
		}
	}
}

// describe returns what the agent may call, as its prompt lists it. It is made
// once: a prompt whose beginning changes is paid for again.
func (p *Prompter) describe() ([]prompt.Tool, []prompt.Category) {
	p.once.Do(func() {
		names := p.Subject().Names
		tools, err := p.Subject().Session.View().List(context.Background())
		if err != nil {
			return // the prompt says less
		}
		for _, t := range tools {
			params, asText := parameters(t.Spec.Input)
			p.tools = append(p.tools, prompt.Tool{
				Name: p.callName(names, t.Tool), Module: t.ID.Namespace, Action: t.ID.Name,
				Params: params, JSON: asText, Server: strings.HasPrefix(t.ID.Namespace, "mcp_"),
			})
			if n := len(p.categories); n == 0 || p.categories[n-1].ID != t.ID.Namespace {
				p.categories = append(p.categories, prompt.Category{
					ID: t.ID.Namespace, Summary: p.Modules.Summary(t.ID.Namespace),
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
