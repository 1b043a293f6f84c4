package lasting

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/match"
	"callgate/tool"
)

// maxChoices bounds what a human is offered beside this one call.
const maxChoices = 7

// maxExact bounds the arguments of a call for which a human is offered this exact call
// for good. A longer one would be kept, read and compared with every call, and nobody
// would ever see what it says.
const maxExact = 64 << 10

const (
	textHere       = ", in this folder"
	textEverywhere = ", in every folder"
	textEveryNode  = ", in the app %s at every node"
)

// Choices are the lasting grants that a human may give when asked about a call:
// the exact call, and the patterns that it suggests. What a human is shown is the
// text, and what is kept is the choice.
func Choices(c *Call) []approval.Choice {
	var list []approval.Choice
	add := func(p *match.Pattern, text string, exact, everywhere bool) {
		if len(list) == maxChoices || p == nil || !covers(p, c) {
			return
		}
		m, err := json.Marshal(p.Map())
		if err != nil {
			return
		}
		list = append(list, approval.Choice{Text: text, Match: m, Exact: exact, Everywhere: everywhere})
	}
	exact, small := match.ExactCall(c.Call), sizeOf(c.Args) <= maxExact
	text := textExact(exact)
	if small {
		add(exact, text+textHere, true, false)
	}
	for _, p := range match.Suggest(c.Call) {
		if _, isCommand := p.Map()["command"]; isCommand && !strings.Contains(p.String(), "*") {
			continue // it says no more than the exact call
		}
		add(p, "calls like "+p.String()+textHere, false, false)
		if c.AppFile == "" {
			add(p, "calls like "+p.String()+textEverywhere, false, true)
		}
	}
	if small && c.AppFile == "" && !hasAbsolutePath(c) {
		add(exact, text+textEverywhere, true, true)
	}
	return list
}

// textExact names an exact call, with the scripts that it is bound to.
func textExact(p *match.Pattern) string {
	if p == nil {
		return ""
	}
	if files := p.Scripts(); len(files) > 0 {
		return "this exact call, while " + tool.TruncateTo(strings.Join(files, ", "), 100) + " does not change"
	}
	return "this exact call"
}

// sizeOf is about how long a value is, in bytes.
func sizeOf(value any) int {
	switch value := value.(type) {
	case string:
		return len(value)
	case map[string]any:
		size := 0
		for name, v := range value {
			size += len(name) + sizeOf(v)
		}
		return size
	case []any:
		size := 0
		for _, v := range value {
			size += sizeOf(v)
		}
		return size
	default:
		return 8
	}
}

// hasAbsolutePath reports whether a call names a file by its whole path: it could
// not be made in another folder.
func hasAbsolutePath(c *Call) bool {
	for name := range c.Paths {
		if text, ok := c.Args[name].(string); ok && filepath.IsAbs(text) {
			return true
		}
	}
	return false
}

// FromAnswer is the grant that an approved request was answered with; false when it
// was answered for this once.
func FromAnswer(r approval.Request) (g Grant, ok bool, err error) {
	a := r.Answer
	if a == nil || !a.Approve || a.Remember == nil {
		return g, false, nil
	}
	choice, err := r.Choice(a.Remember.Choice)
	if err != nil {
		return g, false, err
	}
	g = Grant{
		ID: a.Remember.Grant, Tool: r.Call.Tool.Dotted(), Text: choice.Text, Match: choice.Match, Exact: choice.Exact,
		Until:  a.Remember.Until,
		Folder: r.Workspace, App: choice.App, AppFile: r.ToolApp, Made: time.Now(), By: a.By, Approval: r.ID,
	}
	if choice.Everywhere || choice.App != "" {
		g.Folder = ""
	}
	return g, true, nil
}
