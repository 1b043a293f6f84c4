package approvals

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/tui/termtext"
	"callgate/internal/tui/transcript"
	"callgate/internal/visible"
	"callgate/internal/visible/arguments"
	"callgate/tool"
)

// How many lines the reason, the claims and an error may take.
const (
	maxReason = 2
	maxClaims = 2
	maxWrong  = 4
)

// View lays the first call out in at most height rows, with the cursor if the
// human is typing.
func (p *Pane) View(width, height int) ([]string, *tea.Cursor) {
	it := p.first()
	if it == nil {
		return nil, nil
	}
	if p.all != nil {
		return p.viewAll(it, width, height)
	}
	head := it.head(width, p.Now(), len(p.items)-1)
	foot, cursor := it.foot(width, it.choices())
	room := max(height-len(head)-len(foot), 3)
	var body []string
	if it.editor == nil {
		body = it.body(width, room)
		if cursor != nil {
			cursor.Y += len(head) + len(body)
		}
	} else {
		body, cursor = it.editor.View(width-2, min(room, strings.Count(it.editor.Text(), "\n")+2))
		for i := range body {
			body[i] = termtext.Accent("│ ") + body[i]
		}
		if cursor != nil {
			cursor.Y += len(head)
			cursor.X += 2
		}
	}
	return append(append(head, body...), foot...), cursor
}

// head says which tool is called, why a human must decide, and what it touches.
func (it *item) head(width int, now time.Time, more int) []string {
	title := "── A human must decide "
	title += strings.Repeat("─", max(width-termtext.Width(title), 0))
	head := []string{termtext.Warn(termtext.Truncate(title, width))}
	about := termtext.Strong(visible.Text(it.Call.Tool.Dotted())) + "  " + termtext.OneLine(string(it.Risk)) + " risk"
	if it.Call.Model != "" {
		about += "  asks " + visible.Text(it.Call.Model)
	}
	if left := it.Deadline.Sub(now).Round(time.Second); !it.Deadline.IsZero() {
		about += "  " + termtext.Faint(transcript.Duration(max(left, 0))+" left")
	}
	if more > 0 {
		about += termtext.Faint(fmt.Sprintf("  and %d more: all answers them together", more))
	}
	head = append(head, termtext.Truncate(about, width))
	if s := it.Script; s != nil {
		line := fmt.Sprintf("line %d of a script: %s", s.Line, it.scriptLine())
		head = append(head, termtext.Faint(termtext.Truncate(line, width)))
	}
	why := termtext.Wrap("why: "+visible.Text(it.Reason), width)
	for i, line := range why[:min(len(why), maxReason)] {
		if i == maxReason-1 && len(why) > maxReason {
			line = termtext.Truncate(line, max(width-1, 1)) + "…"
		}
		head = append(head, termtext.Faint(line))
	}
	claims := slices.DeleteFunc(slices.Clone(it.Claims), func(c tool.Claim) bool {
		return c.Mode == tool.IS || c.Mode == tool.IX // an intention names nothing that the tool's name does not
	})
	for _, claim := range claims[:min(len(claims), maxClaims)] {
		verb := "reads: "
		if claim.Mode.Writes() {
			verb = "changes: "
		}
		line := verb + visible.Text(claim.Resource)
		head = append(head, termtext.Faint(termtext.Truncate(line, width)))
	}
	if n := len(claims) - maxClaims; n > 0 {
		line := fmt.Sprintf("and %d more: callgate approvals show %s", n, termtext.OneLine(it.ID))
		head = append(head, termtext.Faint(termtext.Truncate(line, width)))
	}
	return head
}

