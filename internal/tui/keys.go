package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// key takes a key: first those that mean the same everywhere, then those of
// whatever has the keyboard.
func (c *chat) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	leaving := c.screen.leaving
	c.screen.leaving, c.screen.hint = false, ""
	switch name {
	case "ctrl+c":
		return c.stop(leaving)
	case "ctrl+o":
		if c.script.OpenAll() {
			c.screen.hint = "details are shown; ctrl+o hides them"
		}
		return nil
	case "ctrl+l":
		return tea.ClearScreen
	case "shift+up":
		c.script.Scroll(-1)
		return nil
	case "shift+down":
		c.script.Scroll(1)
		return nil
	case "ctrl+home":
		c.script.Home()
		return nil
	case "ctrl+end":
		c.script.Follow()
		return nil
	}
	switch {
	case c.picker != nil:
		return c.picking(name)
	case name == "tab" && c.approvals.first() != nil && !c.approvals.editing():
		c.approvals.focus = !c.approvals.focus
		return nil
	case c.approvals.focus && c.approvals.first() != nil:
		return c.handleApprovalKey(k)
	}
	return c.handleInputKey(k)
}

// stop is ctrl+c: what is under way stops; else what is written goes, and then
// the chat ends.
func (c *chat) stop(leaving bool) tea.Cmd {
	switch {
	case c.turn != nil:
		return c.interrupt()
	case c.picker != nil:
		c.picker = nil
	case c.field.Text() != "":
		c.field.Remember(strings.TrimSpace(c.field.Text()))
		c.field.Set("")
	case leaving:
		return tea.Quit
	default:
		c.screen.leaving, c.screen.hint = true, "ctrl+c again leaves"
	}
	return nil
}

// handleInputKey is a key of whoever writes.
func (c *chat) handleInputKey(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "enter":
		text := c.field.Take()
		switch {
		case text == "":
			return nil
		case strings.HasPrefix(text, "/"):
			return c.command(text)
		}
		return c.say(text)
	case "esc":
		if c.turn != nil {
			return c.interrupt()
		}
		return nil
	case "tab":
		if s := c.suggestions(); len(s) > 0 {
			c.field.Set("/" + s[0].name + " ")
		}
		return nil
	case "ctrl+d":
		if c.field.Text() == "" && c.turn == nil {
			return tea.Quit
		}
	case "pgup":
		c.script.Scroll(-max(c.screen.height/2, 1))
		return nil
	case "pgdown":
		c.script.Scroll(max(c.screen.height/2, 1))
		return nil
	}
	return c.field.Update(k)
}

func (c *chat) pasted(p tea.PasteMsg) tea.Cmd {
	q := c.approvals.first()
	switch {
	case c.picker != nil:
		return nil
	case c.approvals.focus && q != nil && q.editor != nil:
		return q.editor.Update(p)
	case c.approvals.focus && q != nil && q.why != nil:
		return q.why.Update(p)
	case c.approvals.focus && q != nil:
		return nil // no paste answers a question
	}
	return c.field.Update(p)
}

func (c *chat) wheel(w tea.MouseWheelMsg) {
	n := 3
	if w.Button == tea.MouseWheelUp {
		n = -3
	}
	if q := c.approvals.first(); q != nil && c.approvals.focus {
		q.scroll += n
		return
	}
	c.script.Scroll(n)
}
