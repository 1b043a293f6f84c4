package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/tui/termtext"
	"callgate/internal/tui/transcript"
)

// How the screen is divided.
const (
	sideFrom  = 100 // columns from which the memory is shown beside
	sideWidth = 34
	minHeight = 12 // rows under which the head is left out
	maxFit    = 6  // commands that are suggested
)

// page is the screen as it is put together: rows, and the cursor in them.
type page struct {
	rows   []string
	cursor *tea.Cursor
}

// add puts rows below, with the cursor of a field in them.
func (p *page) add(rows []string, cursor *tea.Cursor, right int) {
	if cursor != nil {
		cursor.Y += len(p.rows)
		cursor.X += right
		p.cursor = cursor
	}
	p.rows = append(p.rows, rows...)
}

func (c *chat) headRows() int {
	if c.screen.height < minHeight {
		return 0
	}
	return 1
}

// View is the screen.
func (c *chat) View() tea.View {
	width, height := c.screen.width, c.screen.height
	v := tea.View{AltScreen: true, WindowTitle: "callgate"}
	if c.screen.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if width <= 0 || height <= 0 {
		return v
	}
	low := c.lower(width, height)
	if over := len(low.rows) + c.headRows() - height; over > 0 {
		low.rows = low.rows[over:]
		if low.cursor != nil {
			low.cursor.Y -= over
		}
	}
	all := &page{}
	if c.headRows() > 0 {
		all.add([]string{termtext.Faint(termtext.Truncate(c.title(), width))}, nil, 0)
	}
	all.add(c.upper(width, height-len(all.rows)-len(low.rows)), nil, 0)
	all.add(low.rows, low.cursor, 0)
	if c := all.cursor; c != nil && c.Y >= 0 && c.X < width {
		v.Cursor = c
	}
	v.Content = strings.Join(all.rows, "\n")
	return v
}

// title says who answers.
func (c *chat) title() string {
	a := c.conv.About
	who := a.Provider + "/" + a.Model
	if a.Offline {
		who = "offline brain"
	}
	app := a.Agent
	if a.App != "" {
		app = a.App + "/" + a.Agent
	}
	return termtext.OneLine(fmt.Sprintf("callgate · %s · %s · %d tools, %s · %s", app, who, a.Tools, a.Mode, a.ID))
}

// upper is the transcript and, on a wide screen, the memory beside it.
func (c *chat) upper(width, height int) []string {
	if height <= 0 {
		return nil
	}
	main := width
	if width >= sideFrom && len(c.memory) > 0 {
		main = width - sideWidth
	}
	c.script.Resize(main, height)
	rows := c.script.Window()
	for len(rows) < height {
		rows = append(rows, "")
	}
	if main == width {
		return rows
	}
	side := c.side(sideWidth-3, height)
	for i := range rows {
		beside := ""
		if i < len(side) {
			beside = side[i]
		}
		rows[i] = termtext.Pad(rows[i], main) + termtext.Faint(" │ ") + beside
	}
	return rows
}

// lower is everything below the transcript.
func (c *chat) lower(width, height int) *page {
	p := &page{}
	switch q := c.approvals.first(); {
	case c.picker != nil:
		p.add(c.picker.rows(c.now(), width, max(height/2, 4)), nil, 0)
	case q != nil && c.approvals.focus:
		c.ask(p, q, width, max(height*2/3, 8))
		p.add([]string{c.foot(width)}, nil, 0)
		return p
	case q != nil:
		p.add([]string{termtext.Warn(termtext.Truncate(fmt.Sprintf("%s waits for your answer: tab", q.Call.Tool.Dotted()), width))}, nil, 0)
	}
	if fit := c.suggestions(); len(fit) > 0 && c.picker == nil {
		for i, s := range fit[:min(len(fit), maxFit, max(height/3, 1))] {
			line := termtext.Truncate(fmt.Sprintf("/%-10s %s", termtext.OneLine(s.name), termtext.OneLine(s.about)), width)
			if i == 0 {
				line = termtext.Accent(line)
			} else {
				line = termtext.Faint(line)
			}
			p.add([]string{line}, nil, 0)
		}
	}
	p.add([]string{c.status(width)}, nil, 0)
	c.field.SetWidth(width - 2)
	rows, cursor := c.field.View()
	for i := range rows {
		mark := "  "
		if i == 0 {
			mark = termtext.Accent("> ")
		}
		rows[i] = mark + rows[i]
	}
	if c.picker != nil {
		cursor = nil
	}
	p.add(rows, cursor, 2)
	p.add([]string{c.foot(width)}, nil, 0)
	return p
}

// status is the line above the field: what is under way, and a hint.
func (c *chat) status(width int) string {
	line := ""
	switch t := c.turn; {
	case t == nil:
		line = strings.Repeat("─", width)
		if c.screen.hint != "" {
			return termtext.Warn(termtext.Truncate(c.screen.hint, width))
		}
		return termtext.Faint(line)
	case t.halting:
		line = "stopping; once more leaves"
	case c.screen.hint != "":
		line = c.screen.hint
	default:
		line = "working; esc stops it"
		if n := t.open(); n == 1 {
			line = "a call runs; esc stops it"
		} else if n > 1 {
			line = fmt.Sprintf("%d calls run; esc stops them", n)
		}
	}
	marks := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	return termtext.Accent(string(marks[c.screen.frame%len(marks)])) + " " + termtext.Warn(termtext.Truncate(line, width-2))
}

