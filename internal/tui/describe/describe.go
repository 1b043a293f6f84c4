// Package describe says in words for people what a conversation is: who answers, how its
// tools are shown, and what it may do unasked. Law: what comes from outside reaches a line
// through internal/tui/termtext, or is shown by what does that.
package describe

import (
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/protocol"
	"callgate/internal/tui/statusbar"
	"callgate/internal/tui/termtext"
)

// Title names the app, the agent and the model of a conversation.
func Title(a protocol.Conversation) string {
	model := a.Provider + "/" + a.Model
	if a.Offline {
		model = "offline brain"
	}
	app := a.Agent
	if a.App != "" {
		app = a.App + "/" + a.Agent
	}
	return termtext.OneLine(fmt.Sprintf("callgate · %s · %s · %s, %s · %s",
		app, model, amount.Of(a.Tools, "tool"), a.Mode, a.ID))
}

// Model says which model answers.
func Model(a protocol.Conversation) string {
	text := a.Provider + "/" + a.Model
	if a.Offline {
		text = "the offline brain: no language model, it finds tools by your words"
	}
	if a.Window > 0 {
		text += fmt.Sprintf("; its window is %s tokens", statusbar.Tokens(a.Window))
	}
	return text
}

// maxModelName is how wide the names of models may be and still stand in a column.
const maxModelName = 40

// Choices are models as lines of a list, their names in a column.
func Choices(list []protocol.ModelChoice) (lines []string) {
	longest := 0
	for _, choice := range list {
		longest = max(longest, termtext.Width(termtext.OneLine(choice.Name)))
	}
	for _, choice := range list {
		lines = append(lines, choiceLine(choice, min(longest, maxModelName)))
	}
	return lines
}

func choiceLine(m protocol.ModelChoice, width int) string {
	line := termtext.OneLine(m.Name)
	line += strings.Repeat(" ", max(width-termtext.Width(line), 0))
	if m.Window > 0 {
		line += fmt.Sprintf("  %7s tokens", statusbar.Tokens(m.Window))
	}
	if m.Current {
		line += "  answers now"
	}
	if m.Problem != "" {
		line += "  cannot be used: " + termtext.OneLine(m.Problem)
	}
	return line
}

// modes are in the order of shift+tab, with what each means.
var modes = []struct {
	mode  protocol.PermissionMode
	about string
}{
	{protocol.ModeAsk, "as the rules say"},
	{protocol.ModeAcceptEdits, "changes of files in the workspace are not asked about"},
	{protocol.ModePlan, "nothing that changes anything runs"},
}

// ModeAbout says what a mode means; "": there is no such mode.
func ModeAbout(mode protocol.PermissionMode) string {
	for _, m := range modes {
		if m.mode == mode {
			return m.about
		}
	}
	return ""
}

// NextMode is the mode after one.
func NextMode(mode protocol.PermissionMode) protocol.PermissionMode {
	for i, m := range modes {
		if m.mode == mode {
			return modes[(i+1)%len(modes)].mode
		}
	}
	return protocol.ModeAcceptEdits // no mode is as ask
}

// Modes says what the conversation may do unasked, and how its tools are shown.
func Modes(a protocol.Conversation) string {
	var b strings.Builder
	for _, m := range modes {
		mark := " "
		if m.mode == a.Permissions.Mode || a.Permissions.Mode == "" && m.mode == protocol.ModeAsk {
			mark = "▸"
		}
		fmt.Fprintf(&b, "%s %-13s %s\n", mark, m.mode, m.about)
	}
	for _, allowed := range a.Permissions.Allow {
		fmt.Fprintf(&b, "  allowed       %s\n", allowed)
	}
	b.WriteString("shift+tab changes the mode, /mode NAME sets it, /allow PATTERN lets calls like it run unasked.\n" +
		"No mode lets a call run that a rule denies.\n\n")
	by := "written into its prompt"
	if a.Native {
		by = "given by its API"
	}
	if a.ToolsWhy != "" {
		by += " (" + a.ToolsWhy + ")"
	}
	fmt.Fprintf(&b, "%s, shown in the mode %s, %s; runtime.tool_injection in the app file chooses that, "+
		"and callgate surface explains it.", amount.Of(a.Tools, "tool"), a.Mode, by)
	return b.String()
}
