package skill

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/internal/app/node"
	"callgate/internal/gate/schema"
	"callgate/internal/visible"
	"callgate/tool"
)

// Machine is a skill that goes from state to state. In each, only some tools may be
// called: see the law of package internal/kernel/skillruns.
type Machine struct {
	Initial       string           `json:"initial_state"`
	Input         json.RawMessage  `json:"input_schema,omitempty"`
	Output        json.RawMessage  `json:"output_schema,omitempty"`
	States        map[string]State `json:"states"`
	MaxSteps      int              `json:"max_steps"`
	Interruptible bool             `json:"interruptible"`
}

// State is one state of a machine.
type State struct {
	Objective   string       `json:"objective,omitempty"`
	Tools       []string     `json:"allowed_tools,omitempty"`
	Transitions []Transition `json:"transitions,omitempty"`
	Terminal    bool         `json:"terminal,omitempty"`
}

// Transition leads to another state.
type Transition struct {
	On string `json:"on"`
	To string `json:"to"`
}

// The bounds of a machine.
const (
	defaultSteps = 50
	maxSteps     = 1000
	maxStates    = 100
	maxTools     = 100 // of a state
	maxObjective = 4 << 10
)

// Allows reports whether a tool may be called in the state. A name is a tool's, dotted or
// with two underscores; that of a module, alone or with .*; or that of one of the kernel's
// own tools. A star is all of them.
func (s State) Allows(id tool.ID, control bool) bool {
	return slices.ContainsFunc(s.Tools, func(name string) bool {
		module, action := cutName(name)
		switch {
		case name == "*":
			return true
		case action == "":
			return module == id.Namespace && !control || control && module == id.Name
		}
		return module == id.Namespace && (action == "*" || action == id.Name)
	})
}

// Only is what the state allows, in the form of a session's limit: actions by module, none
// for all of a module's. Nil is no limit.
func (s State) Only() map[string][]string {
	only, whole := map[string][]string{}, map[string]bool{}
	for _, name := range s.Tools {
		module, action := cutName(name)
		switch {
		case name == "*":
			return nil
		case action == "" || action == "*":
			whole[module] = true
		default:
			only[module] = append(only[module], action)
		}
	}
	for module := range whole {
		only[module] = nil
	}
	return only
}

// cutName takes the name of a tool apart. The kernel's own module may be left out.
func cutName(name string) (module, action string) {
	if module, action, ok := strings.Cut(name, "."); ok {
		return module, action
	}
	module, action, _ = strings.Cut(name, "__")
	return module, action
}

// Next returns the state that an event leads to.
func (m *Machine) Next(from, on string) (string, error) {
	state := m.States[from]
	for _, t := range state.Transitions {
		if strings.EqualFold(t.On, on) {
			return t.To, nil
		}
	}
	return "", tool.Errorf("skill.Next", tool.Invalid, "nothing leads out of the state %s on %q", from, tool.Truncate(on)).
		WithHint("%s", state.Ways())
}

// Ways says which transitions there are.
func (s State) Ways() string {
	if len(s.Transitions) == 0 {
		return "no transition leads out of it"
	}
	var all []string
	for _, t := range s.Transitions {
		all = append(all, t.On+" → "+t.To)
	}
	return "the transitions are " + strings.Join(all, ", ")
}

// Offers says which tools the state allows.
func (s State) Offers() string {
	if len(s.Tools) == 0 {
		return "no tool"
	}
	return strings.Join(s.Tools, ", ")
}

// Tell is what a model is told of a state.
func (m *Machine) Tell(skill, name string, step int) string {
	s := m.States[name]
	var b strings.Builder
	fmt.Fprintf(&b, "Skill %s, state %s (step %d of at most %d).", skill, name, step, m.MaxSteps)
	if s.Objective != "" {
		fmt.Fprintf(&b, "\nObjective: %s", s.Objective)
	}
	if s.Terminal {
		return b.String() + "\nThis is its end. The limits of the skill no longer hold."
	}
	fmt.Fprintf(&b, "\nAllowed here: %s. A call of any other tool is refused.", s.Offers())
	for _, t := range s.Transitions {
		fmt.Fprintf(&b, "\n- skill_step {\"on\": %q} goes to %s", t.On, t.To)
		if to := m.States[t.To]; to.Terminal {
			b.WriteString(", the end")
			if len(m.Output) > 0 {
				fmt.Fprintf(&b, "; give output, which must meet %s", m.Output)
			}
		}
	}
	return b.String()
}

// CheckInput checks what a machine begins with; CheckOutput what it ends with.
func (m *Machine) CheckInput(value json.RawMessage) error {
	return checkValue(m.Input, value, "the input of this skill")
}

// CheckOutput checks what a machine ends with.
func (m *Machine) CheckOutput(value json.RawMessage) error {
	return checkValue(m.Output, value, "the output of this skill")
}

func checkValue(raw, value json.RawMessage, what string) error {
	if len(raw) == 0 {
		return nil
	}
	s, err := schema.Compile(raw)
	if err != nil {
		return err
	}
	if len(value) == 0 {
		value = json.RawMessage("{}")
	}
	if err := s.CheckResult(value); err != nil {
		return tool.Errorf("skill.Check", tool.Invalid, "%s does not fit: %v", what, err).
			WithHint("it must meet %s", tool.TruncateTo(string(raw), 1000))
	}
	return nil
}

// machineReader reads the states of a skill.
type machineReader struct {
	*node.Reader
	made  *Machine
	found *node.Entry // of states
	keyed []node.Entry
}

