package policy

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/gate/binding"
	"callgate/internal/gate/match"
	"callgate/internal/secretfile"
	"callgate/internal/weburl"
	"callgate/tool"
)

// # What leaves the machine, and secrets
//
// By default a call that sends data to a destination that it names itself asks, whatever
// its risk and its method: an address can carry what was read here. This machine itself
// (localhost, 127.0.0.0/8, ::1) is no such destination. Where the app file or the user
// chose the destination (a search engine, an API's server, an account) only the risk of
// the call counts.
//
// By default a file that is named like a secret asks to be read, and to be given another
// name: nothing would ask about that one.
//
// Both are defaults: a rule that names the tool decides before them.

const (
	ruleEgress = "kernel.egress"
	ruleSecret = "kernel.secret_files"
	ruleNarrow = "kernel.granted_in_part"

	reasonEgress = "%s sends a request to %s, and no rule lists that destination, so a human must approve this call first; " +
		"the answer can count for all calls to it"
	reasonEgressUnknown = "%s sends a request to the address that it is called with, so a human must approve the first " +
		"call to each destination"
	reasonSecret = "%s %s %s, whose name is that of a file with secrets, so a human must approve this call first"
	reasonNarrow = "%s is granted with some arguments in tools.capabilities, and these are others, so a human must " +
		"approve this call first"
)

// destination returns where a call sends data by its own choice; call is nil while the
// arguments are not known. It returns false for a call that names no destination but this
// machine.
func destination(t *tool.Tool, call *match.Call) (where string, leaves bool) {
	for _, e := range t.Runtime.Effects {
		param, ok := binding.DestinationParam(e)
		if !ok {
			continue
		}
		if call == nil {
			return "", true
		}
		if where, leaves = leavesFor(call.Args[param]); leaves {
			return where, true
		}
	}
	return "", false
}

// leavesFor returns the first destination in an argument that is not this machine.
func leavesFor(value any) (where string, leaves bool) {
	switch value := value.(type) {
	case string:
		return leavesForText(value)
	case []any:
		for _, item := range value {
			if where, leaves = leavesFor(item); leaves {
				return where, true
			}
		}
		return "", false
	case nil, bool:
		return "", false
	}
	return "the destination that its arguments describe", true
}

func leavesForText(text string) (where string, leaves bool) {
	if strings.TrimSpace(text) == "" || strings.TrimSpace(text) == "about:blank" {
		return "", false
	}
	u, err := weburl.Parse(text)
	if err != nil && !strings.Contains(text, "//") {
		u, err = weburl.Parse("https://" + strings.TrimSpace(text)) // tools complete a host so
	}
	switch {
	case err != nil:
		return fmt.Sprintf("%q", tool.TruncateTo(text, 100)), true
	case u.IsLoopback():
		return "", false
	}
	return tool.TruncateTo(u.Destination(), 200), true
}

// asksAbout reports whether the defaults have a human asked about a call because of what
// it sends or reads, and not because of its risk.
func asksAbout(t *tool.Tool, call *match.Call) (Decision, bool) {
	if where, leaves := destination(t, call); leaves {
		reason := fmt.Sprintf(reasonEgressUnknown, t.ID.Dotted())
		if where != "" {
			reason = fmt.Sprintf(reasonEgress, t.ID.Dotted(), where)
		}
		return Decision{Approve, reason, ruleEgress}, true
	}
	if name := ReadsSecret(t, call); name != "" {
		verb := "reads"
		if isMove(t) {
			verb = "renames"
		}
		return Decision{Approve, fmt.Sprintf(reasonSecret, t.ID.Dotted(), verb, name), ruleSecret}, true
	}
	return Decision{}, false
}

// ReadsSecret returns the name of a file that is named like a secret and that a call reads,
// by the effects of its tool, or moves to a name that is none; or "".
func ReadsSecret(t *tool.Tool, call *match.Call) string {
	if call == nil {
		return ""
	}
	for _, e := range t.Runtime.Effects {
		_, param, ok := binding.PathParam(e)
		renames := isMove(t) && param == "from" && !slices.ContainsFunc(call.Paths["to"], secretfile.Is)
		if !ok || e.Mode.Writes() && !renames {
			continue
		}
		for _, p := range call.Paths[param] {
			if !call.Folders[p] && secretfile.Is(p) {
				return tool.Truncate(filepath.Base(p))
			}
		}
	}
	return ""
}

func isMove(t *tool.Tool) bool { return t.ID.Namespace == "filesystem" && t.ID.Name == "move" }

// judgesArguments reports whether what the defaults say of a tool depends on the
// arguments of the call.
func judgesArguments(t *tool.Tool, call *match.Call) bool {
	_, leaves := destination(t, nil)
	return leaves || ReadsSecret(t, call) != ""
}

// narrows reports whether the files grant the tool with some arguments, while the call
// has others. What a person granted in part does not run by default for the rest.
func narrows(sets []ruleSet, t *tool.Tool) bool {
	var known map[string]json.RawMessage
	for i := range sets {
		m := &sets[i].found
		if sets[i].call == nil || m.fitting[granted] != nil {
			return false
		}
		for _, c := range m.rules[:2] { // those that name the module
			if c == nil {
				continue
			}
			for _, rule := range c.matched {
				if rule.kind != granted {
					continue
				}
				if known == nil {
					known = parametersOf(t)
				}
				has := func(param string) bool { _, ok := known[param]; return ok }
				if slices.ContainsFunc(rule.pattern.Params(), has) {
					return true
				}
			}
		}
	}
	return false
}

// parametersOf returns the parameters of a tool by name; never nil.
func parametersOf(t *tool.Tool) map[string]json.RawMessage {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(t.Spec.Input, &schema) != nil || schema.Properties == nil {
		return map[string]json.RawMessage{}
	}
	return schema.Properties
}
