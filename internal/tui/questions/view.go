package questions

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/tui/markdown"
	"callgate/internal/tui/termtext"
	"callgate/internal/tui/transcript"
	"callgate/internal/visible"
)

// maxWrong is how many lines an error may take.
const maxWrong = 4

// View lays the first question out in at most height rows, with the cursor if the human
// is typing.
func (p *Pane) View(width, height int) ([]string, *tea.Cursor) {
	it := p.first()
	if it == nil {
		return nil, nil
	}
	head := it.head(width, p.Now(), len(p.items)-1)
	foot, footCursor := it.foot(width)
	room := max(height-len(head)-len(foot), 4)
	if it.editor != nil {
		body, cursor := it.editor.View(width-2, room)
		for i := range body {
			body[i] = termtext.Accent("│ ") + body[i]
		}
		if cursor != nil {
			cursor.X, cursor.Y = cursor.X+2, cursor.Y+len(head)
		}
		return slices.Concat(head, body, foot), cursor
	}
	answers, cursor, at := it.answers(width)
	// The row with the keyboard is always there; what is read scrolls above the answers.
	shown := min(len(answers), max(room-min(len(it.text(width)), max(room/3, 2)), 3))
	from := max(0, min(at-shown/2, len(answers)-shown))
	body := it.scrolled(it.text(width), room-shown)
	rows := slices.Concat(head, body, part(answers, from, shown))
	switch {
	case footCursor != nil:
		footCursor.Y += len(rows)
		cursor = footCursor
	case cursor != nil:
		cursor.Y += len(head) + len(body) - from
	}
	return append(rows, foot...), cursor
}

// part is so many of the rows of an answer. Where there are more, the first or the last
// says so: it never is the one with the keyboard.
func part(rows []string, from, shown int) []string {
	part := slices.Clone(rows[from : from+shown])
	if from > 0 {
		part[0] = termtext.Faint(fmt.Sprintf("  ↑ %d more", from+1))
	}
	if below := len(rows) - from - shown; below > 0 {
		part[shown-1] = termtext.Faint(fmt.Sprintf("  ↓ %d more", below+1))
	}
	return part
}

func (it *item) head(width int, now time.Time, more int) []string {
	title := "── The agent asks "
	if it.Asker.Path != "" {
		title = "── The agent " + termtext.OneLine(it.Asker.Path) + " asks "
	}
	if left := it.Deadline.Sub(now).Round(time.Second); !it.Deadline.IsZero() {
		title += "· " + transcript.Duration(max(left, 0)) + " left "
	}
	if more > 0 {
		title += fmt.Sprintf("· and %d more ", more)
	}
	title += strings.Repeat("─", max(width-termtext.Width(title), 0))
	return []string{termtext.Warn(termtext.Truncate(title, width))}
}

// text is what is read before it is answered.
func (it *item) text(width int) []string {
	lines := markdown.Lines(visible.Lines(it.Question.Question.Text), width)
	for i := range lines {
		lines[i] = termtext.Strong(lines[i])
	}
	content := it.shownContent()
	if content == "" {
		return lines
	}
	if it.content != nil {
		lines = append(lines, termtext.Good("as you edited it:"))
	}
	for _, l := range markdown.Lines(visible.Lines(content), width-2) {
		lines = append(lines, termtext.Faint("│ ")+l)
	}
	return lines
}

// scrolled is the part of the lines that fits into room rows.
func (it *item) scrolled(lines []string, room int) []string {
	it.scroll = max(0, min(it.scroll, len(lines)-room))
	if len(lines) <= room {
		return lines
	}
	if room < 2 {
		return lines[:max(room, 0)]
	}
	shown := lines[it.scroll:min(it.scroll+room-1, len(lines))]
	rest := fmt.Sprintf("… lines %d to %d of %d; page keys", it.scroll+1, it.scroll+len(shown), len(lines))
	return append(shown[:len(shown):len(shown)], termtext.Faint(rest))
}

