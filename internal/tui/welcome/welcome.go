// Package welcome is the first screen of a chat: who answers, how to ask, and what
// could be asked.
package welcome

import (
	"cmp"
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/protocol"
	"callgate/internal/tui/termtext"
)

// Block is the first screen as a block of the transcript.
type Block struct {
	About    protocol.Conversation
	Examples []string
}

// Lines lays the screen out.
func (b *Block) Lines(width int, _ bool) []string {
	a := b.About
	who := a.Provider + "/" + a.Model
	if a.Offline {
		who = "the offline brain: no language model, it finds a tool by your words"
	}
	agent := "agent " + cmp.Or(a.Agent, "main")
	if a.App != "" {
		agent += " of the app " + a.App
	}
	if words := aboutApp(a.AppAbout); words != "" {
		agent += ", " + words
	}
	lines := []string{termtext.Strong("An agent whose every call goes through your rules."), ""}
	row := func(name, text string) {
		for i, part := range termtext.Wrap(termtext.OneLine(text), max(width-14, 10)) {
			head := ""
			if i == 0 {
				head = name
			}
			lines = append(lines, termtext.Faint(fmt.Sprintf("  %-12s", head))+part)
		}
	}
	row("answers", who)
	row("as", agent)
	row("with", amount.Of(a.Tools, "tool")+"; what needs your yes is asked here")
	if a.Workspace != "" {
		row("in", a.Workspace)
	}
	lines = append(lines, "", "Say what you want in your own words, and press enter. For example:")
	for _, e := range b.examples() {
		lines = append(lines, termtext.Accent("  > ")+termtext.Truncate(termtext.OneLine(e), max(width-4, 1)))
	}
	lines = append(lines, "")
	for _, hint := range hints {
		for _, part := range termtext.Wrap(hint, width) {
			lines = append(lines, termtext.Faint(part))
		}
	}
	for i, line := range lines {
		lines[i] = termtext.Truncate(line, width)
	}
	return lines
}

// aboutApp is what an app says of itself, in a line.
func aboutApp(a *protocol.AppAbout) string {
	if a == nil {
		return ""
	}
	var words []string
	add := func(before, text string) {
		if text != "" {
			words = append(words, before+text)
		}
	}
	if a.Author+a.Description+a.Icon+a.Category+a.ShortName+strings.Join(a.Tags, "") == "" {
		return ""
	}
	add("", strings.TrimSpace(a.Icon+" "+cmp.Or(a.ShortName, a.Name)))
	add("version ", a.Version)
	add("by ", a.Author)
	add("", a.Category)
	for _, tag := range a.Tags {
		add("#", tag)
	}
	text := strings.Join(words, " · ")
	if a.Description != "" {
		text += ": " + a.Description
	}
	return text
}

// examples are what the app offers to say, or else what its tools make possible.
func (b *Block) examples() []string {
	if b.About.AppAbout == nil || len(b.About.AppAbout.QuickPrompts) == 0 {
		return b.Examples
	}
	var out []string
	for _, p := range b.About.AppAbout.QuickPrompts {
		out = append(out, strings.TrimSpace(p.Icon+" "+p.Label)+": "+p.Message)
	}
	return out
}

// hints are the keys that a beginner needs.
var hints = []string{
	"@ names a file · ! runs a command of your own · / lists the commands",
	"enter while it works: it is told at its next step · esc stops it",
	"shift+tab: what it may do unasked · ctrl+r: what you said · /help: the rest",
}

// example is a request that a tool makes possible.
type example struct{ tool, text string }

// examples are in the order of their use; the first three whose tools are there are
// shown.
var examples = []example{
	{"filesystem.read", "what is in this folder, and where would I begin to read?"},
	{"shell.", "run the tests, and mend what fails"},
	{"git.", "what changed since yesterday, and why?"},
	{"filesystem.edit", "@README.md is this still true? correct what is not"},
	{"database.", "which tables are there, and how do they belong together?"},
	{"web.", "find out what others say about this error, with sources: …"},
	{"browser.", "open the page on localhost:8080, and say what does not work"},
	{"http.", "ask the API at localhost:8080/health how it is"},
	{"filesystem.list", "list the files here"},
	{"memory.", "remember that releases are made on Thursdays"},
}

// Examples are three requests that the tools with these names make possible.
func Examples(tools []string) []string {
	var out []string
	for _, e := range examples {
		for _, name := range tools {
			if strings.HasPrefix(name, e.tool) {
				out = append(out, e.text)
				break
			}
		}
		if len(out) == 3 {
			return out
		}
	}
	if len(out) == 0 {
		out = append(out, "what can you do here?")
	}
	return out
}
