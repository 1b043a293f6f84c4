package app

import (
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// agentForm is the way out of an agent that cannot be read.
const agentForm = "write each agent as - id: main, and under it brain, system_prompt …"

// agentsBlock reads the agents of an app.
func (d *decoder) agentsBlock(e entry) {
	if e.null() {
		return
	}
	for _, in := range d.items(e, "a list of agents", agentForm) {
		d.agent(in)
	}
}

func (d *decoder) agent(e entry) {
	a := Agent{Role: "assistant", PlanFirst: true}
	d.mapping(levelAgent, e, map[string]reader{
		"id":                  d.agentID(&a.ID),
		"role":                d.label(&a.Role),
		"specialty":           d.label(&a.Specialty),
		"system_prompt":       func(in entry) { a.SystemPrompt = d.promptText(in) },
		"brain":               func(in entry) { a.Brain = d.brain(in) },
		"lanes":               func(in entry) { a.Lanes = d.lanes(in) },
		"modules":             func(in entry) { a.Modules = d.agentModules(in) },
		"capabilities":        d.texts(&a.Skills, "name skills that dev.skills lists, such as [release]"),
		"plan_first":          d.boolean(&a.PlanFirst, "write true or false"),
		"max_tool_iterations": d.number(&a.MaxIterations, 1, 10_000, "write how often its model is asked within one turn, such as 100"),
	})
	for i, s := range a.Skills {
		a.Skills[i] = strings.TrimPrefix(s, "/")
		d.skillsUsed = append(d.skillsUsed, skillRef{itemPath(entry{path: e.path + ".capabilities"}, i), a.Skills[i], d.places[itemPath(entry{path: e.path + ".capabilities"}, i)], d.report})
	}
	switch {
	case a.ID == "" && d.places[e.path+".id"] == (position{}):
		d.fail(e.at, agentForm, "%s has no id", e.name())
	case slices.ContainsFunc(d.app.Agents, func(o Agent) bool { return o.ID == a.ID }) && a.ID != "":
		d.fail(d.places[e.path+".id"], "give one of them another id", "there are two agents %s", quote(a.ID))
	default:
		d.app.Agents = append(d.app.Agents, a)
	}
}

func (d *decoder) agentID(to *string) reader {
	return func(e entry) {
		id, ok := d.text(e)
		if ok && (len(id) > maxID || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "") {
			d.fail(e.at, "use letters, digits, - and _", "%s is %s, which cannot be an agent's id", e.name(), quote(id))
			return
		}
		*to = id
	}
}

// promptText reads a text, or {file: …}.
func (d *decoder) promptText(e entry) string {
	if _, ok := e.value.(ast.MapNode); !ok {
		text, _ := d.text(e)
		return text
	}
	var text string
	d.mapping(levelPromptFile, e, map[string]reader{"file": func(in entry) { text, _ = d.fileText(in, maxPrompt) }})
	return text
}

// agentModules reads modules, each by its name or as {name: [actions]}.
func (d *decoder) agentModules(e entry) []AgentModule {
	const form = "write - filesystem for all of it, or - filesystem: [read, grep]"
	out := []AgentModule{}
	for _, in := range d.items(e, "a list of modules", form) {
		if _, ok := in.value.(ast.MapNode); !ok {
			if name, ok := d.text(in); ok {
				d.mention(in.path, name, "", true)
				out = append(out, AgentModule{Name: name})
			}
			continue
		}
		for _, m := range d.entries(in, form) {
			one := AgentModule{Name: m.key}
			d.places[m.path] = m.keyAt
			d.mention(m.path, m.key, "", true)
			d.actions(m.key, &one.Actions)(m)
			out = append(out, one)
		}
	}
	return out
}

// lanes reads the brains of an agent's two lanes.
func (d *decoder) lanes(e entry) map[string]*Brain {
	lanes := map[string]*Brain{}
	lane := func(in entry) {
		if m, ok := in.value.(ast.MapNode); ok && hasKey(m, "brain") {
			d.mapping(levelLane, in, map[string]reader{"brain": func(b entry) { lanes[in.key] = d.brain(b) }})
			return
		}
		lanes[in.key] = d.brain(in)
	}
	d.mapping(levelLanes, e, map[string]reader{"edge": lane, "core": lane})
	if len(lanes) == 1 {
		d.fail(e.at, "write edge: and core:, or leave lanes out and give the agent one brain", "%s has one lane", e.name())
	}
	return lanes
}

func hasKey(m ast.MapNode, name string) bool {
	for i := m.MapRange(); i.Next(); {
		if key, ok := keyText(i.Key()); ok && key == name {
			return true
		}
	}
	return false
}

// brain reads a model and how it is asked.
func (d *decoder) brain(e entry) *Brain {
	b := &Brain{}
	var timeout, effort = 0, ""
	d.mapping(levelBrain, e, map[string]reader{
		"provider":    d.textInto(&b.Provider),
		"provider_id": d.textInto(&b.Provider),
		"model":       d.textInto(&b.Model),
		"backend":     d.choice(&b.Backend, "openai_compat", "anthropic", "github_copilot"),
		"config":      func(in entry) { d.brainConfig(in, b) },
		"credential":  func(in entry) { b.Credential = d.credential(in) },
		"temperature": d.decimal(&b.Temperature, 0, 2),
		"top_p":       d.decimal(&b.TopP, 0, 1),
		"max_tokens":  d.number(&b.MaxTokens, 1, 10_000_000, "write how many tokens an answer may have, such as 4096"),
		"timeout":     d.number(&timeout, 1, 86_400, "write how many seconds one answer may take, such as 120"),
		"native_tool_use": func(in entry) {
			b.NativeTools = new(bool)
			d.boolean(b.NativeTools, "write false for a model that takes no tools")(in)
		},
		"context":  func(in entry) { b.Context = d.context(levelBrainContext, in, &b.Window) },
		"effort":   d.choice(&effort, "low", "medium", "high"),
		"fallback": func(in entry) { b.Fallback = d.fallbackBrain(in) },
	})
	b.Timeout, b.Effort = time.Duration(timeout)*time.Second, effort
	switch {
	case b.Provider == "":
		d.fail(e.at, "write provider: openai, anthropic, deepseek, ollama … or offline", "%s names no provider", e.name())
	case b.Provider != Offline && b.Model == "":
		d.fail(e.at, "write model: and the name by which the provider knows it", "%s names no model", e.name())
	}
	return b
}

// brainConfig reads where a provider is, and its key. A key whose variable is
// not set is passed over where the brain has a credential too.
func (d *decoder) brainConfig(e entry, b *Brain) {
	d.secrets = true
	defer func() { d.secrets = false }()
	d.mapping(levelBrainConfig, e, map[string]reader{
		"base_url": func(in entry) {
			url, ok := d.text(in)
			if ok && !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
				d.fail(in.at, "it looks like https://host/v1", "%s is %s, which is no address of the web", in.name(), quote(url))
			}
			b.BaseURL = url
		},
		"api_key": func(in entry) {
			if text, ok := scalarText(in.value); ok && d.unset(text) {
				d.keyless = append(d.keyless, missingKey{in, b, d.report})
				return
			}
			b.Key, _ = d.text(in)
			b.DataSent = append(b.DataSent, sends("a key", in))
		},
		"headers": func(in entry) {
			b.Headers = map[string]string{}
			for _, h := range d.entries(in, "write one header on each line, such as X-Team: search") {
				b.Headers[h.key], _ = d.text(h)
				b.DataSent = append(b.DataSent, sends("the header "+h.key, h))
			}
		},
	})
}

