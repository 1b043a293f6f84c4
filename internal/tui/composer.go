package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/tui/input"
	"callgate/internal/tui/termtext"
)

// composer is where the user writes. It completes commands and posts what is
// entered.
type composer struct {
	field   *input.Field
	palette palette
	post    func(tea.Msg)
}

// submitMsg is a text that the user entered.
type submitMsg struct{ text string }

func newComposer(post func(tea.Msg)) *composer {
	return &composer{field: input.NewField("say what to do, or /help"), post: post}
}

// empty reports whether nothing is written.
func (c *composer) empty() bool { return c.field.Text() == "" }

// clear empties the field; its text can be recalled.
func (c *composer) clear() {
	c.field.Remember(strings.TrimSpace(c.field.Text()))
	c.field.Set("")
}

// key handles a key.
func (c *composer) key(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "enter":
		if text := c.field.Take(); text != "" {
			c.post(submitMsg{text})
		}
		return nil
	case "tab":
		if s := c.palette.suggest(c.field.Text()); len(s) > 0 {
			c.field.Set("/" + s[0].name + " ")
		}
		return nil
	}
	return c.field.Update(k)
}

// suggestionRows lists the commands that the text may become, at most limit of
// them.
func (c *composer) suggestionRows(width, limit int) []string {
	var rows []string
	for i, s := range c.palette.suggest(c.field.Text()) {
		if i == limit {
			break
		}
		line := fmt.Sprintf("/%-10s %s", termtext.OneLine(s.name), termtext.OneLine(s.about))
		line = termtext.Truncate(line, width)
		if i == 0 {
			rows = append(rows, termtext.Accent(line))
		} else {
			rows = append(rows, termtext.Faint(line))
		}
	}
	return rows
}

// rows is the field behind its mark, and where the cursor stands.
func (c *composer) rows(width int) ([]string, *tea.Cursor) {
	c.field.SetWidth(width - 2)
	rows, cursor := c.field.View()
	for i := range rows {
		mark := "  "
		if i == 0 {
			mark = termtext.Accent("> ")
		}
		rows[i] = mark + rows[i]
	}
	if cursor != nil {
		cursor.X += 2
	}
	return rows, cursor
}