// viewAll lays out the calls that are answered together.
func (p *Pane) viewAll(it *item, width, height int) ([]string, *tea.Cursor) {
	title := fmt.Sprintf("── A human must decide: %d calls ", len(p.all))
	title += strings.Repeat("─", max(width-termtext.Width(title), 0))
	head := []string{termtext.Warn(termtext.Truncate(title, width))}
	n := len(p.all)
	choices := []string{fmt.Sprintf("[a]pprove all %d", n), fmt.Sprintf("[d]eny all %d", n)}
	foot, cursor := it.foot(width, append(append(choices, it.scriptChoices(n)...), "esc goes back"))
	room := max(height-len(head)-len(foot), 3)
	var lines []string
	for i, one := range p.all {
		about := fmt.Sprintf("%d  %s  %s risk", i+1, visible.Text(one.Call.Tool.Dotted()), termtext.OneLine(string(one.Risk)))
		if one.Script != nil {
			about += fmt.Sprintf("  line %d", one.Script.Line)
		}
		lines = append(lines, termtext.Strong(termtext.Truncate(about, width)))
		lines = append(lines, one.short(width, room/len(p.all)-1)...)
	}
	body := it.scrolled(lines, room)
	if cursor != nil {
		cursor.Y += len(head) + len(body)
	}
	return append(append(head, body...), foot...), cursor
}

// body is the part of the change and of the arguments that fits into room rows.
func (it *item) body(width, room int) []string { return it.scrolled(it.lines(width), room) }

// short is the call in about so many rows: its arguments in one, and what it changes.
func (it *item) short(width, most int) []string {
	lines := it.lines(width)
	if len(lines) <= most {
		return lines
	}
	summary := termtext.Truncate(arguments.OneLine(it.Call.Args, 4*width), width)
	shown := min(max(most-2, 1), len(lines))
	more := termtext.Truncate(arguments.More(len(lines)-shown, it.ID), width)
	return append(append([]string{summary}, lines[:shown]...), termtext.Faint(more))
}

// lines are the change that the call would make, and its arguments.
func (it *item) lines(width int) []string {
	lines := it.previewLines(width)
	if lines != nil {
		lines = append(lines, termtext.Faint("arguments:"))
	}
	lines = append(lines, wrapArguments(it.Call.Args, width)...) // not the draft: see the package's law
	return lines
}

// scrolled is the part of the lines that fits into room rows.
func (it *item) scrolled(lines []string, room int) []string {
	it.scroll = max(0, min(it.scroll, len(lines)-room))
	if len(lines) <= room {
		return lines
	}
	shown := lines[it.scroll:min(it.scroll+room-1, len(lines))]
	rest := fmt.Sprintf("… lines %d to %d of %d; up and down", it.scroll+1, it.scroll+len(shown), len(lines))
	return append(shown[:len(shown):len(shown)], termtext.Faint(rest))
}

// wrapArguments lays arguments out. What goes on in the next row has a margin there, so
// that it is not taken for another argument.
func wrapArguments(args json.RawMessage, width int) []string {
	var rows []string
	for _, line := range arguments.Lines(args) {
		inner := strings.TrimLeft(line, " ")
		margin := line[:len(line)-len(inner)]
		for i, part := range termtext.Wrap(inner, max(width-len(margin)-2, 10)) {
			if i > 0 {
				part = "  " + part
			}
			rows = append(rows, margin+part)
		}
	}
	return rows
}

func (it *item) previewLines(width int) []string {
	var lines []string
	for _, l := range it.preview {
		text := termtext.Safe(l.Text)
		switch l.Sign {
		case '@':
			lines = append(lines, termtext.Accent(termtext.Truncate(text, width)))
		case '+', '-':
			paint := termtext.Good
			if l.Sign == '-' {
				paint = termtext.Bad
			}
			for _, part := range termtext.Wrap(string(l.Sign)+text, width) {
				lines = append(lines, paint(part))
			}
		case 0:
			lines = append(lines, termtext.Wrap(text, width)...)
		default:
			lines = append(lines, termtext.Truncate(" "+text, width))
		}
	}
	return lines
}