func (m *machineReader) reads() map[string]node.Read {
	keyed := func(read node.Read) node.Read {
		return func(e node.Entry) {
			m.keyed = append(m.keyed, e)
			read(e)
		}
	}
	return map[string]node.Read{
		"initial_state": keyed(m.TextInto(&m.made.Initial)),
		"input_schema":  keyed(m.schema(&m.made.Input)),
		"output_schema": keyed(m.schema(&m.made.Output)),
		"max_steps":     keyed(m.Number(&m.made.MaxSteps, 1, maxSteps, "write how many steps it takes at most, such as 20")),
		"interruptible": keyed(m.Boolean(&m.made.Interruptible, "write true if the user's next words end it")),
		"states": func(e node.Entry) {
			m.found = &e
			m.made.States = map[string]State{}
			for _, in := range m.Entries(e, "write each state as name: {objective: …, transitions: […]}") {
				m.made.States[in.Key] = m.state(in)
			}
			if n := len(m.made.States); n > maxStates {
				m.Fail(e.At, "make two skills of it", "the skill has %d states, and %d are the most", n, maxStates)
			}
		},
	}
}

func (m *machineReader) schema(to *json.RawMessage) node.Read {
	return func(e node.Entry) {
		raw, err := json.Marshal(m.Value(e))
		if err == nil {
			_, err = schema.Compile(raw)
		}
		if err != nil {
			m.Fail(e.At, "write a JSON Schema, such as {type: object, properties: {…}}", "%s is no schema: %v", e.Name(), err)
			return
		}
		*to = raw
	}
}

func (m *machineReader) state(e node.Entry) (s State) {
	if !nameForm.MatchString(e.Key) || len(e.Key) > maxName {
		m.Fail(e.KeyAt, "use small letters, digits, - and _", "a state cannot be called %s", node.Quote(e.Key))
	}
	m.Mapping("states", e, map[string]node.Read{
		"objective": func(in node.Entry) {
			if text, ok := m.Text(in); ok && len(text) > maxObjective {
				m.Fail(in.At, "shorten it", "%s has more than %d bytes", in.Name(), maxObjective)
			} else if ok {
				s.Objective = visible.Lines(strings.TrimSpace(text))
			}
		},
		"allowed_tools": func(in node.Entry) {
			m.Texts(&s.Tools, "name tools, such as [filesystem.read], or write []")(in)
			m.checkTools(in, s.Tools)
		},
		"transitions": func(in node.Entry) {
			for _, t := range m.Items(in, "a list of transitions", "write each as {on: done, to: check}") {
				s.Transitions = append(s.Transitions, m.transition(t))
			}
		},
		"terminal": m.Boolean(&s.Terminal, "write true for a state in which the skill ends"),
	})
	return s
}

func (m *machineReader) checkTools(e node.Entry, names []string) {
	if len(names) > maxTools {
		m.Fail(e.At, "name modules", "%s has %d tools, and %d are the most", e.Name(), len(names), maxTools)
	}
	for i, name := range names {
		module, action := cutName(name)
		if name == "" || name == "*" {
			continue
		}
		if module == "" || strings.ContainsAny(module, "*?()[] ") || action != "*" && strings.ContainsAny(action, "*?()[] ") {
			m.Fail(m.Position(e.Item(i)), "write module.tool, module.* or the name of a module",
				"%s names no tool", node.Quote(name))
		}
	}
}

func (m *machineReader) transition(e node.Entry) (t Transition) {
	m.Mapping("states.transitions", e, map[string]node.Read{"on": m.TextInto(&t.On), "to": m.TextInto(&t.To)})
	if t.On == "" || t.To == "" {
		m.Fail(e.At, "write {on: done, to: check}", "%s needs on and to", e.Name())
	}
	return t
}

// finish checks what the states say of each other.
func (m *machineReader) finish() *Machine {
	made, at := m.made, m.found.At
	names := slices.Sorted(maps.Keys(made.States))
	switch _, ok := made.States[made.Initial]; {
	case len(names) == 0:
		m.Fail(at, "write at least one state that is terminal", "states is empty")
	case made.Initial == "":
		m.Fail(at, "write initial_state: "+names[0], "the skill has states and no initial_state")
	case !ok:
		m.Fail(m.Position("initial_state"), node.DidYouMean(made.Initial, names, "the states are"),
			"there is no state %s", node.Quote(made.Initial))
	case made.States[made.Initial].Terminal:
		m.Fail(m.Position("initial_state"), "begin with another state", "the skill would end where it begins")
	}
	ends := false
	for _, name := range names {
		s, path := made.States[name], m.found.Below(name)
		ends = ends || s.Terminal
		seen := map[string]bool{}
		for i, t := range s.Transitions {
			here := m.Nearest(fmt.Sprintf("%s.transitions[%d]", path, i))
			if _, ok := made.States[t.To]; !ok && t.To != "" {
				m.Fail(here, node.DidYouMean(t.To, names, "the states are"), "there is no state %s", node.Quote(t.To))
			}
			if on := strings.ToLower(t.On); on != "" && seen[on] {
				m.Fail(here, "keep one of them", "the state %s has two transitions on %s", name, node.Quote(t.On))
			} else {
				seen[on] = true
			}
		}
		switch {
		case s.Terminal && (len(s.Transitions) > 0 || len(s.Tools) > 0):
			m.Fail(m.Nearest(path), "a terminal state has neither tools nor transitions", "nothing happens in %s any more", name)
		case !s.Terminal && len(s.Transitions) == 0:
			m.Fail(m.Nearest(path), "give it a transition, or write terminal: true", "nothing leads out of the state %s", name)
		}
	}
	if !ends && len(names) > 0 {
		m.Fail(at, "write terminal: true in one of them", "no state is the end")
	}
	return made
}
