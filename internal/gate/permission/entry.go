package permission

import (
	"encoding/json"
	"slices"
	"strings"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/binding"
	"callgate/internal/gate/match"
	"callgate/tool"
)

const opParse = "permission.ParseEntry"

const entryHint = `write the tool and what of it, as in 'shell: go test *' or 'Write: src/**'`

// ParseEntry reads what a human allows for a session: a tool by any of its names, and
// a pattern over its arguments in the language of lasting grants. For a tool that runs
// commands the pattern is one of commands, for one that works on files one of their
// paths; for any other it names a parameter, as in "http.get: url: https://example.org/**".
// find returns the tool that a name means.
func ParseEntry(text string, find func(name string) (*tool.Tool, error)) (Entry, error) {
	name, rest, _ := strings.Cut(text, ":")
	name, rest = strings.TrimSpace(name), strings.TrimSpace(rest)
	if name == "" || strings.ContainsAny(name, "*?") {
		return Entry{}, tool.Errorf(opParse, tool.Invalid, "%q names no tool", tool.Truncate(text)).WithHint(entryHint)
	}
	t, err := find(name)
	if err != nil {
		return Entry{}, err
	}
	form, err := entryForm(t, rest)
	if err != nil {
		return Entry{}, err
	}
	p, err := match.Compile(form)
	if err != nil {
		return Entry{}, tool.Errorf(opParse, tool.Invalid, "%q cannot be allowed: %v", tool.Truncate(text), err).
			WithHint(entryHint)
	}
	return Entry{Tool: t.ID.Dotted(), Text: p.String(), pattern: p}, nil
}

// entryForm makes the form of a pattern of what stands after a tool's name.
func entryForm(t *tool.Tool, text string) (map[string]any, error) {
	params, name := parameters(t), t.ID.Dotted()
	param, pattern, found := strings.Cut(text, ":")
	param = strings.TrimSpace(param)
	switch files := fileParameters(t); {
	case strings.HasPrefix(text, "{"):
		var form map[string]any
		if err := json.Unmarshal([]byte(text), &form); err != nil {
			return nil, tool.Errorf(opParse, tool.Invalid, "%q is no JSON: %w", tool.Truncate(text), err)
		}
		if _, ok := form["command"]; params["command"] && !ok {
			return nil, tool.Errorf(opParse, tool.Invalid, "%q says nothing of the command", tool.Truncate(text)).
				WithHint("as in '%s: go test *', once for each program", name)
		}
		return form, nil
	case params["command"] && text == "":
		return nil, tool.Errorf(opParse, tool.Invalid, "say which commands of %s are allowed", name).
			WithHint("as in '%s: go test *', once for each program", name)
	case params["command"]:
		return map[string]any{"command": text}, nil
	case text == "":
		return map[string]any{}, nil
	case found && params[param]:
		return map[string]any{param: strings.TrimSpace(pattern)}, nil
	case len(files) > 0:
		form := make(map[string]any, len(files))
		for _, param := range files {
			form[param] = text
		}
		return form, nil
	default:
		return nil, tool.Errorf(opParse, tool.Invalid, "%q names no parameter of %s", tool.Truncate(text), name).
			WithHint("write '%s: PARAMETER: PATTERN', or '%s' alone for all its calls", name, name)
	}
}

// parameters are the names of a tool's parameters.
func parameters(t *tool.Tool) map[string]bool {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(t.Spec.Input, &schema) // a schema that cannot be read names none
	names := make(map[string]bool, len(schema.Properties))
	for name := range schema.Properties {
		names[name] = true
	}
	return names
}

// fileParameters are the parameters that name the files which a tool works on.
func fileParameters(t *tool.Tool) (names []string) {
	for _, e := range t.Runtime.Effects {
		if _, name, ok := binding.PathParam(e); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Offer is what a yes for the rest of the session to a request would cover: the same
// kind of call, which the human is shown, and nothing that was not. Nil: a yes is for
// this call alone.
func Offer(c *Call, choices []approval.Choice) *approval.Choice {
	if !c.MayAllow || len(choices) == 0 || c.Match == nil {
		return nil
	}
	here := func(exact bool) int {
		return slices.IndexFunc(choices, func(o approval.Choice) bool { return o.IsHere() && o.Exact == exact })
	}
	name := c.Tool.ID.Dotted()
	if i := here(false); i >= 0 {
		return offered(name, choices[i])
	}
	_, isCommand := c.Match.Args["command"]
	if !isCommand && len(c.Match.Paths) == 0 && len(c.Match.Destinations) == 0 && c.Tool.Runtime.Risk.Level() < tool.High.Level() {
		return &approval.Choice{Text: "any call of " + name, Match: json.RawMessage("{}")}
	}
	if i := here(true); i >= 0 {
		return offered(name, choices[i])
	}
	return nil
}

// offered is a choice as it is shown for a session.
func offered(name string, c approval.Choice) *approval.Choice {
	if c.Exact {
		return &approval.Choice{Text: "this exact call of " + name, Match: c.Match, Exact: true}
	}
	var form map[string]any
	_ = json.Unmarshal(c.Match, &form) // it was made of a pattern
	text := strings.TrimSuffix(strings.TrimPrefix(c.Text, "calls like "), ", in this folder")
	if command, ok := form["command"]; ok && len(form) == 1 {
		if list := texts(command); len(list) > 0 {
			text = strings.Join(list, "` and `")
			return &approval.Choice{Text: "`" + text + "`", Match: c.Match}
		}
	}
	return &approval.Choice{Text: name + " with " + text, Match: c.Match}
}

func texts(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			if s, ok := one.(string); ok {
				list = append(list, s)
			}
		}
	}
	return list
}

// FromAnswer is what an approved request was allowed for the rest of its session;
// false when it was allowed once.
func FromAnswer(r approval.Request) (Entry, bool, error) {
	if r.Answer == nil || !r.Answer.Approve || !r.Answer.Always || r.Session == nil {
		return Entry{}, false, nil
	}
	var form map[string]any
	if err := json.Unmarshal(r.Session.Match, &form); err != nil {
		return Entry{}, false, err
	}
	p, err := match.Compile(form)
	if err != nil {
		return Entry{}, false, err
	}
	return Entry{Tool: r.Call.Tool.Dotted(), Text: p.String(), By: r.Answer.By, pattern: p}, true, nil
}
