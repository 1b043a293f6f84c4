// Package pipeline reads the steps of an app whose runtime.mode is pipeline.
//
// Law: steps run in their order, each once. A step calls a tool or has an agent of the app
// work, and what it is given may refer to the app's input and to what earlier steps gave. A
// reference to something that cannot be there is a mistake of the file.
package pipeline

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"callgate/internal/app/contract"
	"callgate/internal/app/node"
	"callgate/tool"
)

// Mode is the mode of an app that runs steps.
const Mode = "pipeline"

// Agent is who makes the calls of the steps. No agent of the app has this name.
const Agent = "pipeline"

// MaxSteps is how many steps an app may have.
const MaxSteps = 40

// Step is one step: a call, or the work of an agent.
type Step struct {
	ID     string
	Action string         // the dotted name of the tool that is called; "": an agent works
	Params map[string]any // of the call
	Agent  string
	Prompt string          // what the agent is to do
	Output json.RawMessage // the schema of what the agent gives; nil: any text

	at node.Position
}

// Names is told what the steps name, to look it up when the file is read.
type Names interface {
	Mention(r *node.Reader, path, module, action string, permits bool)
}

// Level is where a step is written.
const Level = "runtime.pipeline"

var idForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

const form = "write each step as {id: read, action: filesystem.read, params: {path: '{{input.path}}'}} " +
	"or {id: sum, agent: writer, prompt: 'Sum up: {{steps.read.text}}'}"

// Read reads the steps. agent is told of the agents that they name.
func Read(r *node.Reader, e node.Entry, names Names, agent func(path, id string)) (steps []Step) {
	for _, in := range r.Items(e, "a list of steps", form) {
		s := Step{at: in.At}
		later := r.WithoutEnv().WithTemplates(roots)
		r.Mapping(Level, in, map[string]node.Read{
			"id":     r.TextInto(&s.ID),
			"action": r.TextInto(&s.Action),
			"agent":  r.TextInto(&s.Agent),
			"prompt": later.TextInto(&s.Prompt),
			"output": contract.Schema(r, &s.Output),
			"params": func(p node.Entry) {
				m, ok := later.Value(p).(map[string]any)
				if !ok && !p.IsNull() {
					r.TypeError(p, "a mapping of parameters", form)
				}
				s.Params = m
			},
		})
		if s.check(r, in) {
			module, action, _ := tool.ParseDotted(s.Action)
			if s.Action != "" {
				names.Mention(r, in.Below("action"), module, action, true)
			} else {
				agent(in.Below("agent"), s.Agent)
			}
			steps = append(steps, s)
		}
	}
	if len(steps) > MaxSteps {
		const remedy = "make several apps of it, which call each other"
		r.Fail(e.At, remedy, "there are %d steps, of at most %d", len(steps), MaxSteps)
	}
	return steps
}

// check reports whether a step is one.
func (s *Step) check(r *node.Reader, in node.Entry) bool {
	fail := func(format string, args ...any) bool {
		r.Fail(in.At, form, format, args...)
		return false
	}
	_, _, err := tool.ParseDotted(s.Action)
	switch {
	case !idForm.MatchString(s.ID):
		return fail("%s has no id of lower-case letters, digits and _", in.Name())
	case (s.Action == "") == (s.Agent == ""):
		return fail("the step %s has an action or an agent, one of them", s.ID)
	case s.Action != "" && err != nil:
		return fail("the step %s calls %s, which is no module.action", s.ID, node.Quote(s.Action))
	case s.Action != "" && (s.Prompt != "" || s.Output != nil):
		return fail("the step %s calls a tool, and prompt and output are an agent's", s.ID)
	case s.Agent != "" && s.Params != nil:
		return fail("the step %s has an agent work, and params are a tool's", s.ID)
	case s.Agent != "" && strings.TrimSpace(s.Prompt) == "":
		return fail("the step %s does not say what its agent is to do", s.ID)
	}
	return true
}

// Check looks up what the steps refer to, when the whole block is read.
func Check(r *node.Reader, steps []Step, input json.RawMessage) {
	var before []Step
	for _, s := range steps {
		if slices.ContainsFunc(before, func(o Step) bool { return o.ID == s.ID }) {
			r.Fail(s.at, "give one of them another id", "there are two steps %s", node.Quote(s.ID))
		}
		values := []any{s.Prompt}
		if s.Action != "" {
			values = []any{s.Params}
		}
		if _, err := Render(values, func(ref Reference) (any, error) { return nil, ref.check(before, input) }); err != nil {
			r.Fail(s.at, "refer to {{input}}, or to {{steps.ID.output}} or {{steps.ID.text}} of an earlier step",
				"in the step %s: %v", s.ID, err)
		}
		before = append(before, s)
	}
}