// foot says what was wrong with the last answer, and takes the next one.
func (it *item) foot(width int, choices []string) ([]string, *tea.Cursor) {
	var rows []string
	for i, line := range termtext.Wrap(termtext.OneLine(it.wrong), width) {
		if line != "" && i < maxWrong {
			rows = append(rows, termtext.Bad(line))
		}
	}
	switch {
	case it.sending:
		return append(rows, termtext.Faint("…")), nil
	case it.editor != nil:
		line := termtext.Truncate("ctrl+s approves it as edited · esc goes back", width)
		return append(rows, termtext.Strong(line)), nil
	case it.why != nil:
		it.why.SetWidth(width - 6)
		field, cursor := it.why.View()
		if cursor != nil {
			cursor.X += 6
			cursor.Y += len(rows)
		}
		return append(rows, termtext.Strong("deny: ")+field[0]), cursor
	}
	if it.keeping {
		rows = append(rows, it.lasting(width)...)
	} else {
		rows = append(rows, inRows(choices, width)...)
	}
	line := "> " + it.word
	if meant := it.meant(); meant != "" {
		line += termtext.Faint("  enter: " + meant)
	}
	return append(rows, line), tea.NewCursor(2+len(it.word), len(rows))
}

// choices are the answers that can be given.
func (it *item) choices() []string {
	list := []string{"[a]pprove", "[d]eny", "[e]dit"}
	if len(it.Choices) > 0 {
		list = append(list, "[k]eep: approve from now on")
	}
	list = append(list, "[q]uit: leave it waiting")
	list = append(list, it.scriptChoices(1)...)
	if it.Session != nil {
		list = append(list, "[s]ession: approve, and allow "+visible.Text(it.Session.Text)+" in this conversation")
	}
	return list
}

// scriptLine is the line of the program that makes the call.
func (it *item) scriptLine() string {
	lines := strings.Split(it.Script.Program, "\n")
	if n := it.Script.Line; n >= 1 && n <= len(lines) {
		return visible.Text(strings.TrimSpace(lines[n-1]))
	}
	return ""
}

// scriptChoices are the answers to so many calls of a script that are for its rest, too.
func (it *item) scriptChoices(n int) (list []string) {
	s := it.Script
	if s == nil {
		return nil
	}
	if s.Offer != nil {
		yes := "approve"
		if n > 1 {
			yes = fmt.Sprintf("approve all %d", n)
		}
		list = append(list, "[script]: "+yes+", and allow "+visible.Text(s.Offer.Text)+" for the rest of this script")
	}
	return append(list, "[stop]: deny, and end the script")
}

// inRows lays choices out side by side. One that does not fit begins a row, so that
// none is torn while it could stand whole.
func inRows(choices []string, width int) []string {
	var rows []string
	line := ""
	for _, c := range choices {
		if line != "" && termtext.Width(line)+2+termtext.Width(c) <= width {
			line += "  " + c
			continue
		}
		if line != "" {
			rows = append(rows, line)
		}
		line = c
	}
	var out []string
	for _, row := range append(rows, line) {
		if termtext.Width(row) <= width {
			out = append(out, termtext.Strong(row))
			continue
		}
		for i, part := range termtext.Wrap(row, max(width-2, 1)) {
			if i > 0 {
				part = "  " + part
			}
			out = append(out, termtext.Strong(part))
		}
	}
	return out
}

// maxLasting is how many rows one way to let a yes last may take.
const maxLasting = 3

// lasting lists the ways in which a yes may last.
func (it *item) lasting(width int) []string {
	var rows []string
	for i, choice := range it.Choices {
		lines := termtext.Wrap(fmt.Sprintf("  [%d] %s", i+1, visible.Text(choice.Text)), width)
		if len(lines) > maxLasting {
			lines = append(lines[:maxLasting-1], "  … all of it: callgate approvals show "+termtext.OneLine(it.ID))
		}
		rows = append(rows, lines...)
	}
	const how = "approve from now on: a number, or with an end date (2 30d) · esc goes back"
	for _, line := range termtext.Wrap(how, width) {
		rows = append(rows, termtext.Strong(line))
	}
	return rows
}

// meant says what the word that is being typed would do.
func (it *item) meant() string {
	if !it.keeping {
		return choice(it.word)
	}
	if remember, ok, err := it.ParseRemember(it.word, time.Now()); ok && err == nil {
		return "approve, and keep " + strconv.Itoa(remember.Choice)
	}
	return ""
}
