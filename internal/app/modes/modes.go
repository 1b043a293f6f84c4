// Package modes reads the modes of an app: named ways of working, of which a
// conversation is in one. A mode may give some of the tools that its agent has, limit
// its turns, and say how to behave.
//
// Law: a mode gives nothing. It names what of the agent's tools stays, so that to be
// in a mode is never more than to be in none; a mode without tool_grants leaves them
// all. The first mode is where a conversation begins, unless one is called auto.
package modes

import (
	"regexp"
	"slices"
	"time"

	"callgate/internal/app/node"
	"callgate/tool"
)

// Default is the name of the mode in which a conversation begins, where there is one.
const Default = "auto"

// Mode is one way of working.
type Mode struct {
	Name        string
	Description string              // for people, and for the model
	Behavior    string              // what the model is told as long as the mode lasts
	Only        map[string][]string // what stays of the agent's tools: actions by module; nil: all
	MaxTurns    int                 // requests to a model within one turn; 0: as the app says
	Timeout     time.Duration       // of a model within one turn; 0: as the app says
}

// Names is told what the modes name, to look it up when the file is read.
type Names interface {
	Mention(r *node.Reader, path, module, action string, permits bool)
}

// The levels of the file.
const (
	Level      = "runtime.modes.<mode>"
	grantLevel = "runtime.modes.<mode>.tool_grants"
)

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)

const (
	form      = "write each mode by its name, and under it description, tool_grants, max_turns, timeout or behavior"
	grantForm = "write each as filesystem, filesystem.read or {module: filesystem, actions: [read]}"
)

// Read reads the modes, the one in which a conversation begins first.
func Read(r *node.Reader, e node.Entry, names Names) []Mode {
	var all []Mode
	for _, in := range r.Entries(e, form) {
		if !nameForm.MatchString(in.Key) {
			r.Fail(in.KeyAt, "use lower-case letters, digits, - and _, at most 40", "%s cannot name a mode", node.Quote(in.Key))
			continue
		}
		all = append(all, reader{r, names}.mode(in))
	}
	if i := slices.IndexFunc(all, func(m Mode) bool { return m.Name == Default }); i > 0 {
		first := all[i]
		all = slices.Insert(slices.Delete(all, i, i+1), 0, first)
	}
	return all
}

type reader struct {
	*node.Reader
	names Names
}

func (r reader) mode(e node.Entry) Mode {
	m := Mode{Name: e.Key}
	if e.IsNull() {
		return m
	}
	plain := r.WithoutEnv() // what a model is told of it needs no consent
	r.Mapping(Level, e, map[string]node.Read{
		"description": plain.Label(&m.Description),
		"behavior":    plain.TextInto(&m.Behavior),
		"tool_grants": func(in node.Entry) { m.Only = r.grants(in) },
		"max_turns":   r.Number(&m.MaxTurns, 1, 10_000, "write how often a model is asked within one turn, such as 50"),
		"timeout": r.Seconds(&m.Timeout, 1, 86_400,
			"write how many seconds of a model's time one turn may take, such as 600"),
	})
	return m
}

// grants reads what stays of an agent's tools. An empty list leaves none.
func (r reader) grants(e node.Entry) map[string][]string {
	only := map[string][]string{}
	whole := map[string]bool{}
	if e.IsNull() {
		return only
	}
	for _, in := range r.Items(e, "a list of tools", grantForm) {
		module, actions := r.grant(in)
		switch {
		case module == "":
		case module == "*":
			r.Fail(in.At, "leave tool_grants out to keep all tools", "%s names every module", in.Name())
		case len(actions) == 0:
			only[module], whole[module] = nil, true
		case !whole[module]:
			only[module] = append(only[module], actions...)
		}
	}
	return only
}

// grant reads one module, with its actions or whole.
func (r reader) grant(e node.Entry) (module string, actions []string) {
	if !e.IsMapping() {
		text, ok := r.Text(e)
		if !ok {
			return "", nil
		}
		name, action, err := tool.ParseDotted(text)
		if err != nil {
			name, action = text, ""
		}
		r.names.Mention(r.Reader, e.Path, name, "", true)
		if action != "" {
			r.names.Mention(r.Reader, e.Path, name, action, true)
			actions = []string{action}
		}
		return name, actions
	}
	list := ""
	take := func(in node.Entry) {
		list = in.Key
		r.Texts(&actions, "name the actions, such as [read], or leave the key out for all of them")(in)
	}
	r.Mapping(grantLevel, e, map[string]node.Read{
		"module": r.TextInto(&module), "actions": take, "tools": take,
	})
	if module == "" {
		r.Fail(e.At, grantForm, "%s names no module", e.Name())
		return "", nil
	}
	r.names.Mention(r.Reader, e.Below("module"), module, "", true)
	named := node.Entry{Path: e.Below(list)}
	for i, action := range actions {
		r.names.Mention(r.Reader, named.Item(i), module, action, true)
	}
	return module, actions
}