// sends says what is sent: references as they are written, and never a value.
func sends(what string, e entry) string {
	if text, ok := scalarText(e.value); ok && strings.Contains(text, "{{") {
		return what + " " + text
	}
	return what + " that stands in the file"
}

// missingKey is a key whose variable is not set; whether that matters is known
// when the whole brain is read.
type missingKey struct {
	entry
	brain  *Brain
	report *report
}

// unset reports whether a text is one variable of the environment that is not
// there.
func (d *decoder) unset(text string) bool {
	name, ok := strings.CutPrefix(strings.TrimSpace(text), "{{")
	name, shut := strings.CutSuffix(name, "}}")
	variable, env := strings.CutPrefix(strings.TrimSpace(name), "env.")
	if !ok || !shut || !env || !variableName.MatchString(variable) {
		return false
	}
	value, there := d.vars.Env(variable)
	return !there || value == ""
}

// decimal reads a number within bounds.
func (d *decoder) decimal(to **float64, least, most float64) reader {
	return func(e entry) {
		var v float64
		switch n := e.value.(type) {
		case *ast.FloatNode:
			v = n.Value
		case *ast.IntegerNode:
			switch i := n.Value.(type) {
			case int64:
				v = float64(i)
			case uint64:
				v = float64(i)
			}
		default:
			d.typeError(e, "a number", "write a number, such as 0.7")
			return
		}
		if v < least || v > most {
			d.fail(e.at, "write a number, such as 0.7", "%s is %g, and must be from %g to %g", e.name(), v, least, most)
			return
		}
		*to = &v
	}
}

// settleAgents looks up what agents name once the whole file is read.
func (d *decoder) settleAgents() {
	for _, k := range d.keyless {
		if k.brain.Credential == "" {
			k.report.fail(k.at, "set it, name a credential, or write {{secret.NAME}}", "the variable in %s is not set", k.name())
		}
	}
	var skills, ids []string
	for _, s := range d.app.Skills {
		skills = append(skills, s.Command)
	}
	for _, use := range d.skillsUsed {
		if use.command != "" && !slices.Contains(skills, use.command) {
			use.report.fail(use.at, didYouMean(use.command, skills, "dev.skills has"), "there is no skill %s", quote(use.command))
		}
	}
	for _, a := range d.app.Agents {
		ids = append(ids, a.ID)
	}
	r := &d.app.Runtime
	if r.Entry != "" && !slices.Contains(ids, r.Entry) {
		d.fail(d.places["runtime.entry_agent"], didYouMean(r.Entry, ids, "the agents are"), "there is no agent %s", quote(r.Entry))
	}
	if r.Entry == "" && len(ids) > 0 {
		r.Entry = ids[0]
	}
}

// skillRef is a place where an agent names a skill.
type skillRef struct {
	path, command string
	at            position
	report        *report
}
