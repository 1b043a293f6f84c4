package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/tui/describe"
	"callgate/internal/tui/termtext"
)

// How the screen is divided.
const (
	sideFrom       = 100 // columns of a screen that has room for the sidebar
	sideWidth      = 34
	minHeight      = 12 // rows of a screen that has room for the title
	maxSuggestions = 6
	questionLeaves = 5 // rows of the screen that a question does not take: what is decided must be seen
)

// page is a screen that is being put together: rows, and the cursor in them.
type page struct {
	rows   []string
	cursor *tea.Cursor
}

// add puts rows below, with the cursor in them if there is one.
func (p *page) add(rows []string, cursor *tea.Cursor) {
	if cursor != nil {
		cursor.Y += len(p.rows)
		p.cursor = cursor
	}
	p.rows = append(p.rows, rows...)
}

// headRows is the number of rows above the transcript.
func (s screen) headRows() int {
	if s.height < minHeight {
		return 0
	}
	return 1
}

// View is the screen.
func (c *chat) View() tea.View {
	width, height := c.screen.width, c.screen.height
	v := tea.View{AltScreen: true, WindowTitle: "callgate", ReportFocus: true}
	if c.screen.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if width <= 0 || height <= 0 {
		return v
	}
	low := c.lower(width, height)
	if over := len(low.rows) + c.screen.headRows() - height; over > 0 {
		low.rows = low.rows[over:]
		if low.cursor != nil {
			low.cursor.Y -= over
		}
	}
	all := &page{}
	if c.screen.headRows() > 0 {
		all.add([]string{termtext.Faint(termtext.Truncate(describe.Title(c.conv.About), width))}, nil)
	}
	all.add(c.upper(width, height-len(all.rows)-len(low.rows)), nil)
	all.add(low.rows, low.cursor)
	if at := all.cursor; at != nil && at.Y >= 0 && at.X < width {
		v.Cursor = at
	}
	v.Content = strings.Join(all.rows, "\n")
	return v
}

// upper is the transcript and, on a wide screen, the sidebar.
func (c *chat) upper(width, height int) []string {
	if height <= 0 {
		return nil
	}
	main := width
	if width >= sideFrom && !c.side.Empty() {
		main = width - sideWidth
	}
	c.view.Script.Resize(main, height)
	rows := c.view.Script.Window()
	for len(rows) < height {
		rows = append(rows, "")
	}
	if main == width {
		return rows
	}
	side := c.side.Rows(sideWidth-3, height)
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
	active := c.tasks.Active()
	c.status.Agents, c.status.Tasks = active.Agents, active.Tasks
	foot := []string{c.status.Bottom(width, c.view.Script.Following())}
	if c.picker == nil && c.approvals.Focused() {
		p.add(c.approvals.View(width, max(height-questionLeaves, 8)))
		p.add(foot, nil)
		return p
	}
	if c.picker == nil && c.questions.Focused() {
		p.add(c.questions.View(width, max(height-questionLeaves, 8)))
		p.add(foot, nil)
		return p
	}
	if c.picker != nil {
		p.add(c.picker.Rows(width, max(height/2, 4)), nil)
	} else {
		if name, ok := c.approvals.Next(); ok {
			line := fmt.Sprintf("%s waits for your answer: tab", name)
			p.add([]string{termtext.Warn(termtext.Truncate(line, width))}, nil)
		}
		if text, ok := c.questions.Next(); ok {
			line := "the agent asks: tab answers it: " + termtext.OneLine(text)
			p.add([]string{termtext.Warn(termtext.Truncate(line, width))}, nil)
		}
		p.add(c.queue.Rows(width, max(height/4, 1)), nil)
		p.add(c.composer.Above(width, min(maxSuggestions, max(height/3, 1))), nil)
	}
	p.add([]string{c.status.Top(width, c.view.Turn.Status(), c.opt.Now())}, nil)
	rows, cursor := c.composer.Rows(width)
	if c.picker != nil {
		cursor = nil
	}
	p.add(rows, cursor)
	p.add(foot, nil)
	return p
}
