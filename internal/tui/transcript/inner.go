package transcript

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/tui/termtext"
	"callgate/tool"
)

// Inner is a call that a script made: it stands below the script's.
type Inner struct {
	ID      string
	Line    int // of the program
	Name    string
	Args    string // in one line
	Status  tool.Status
	Summary string
	Took    time.Duration
	Waits   bool // for a human
}

// maxGroups is how many lines of a program are shown, the last ones, when details are not.
const maxGroups = 8

// SetInner adds a call of a script, or says how far it is.
func (c *Call) SetInner(in Inner) {
	if i := slices.IndexFunc(c.inner, func(o Inner) bool { return o.ID == in.ID }); i >= 0 {
		c.inner[i] = in
		return
	}
	c.inner = append(c.inner, in)
}

// SetWaits says whether a call of a script waits for a human. It reports whether the call
// is one of this script.
func (c *Call) SetWaits(id string, waits bool) bool {
	i := slices.IndexFunc(c.inner, func(o Inner) bool { return o.ID == id })
	if i >= 0 {
		c.inner[i].Waits = waits
	}
	return i >= 0
}

// innerLines lays out the calls of a script: open, each; else each line of the program
// that made some, with how many.
func (c *Call) innerLines(width int, open bool) []string {
	if len(c.inner) == 0 {
		return nil
	}
	var groups [][]Inner
	for _, in := range c.inner {
		last := len(groups) - 1
		if !open && last >= 0 && groups[last][0].Line == in.Line && groups[last][0].Name == in.Name {
			groups[last] = append(groups[last], in)
		} else {
			groups = append(groups, []Inner{in})
		}
	}
	var lines []string
	if c.Result == nil {
		lines = append(lines, termtext.Faint(termtext.Truncate("  "+c.innerProgress(), width)))
	}
	most := maxGroups
	if open {
		most = maxLines
	}
	if hidden := len(groups) - most; hidden > 0 {
		groups = groups[hidden:]
		text := fmt.Sprintf("    … %d before them; ctrl+o shows each call", hidden)
		lines = append(lines, termtext.Faint(termtext.Truncate(text, width)))
	}
	for _, g := range groups {
		lines = append(lines, innerLine(g, width))
	}
	return lines
}

// innerProgress says how far a script is.
func (c *Call) innerProgress() string {
	ended, waits := 0, 0
	for _, in := range c.inner {
		if in.Status != "" {
			ended++
		} else if in.Waits {
			waits++
		}
	}
	text := fmt.Sprintf("%d of the %d calls made so far have ended", ended, len(c.inner))
	if waits > 0 {
		text += fmt.Sprintf(", %d wait for you", waits)
	}
	return text
}

// innerLine is the calls of one line of a program: a mark, the line, the tool, how many, and
// the arguments or the failure of the last.
func innerLine(group []Inner, width int) string {
	mark, last := termtext.Good("✓"), group[len(group)-1]
	failed, waits, runs := 0, 0, 0
	var took time.Duration
	for _, in := range group {
		took += in.Took
		switch {
		case in.Status == "" && in.Waits:
			waits++
		case in.Status == "":
			runs++
		case in.Status != tool.Success:
			failed++
			last = in
		}
	}
	switch {
	case failed > 0:
		mark = termtext.Bad("✗")
	case waits > 0:
		mark = termtext.Warn("…")
	case runs > 0:
		mark = termtext.Accent("→")
	}
	head := fmt.Sprintf("line %-3d %s", last.Line, ToolName(last.Name))
	if len(group) > 1 {
		head += fmt.Sprintf(" ×%d", len(group))
	}
	var notes []string
	if failed > 0 && len(group) > 1 {
		notes = append(notes, fmt.Sprintf("%d failed", failed))
	}
	if waits > 0 {
		notes = append(notes, "waits for you")
	}
	if took >= time.Millisecond && runs+waits == 0 {
		notes = append(notes, Duration(took))
	}
	end := ""
	if len(notes) > 0 {
		end = " · " + strings.Join(notes, " · ")
	}
	rest := termtext.OneLine(last.Args)
	if failed > 0 && last.Summary != "" {
		rest = termtext.OneLine(last.Summary)
	}
	room := max(width-6-termtext.Width(end), 1)
	head = termtext.Truncate(head, room)
	line := termtext.Strong(head)
	if left := room - termtext.Width(head) - 1; left > 4 && rest != "" {
		line += " " + termtext.Faint(termtext.Truncate(rest, left))
	}
	return "    " + mark + " " + line + termtext.Faint(end)
}