// open is how many calls are under way.
func (t *turn) open() int {
	n := 0
	for _, r := range t.calls {
		if r.Result == nil {
			n++
		}
	}
	return n
}

// foot is the last line: what the conversation has taken, and where one is.
func (c *chat) foot(width int) string {
	right := "/help"
	if !c.script.Following() {
		right = "more below: ctrl+end"
	}
	left := c.meter.String()
	room := width - termtext.Width(left) - termtext.Width(right)
	if room < 1 {
		return termtext.Faint(termtext.Truncate(left, width))
	}
	return c.meter.painted() + strings.Repeat(" ", room) + termtext.Faint(right)
}

// ask lays a question out in at most so many rows.
func (c *chat) ask(p *page, q *approvalItem, width, height int) {
	title := "── A human must decide "
	head := []string{termtext.Warn(termtext.Truncate(title+strings.Repeat("─", max(width-termtext.Width(title), 0)), width))}
	about := termtext.Strong(termtext.OneLine(q.Call.Tool.Dotted())) + "  " + termtext.OneLine(string(q.Risk)) + " risk"
	if left := q.Deadline.Sub(c.now()).Round(time.Second); !q.Deadline.IsZero() {
		about += "  " + termtext.Faint(transcript.Duration(max(left, 0))+" left")
	}
	if n := len(c.approvals.open) - 1; n > 0 {
		about += termtext.Faint(fmt.Sprintf("  and %d more", n))
	}
	head = append(head, termtext.Truncate(about, width))
	why := termtext.Wrap("why: "+termtext.OneLine(q.Reason), width)
	for _, line := range why[:min(len(why), 2)] {
		head = append(head, termtext.Faint(line))
	}
	for _, claim := range q.Claims[:min(len(q.Claims), 2)] {
		head = append(head, termtext.Faint(termtext.Truncate(fmt.Sprintf("touches: %s (%s)", termtext.OneLine(claim.Resource), claim.Mode), width)))
	}
	if n := len(q.Claims) - 2; n > 0 {
		head = append(head, termtext.Faint(termtext.Truncate(fmt.Sprintf("and %d more: callgate approvals show %s", n, termtext.OneLine(q.ID)), width)))
	}
	foot, cursor := q.foot(width)
	room := max(height-len(head)-len(foot), 3)
	if q.editor != nil {
		rows, at := q.editor.View(width-2, min(room, strings.Count(q.editor.Text(), "\n")+2))
		for i := range rows {
			rows[i] = termtext.Accent("│ ") + rows[i]
		}
		p.add(head, nil, 0)
		p.add(rows, at, 2)
		p.add(foot, nil, 0)
		return
	}
	p.add(head, nil, 0)
	p.add(q.body(width, room), nil, 0)
	p.add(foot, cursor, 0)
}

// body is the change and the arguments, as much as fits.
func (q *approvalItem) body(width, room int) []string {
	var lines []string
	for _, l := range q.preview {
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
		default:
			lines = append(lines, termtext.Truncate(" "+text, width))
		}
	}
	if lines != nil {
		lines = append(lines, termtext.Faint("arguments:"))
	}
	lines = append(lines, termtext.Wrap(arguments(q.Call.Args), width)...) // never the draft: what is shown is what "a" approves
	q.scroll = max(0, min(q.scroll, len(lines)-room))
	if len(lines) <= room {
		return lines
	}
	shown := lines[q.scroll:min(q.scroll+room-1, len(lines))]
	return append(shown[:len(shown):len(shown)], termtext.Faint(fmt.Sprintf("… lines %d to %d of %d; up and down", q.scroll+1, q.scroll+len(shown), len(lines))))
}

// foot is what was wrong, and where the answer is written.
func (q *approvalItem) foot(width int) ([]string, *tea.Cursor) {
	var rows []string
	for i, line := range termtext.Wrap(termtext.OneLine(q.wrong), width) {
		if line != "" && i < 4 {
			rows = append(rows, termtext.Bad(line))
		}
	}
	switch {
	case q.sending:
		return append(rows, termtext.Faint("…")), nil
	case q.editor != nil:
		return append(rows, termtext.Strong(termtext.Truncate("ctrl+s approves it as edited · esc goes back", width))), nil
	case q.why != nil:
		q.why.SetWidth(width - 6)
		field, cursor := q.why.View()
		if cursor != nil {
			cursor.X += 6
			cursor.Y += len(rows)
		}
		return append(rows, termtext.Strong("deny: ")+field[0]), cursor
	}
	for _, line := range termtext.Wrap("[a]pprove  [d]eny  [e]dit  [s]ession: approve for all of it  [q]uit: leave it waiting", width) {
		rows = append(rows, termtext.Strong(line))
	}
	line := "> " + q.word
	if what := choice(q.word); what != "" {
		line += termtext.Faint("  enter: " + what)
	}
	return append(rows, line), tea.NewCursor(2+len(q.word), len(rows))
}
