package hook

import (
	"encoding/json"
	"strconv"
	"strings"

	"callgate/internal/condition"
)

// ActionType is what a hook does.
type ActionType string

// The actions.
const (
	ActionCall            ActionType = "module_action"        // makes a call
	ActionCallInject      ActionType = "module_action_inject" // and tells the model its result
	ActionInject          ActionType = "inject_message"       // tells the model something
	ActionNotify          ActionType = "notify"               // sends a message to a channel
	ActionLog             ActionType = "log"                  // writes to the journal
	ActionBlock           ActionType = "block"                // refuses, with a reason
	ActionTransformParams ActionType = "transform_params"     // changes arguments
	ActionTransformResult ActionType = "transform_result"     // marks or cuts a result
	ActionShell           ActionType = "shell"                // runs a command
	ActionCommand         ActionType = "command"              // runs a command of Claude Code's form
)

// Diagnose is the name of the action that calls lsp.diagnostics for the file that a call was about,
// and tells the model what it found.
const Diagnose = "lsp_diagnose"

// Actions lists the actions that an app file may name, with the other names that they
// have elsewhere.
func Actions() []string {
	return []string{
		string(ActionCall), string(ActionCallInject), string(ActionInject), string(ActionNotify), string(ActionLog),
		string(ActionBlock), "gate", string(ActionTransformParams), string(ActionTransformResult), string(ActionShell),
		string(ActionCommand), Diagnose,
	}
}

// ParseAction finds the action that a name means.
func ParseAction(name string) (ActionType, bool) {
	switch name {
	case "gate":
		return ActionBlock, true
	case Diagnose:
		return ActionCallInject, true
	}
	for _, known := range Actions() {
		if known == name {
			return ActionType(name), true
		}
	}
	return "", false
}

// On reports at which events an action makes sense, and says where it does.
func (t ActionType) On(e Event) (ok bool, where string) {
	switch t {
	case ActionBlock:
		return e.CanRefuse(), "tool_start, turn_start and turn_end"
	case ActionTransformParams:
		return e == ToolStart, "tool_start"
	case ActionTransformResult:
		return e == ToolEnd, "tool_end"
	case ActionInject, ActionCallInject:
		return e != SessionEnd, "every event but session_end"
	}
	return true, ""
}

// Action is what a hook does. Which fields count depends on its type.
type Action struct {
	Type    ActionType
	Tool    string              // that is called
	Params  *condition.Template // its arguments: an object
	Text    *condition.Template // that is told, sent, logged, or the reason of a refusal
	Title   *condition.Template // of a message; may be nil
	Level   string              // of a message or a line of the log: info, warning, error
	Channel string              // that a message goes to; empty: the user's
	Command *Command            // that is run
	Inject  bool                // the model is told what the command printed
	Set     *condition.Template // arguments that are set: an object; may be nil
	Remove  []string            // arguments that are removed
	Append  *condition.Template // that is added to a result; may be nil
	Note    *condition.Template // that is told beside a result; may be nil
	Cut     int                 // bytes of a result's text that stay; 0: all

	Written string // what the file says of it, for a human who decides
}

// String says in one line what the action does.
func (a *Action) String() string {
	if a.Written == "" {
		return string(a.Type)
	}
	return string(a.Type) + " " + a.Written
}

// Command is a command line for bash. The places of its template become variables of the
// environment, so that no value can be read as a part of the command. A place where a
// program would read the value as code is a mistake: see checkPlaces.
type Command struct {
	Line   string                // with $variables in the places
	Values []*condition.Template // of the variables, in order
}

// variable is the name of the n-th place's variable.
func variable(n int) string { return "CALLGATE_HOOK_" + strconv.Itoa(n+1) }

// MaxValue is how many bytes of a value a command is given.
const MaxValue = 64 << 10

// CompileCommand reads a command line with places.
func CompileCommand(text string, env condition.Env) (*Command, error) {
	c := &Command{}
	var b strings.Builder
	quotes := shellQuotes{}
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		quotes.read(before)
		if !found {
			c.Line = b.String()
			return c, c.checkPlaces()
		}
		inside, after, closed := strings.Cut(rest, "}}")
		if !closed {
			inside, after = rest, ""
		}
		place := "{{" + inside
		if closed {
			place += "}}"
		}
		value, err := condition.CompileText(place, env)
		if err != nil {
			return nil, err
		}
		b.WriteString(quotes.around("${" + variable(len(c.Values)) + "}"))
		c.Values = append(c.Values, value)
		text = after
	}
}

// Environ renders the values of the places, as variables of the environment.
func (c *Command) Environ(values map[string]any) ([]string, error) {
	var env []string
	for i, t := range c.Values {
		text, err := t.Text(values)
		if err != nil {
			return nil, err
		}
		text = strings.ReplaceAll(text, "\x00", "")
		if len(text) > MaxValue {
			text = text[:MaxValue]
		}
		env = append(env, variable(i)+"="+text)
	}
	return env, nil
}

// shellQuotes follows in which quotes of bash a place of a command line stands.
type shellQuotes struct{ open byte }

func (q *shellQuotes) read(text string) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && q.open != '\'':
			i++
		case q.open == 0 && (c == '\'' || c == '"'):
			q.open = c
		case c == q.open:
			q.open = 0
		}
	}
}

// around writes a variable so that its value is one word, or a part of one.
func (q *shellQuotes) around(variable string) string {
	switch q.open {
	case '"':
		return variable
	case '\'':
		return `'"` + variable + `"'`
	}
	return `"` + variable + `"`
}

// renderObject renders a template of an object. Nil is an empty one.
func renderObject(t *condition.Template, values map[string]any) (map[string]any, error) {
	if t == nil {
		return nil, nil
	}
	data, err := t.Render(values)
	if err != nil {
		return nil, err
	}
	object := map[string]any{}
	return object, json.Unmarshal(data, &object)
}
