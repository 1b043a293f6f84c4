package tui

import (
	tea "charm.land/bubbletea/v2"

	"callgate/internal/tui/turnview"
)

// wheelLines is how far the mouse wheel scrolls.
const wheelLines = 3

// key handles a key: first those that mean the same everywhere, then those of
// the part that has the keyboard.
func (c *chat) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	leaving := c.screen.leaving
	c.screen.leaving, c.status.Hint = false, ""
	c.alert.Key(c.opt.Now())
	switch name {
	case "ctrl+c":
		return c.stop(leaving)
	case "ctrl+o":
		if c.view.Script.OpenAll() {
			c.status.Hint = "details are shown; ctrl+o hides them"
		}
		return nil
	case "shift+tab":
		return cycleMode(c)
	case "ctrl+b":
		if c.view.Busy() {
			return moveToBackground(c)
		}
	case "ctrl+l":
		return tea.ClearScreen
	case "shift+up":
		c.view.Script.Scroll(-1)
		return nil
	case "shift+down":
		c.view.Script.Scroll(1)
		return nil
	case "ctrl+home":
		c.view.Script.Home()
		return nil
	case "ctrl+end":
		c.view.Script.Follow()
		return nil
	}
	switch {
	case c.picker != nil:
		c.picker.Key(name)
		return nil
	case name == "tab" && c.approvals.ToggleFocus():
		return nil
	case c.approvals.Focused():
		return c.approvals.Update(k)
	case name == "tab" && c.questions.Focus():
		return nil
	case c.questions.Focused():
		cmd, _ := c.questions.Update(k)
		return cmd
	}
	return c.composerKey(k)
}

// stop is ctrl+c. It stops the turn under way; else it closes the picker, then
// clears the field, and then, the second time, ends the chat.
func (c *chat) stop(leaving bool) tea.Cmd {
	switch {
	case c.view.Busy():
		return c.interrupt()
	case c.picker != nil:
		c.picker = nil
	case c.own.Stop():
	case !c.composer.Empty():
		c.composer.Clear()
	case leaving:
		return tea.Quit
	default:
		c.screen.leaving, c.status.Hint = true, "ctrl+c again leaves"
	}
	return nil
}

// cancelledMsg says that the kernel was asked to stop a turn.
type cancelledMsg struct {
	turn    *turnview.Turn
	stopped bool
	err     error
}

// interrupt stops the turn under way; the second time, it ends the chat.
func (c *chat) interrupt() tea.Cmd {
	t := c.view.Turn
	switch {
	case t == nil:
		c.own.Stop()
		return nil
	case t.Stopping:
		return tea.Quit
	}
	t.Stopping = true
	id := c.conv.About.ID
	return func() tea.Msg {
		stopped, err := c.opt.Kernel.CancelTurn(c.ctx, id)
		return cancelledMsg{t, stopped, err}
	}
}

// composerKey is a key while the composer has the keyboard.
func (c *chat) composerKey(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		if c.composer.Escape() {
			return nil
		}
		return c.interrupt()
	case "up":
		if c.composer.Empty() && !c.queue.Empty() {
			return c.unqueue()
		}
	case "ctrl+d":
		switch {
		case c.composer.Empty() && !c.view.Busy():
			return tea.Quit
		case c.composer.Empty():
			c.status.Hint = busyHint
			return nil
		}
	case "pgup":
		c.view.Script.Scroll(-max(c.screen.height/2, 1))
		return nil
	case "pgdown":
		c.view.Script.Scroll(max(c.screen.height/2, 1))
		return nil
	}
	return c.composer.Key(k)
}

// paste goes to the part that has the keyboard.
func (c *chat) paste(p tea.PasteMsg) tea.Cmd {
	switch {
	case c.picker != nil:
		return nil
	case c.approvals.Focused():
		return c.approvals.Update(p)
	case c.questions.Focused():
		cmd, _ := c.questions.Update(p)
		return cmd
	}
	return c.composer.Paste(p)
}

func (c *chat) wheel(w tea.MouseWheelMsg) {
	n := wheelLines
	if w.Button == tea.MouseWheelUp {
		n = -n
	}
	if c.approvals.Focused() {
		c.approvals.Scroll(n)
		return
	}
	if c.questions.Focused() {
		c.questions.Scroll(n)
		return
	}
	c.view.Script.Scroll(n)
}
