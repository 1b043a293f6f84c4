package lasting

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/match"
)

// maxChoices bounds what a human is offered beside this one call.
const maxChoices = 7

const (
	textHere       = ", in this folder"
	textEverywhere = ", in every folder"
)

// Choices are the lasting grants that a human may give when asked about a call:
// the exact call, and the patterns that it suggests. What a human is shown is the
// text, and what is kept is the choice.
func Choices(c *Call) []approval.Choice {
	var list []approval.Choice
	add := func(p *match.Pattern, text string, exact, everywhere bool) {
		m, err := json.Marshal(p.Map())
		if err != nil || !covers(p, c) || len(list) == maxChoices {
			return
		}
		list = append(list, approval.Choice{Text: text, Match: m, Exact: exact, Everywhere: everywhere})
	}
	exact := match.ExactCall(c.Call)
	add(exact, "this exact call"+textHere, true, false)
	for _, p := range match.Suggest(c.Call) {
		if _, isCommand := p.Map()["command"]; isCommand && !strings.Contains(p.String(), "*") {
			continue // it says no more than the exact call
		}
		add(p, "calls like "+p.String()+textHere, false, false)
		if c.AppFile == "" {
			add(p, "calls like "+p.String()+textEverywhere, false, true)
		}
	}
	if c.AppFile == "" && !hasAbsolutePath(c) {
		add(exact, "this exact call"+textEverywhere, true, true)
	}
	return list
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
		Folder: r.Workspace, AppFile: r.ToolApp, Made: time.Now(), By: a.By, Approval: r.ID,
	}
	if choice.Everywhere {
		g.Folder = ""
	}
	return g, true, nil
}