// answers are the rows of the answer, the cursor in them, and the row with the keyboard.
func (it *item) answers(width int) (lines []string, cursor *tea.Cursor, at int) {
	for i := range it.rows {
		r, here := &it.rows[i], i == it.at && it.why == nil
		mark := "  "
		if here {
			mark, at = termtext.Accent("› "), len(lines)
		}
		if r.label != "" && r.kind == someOf {
			lines = append(lines, "  "+termtext.Strong(visible.Text(r.label))+r.hinted(width))
		}
		switch r.kind {
		case words:
			label := visible.Text(r.label) + ": "
			indent := 2 + termtext.Width(label)
			r.field.SetWidth(max(width-indent, 10))
			rows, c := r.field.View()
			for n, text := range rows {
				before := strings.Repeat(" ", indent)
				if n == 0 {
					before = mark + termtext.Strong(label)
				}
				lines = append(lines, before+text)
			}
			if here && c != nil {
				c.X, c.Y = c.X+indent, c.Y+len(lines)-len(rows)
				cursor = c
			}
		case hidden:
			label := visible.Text(r.label) + ": "
			dots := strings.Repeat("•", min(len([]rune(r.secret)), 20))
			if dots == "" && r.hint == "" {
				lines = append(lines, mark+termtext.Strong(label)+termtext.Faint("(not shown)"))
			} else {
				lines = append(lines, mark+termtext.Strong(label)+dots+r.hinted(width))
			}
			if here {
				cursor = tea.NewCursor(2+termtext.Width(label)+termtext.Width(dots), len(lines)-1)
			}
		default:
			lines = append(lines, termtext.Truncate(mark+r.choice(), width))
		}
	}
	return lines, cursor, at
}

// choice is a row of which something is chosen.
func (r *row) choice() string {
	box := func(on bool, open, close string) string {
		if on {
			return open + "x" + close + " "
		}
		return open + " " + close + " "
	}
	switch r.kind {
	case oneOf:
		return box(r.on, "(", ")") + visible.Text(r.option)
	case someOf:
		return box(r.on, "[", "]") + visible.Text(r.option)
	}
	chosen := termtext.Faint("‹ choose ›")
	if r.chosen > 0 {
		chosen = "‹ " + visible.Text(r.list[r.chosen-1]) + " ›"
	}
	return termtext.Strong(visible.Text(r.label)+": ") + chosen + r.hinted(60)
}

// hinted is what fits into a field, behind it.
func (r *row) hinted(width int) string {
	if r.hint == "" {
		return ""
	}
	return termtext.Faint("  " + termtext.Truncate(termtext.OneLine(r.hint), max(width/2, 10)))
}

// foot says what was wrong with the last answer, and which keys there are.
func (it *item) foot(width int) ([]string, *tea.Cursor) {
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
		return append(rows, termtext.Faint(termtext.Truncate("ctrl+s keeps it as edited · esc goes back", width))), nil
	case it.why != nil:
		it.why.SetWidth(width - 4)
		field, cursor := it.why.View()
		if cursor != nil {
			cursor.X, cursor.Y = cursor.X+4, cursor.Y+len(rows)
		}
		return append(rows, termtext.Strong("no: ")+field[0]), cursor
	}
	if r := it.rows[max(it.at, 0)]; r.kind == words && r.hint != "" {
		rows = append(rows, termtext.Faint(termtext.Truncate(termtext.OneLine(visible.Text(r.hint)), width)))
	}
	keys := it.keys()
	if it.Question.Question.Content != "" {
		keys = append(keys, "ctrl+e edits")
	}
	keys = append(keys, "ctrl+x says no", "esc leaves it waiting")
	for _, line := range termtext.Wrap(strings.Join(keys, " · "), width) {
		rows = append(rows, termtext.Faint(line))
	}
	return rows, nil
}

// keys are those of the row with the keyboard.
func (it *item) keys() []string {
	kind := it.rows[max(it.at, 0)].kind
	var keys []string
	if len(it.rows) > 1 {
		keys = append(keys, "↑↓ moves")
	}
	switch kind {
	case oneOf:
		keys = append(keys, "enter chooses")
	case someOf:
		keys = append(keys, "space marks")
	case pick, yesNo:
		keys = append(keys, "←→ chooses")
	}
	if len(it.Question.Question.Form) > 0 {
		return append(keys, "ctrl+s sends")
	}
	if kind != oneOf {
		keys = append(keys, "enter answers")
	}
	return keys
}
