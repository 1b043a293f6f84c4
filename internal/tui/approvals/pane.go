package tui

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/diff"
	"callgate/internal/tui/input"
	"callgate/internal/tui/termtext"
	"callgate/tool"
)

// approvalPane is the questions that wait for the human here, the oldest first.
type approvalPane struct {
	open  []*approvalItem
	focus bool // the keyboard is theirs
}

// approvalItem is a call that waits, and how far its answer has come.
type approvalItem struct {
	protocol.Approval
	preview []diff.Line   // what the call would change in a file
	word    string        // being typed
	editor  *input.Editor // the arguments are being edited
	draft   string        // the arguments as last edited
	why     *input.Field  // the call is being refused
	wrong   string        // what was wrong with the last answer
	sending bool
	scroll  int
}

func (d *approvalPane) first() *approvalItem {
	if len(d.open) == 0 {
		return nil
	}
	return d.open[0]
}

// editing reports whether the keyboard is in a field of the first question.
func (d *approvalPane) editing() bool {
	q := d.first()
	return q != nil && d.focus && (q.editor != nil || q.why != nil)
}

// drop takes away questions that nobody has to answer any more.
func (d *approvalPane) drop(gone func(*approvalItem) bool) {
	d.open = slices.DeleteFunc(d.open, gone)
	if len(d.open) == 0 {
		d.focus = false
	}
}

// asked puts a question before the human. Somebody who is writing goes on
// writing.
func (c *chat) asked(r protocol.Approval) tea.Cmd {
	if run := c.turn.calls[r.Call.ID]; run != nil {
		run.Waiting = "waits for a human"
		run.entry.Touch()
	}
	if !c.conv.About.Human {
		c.note(r.Call.Tool.Dotted() + " waits for a human: " + r.Reason + "\nIt cannot be answered here; elsewhere: callgate approvals approve " + r.ID)
		return nil
	}
	q := &approvalItem{Approval: r, draft: arguments(r.Call.Args)}
	c.approvals.open = append(c.approvals.open, q)
	if len(c.approvals.open) == 1 {
		c.approvals.focus = c.field.Text() == "" && c.picker == nil
	}
	return c.loadPreview(q)
}

// arguments lays arguments out for an editor.
func arguments(args json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, args, "", "  ") != nil {
		return termtext.JSON(string(args))
	}
	return termtext.JSON(b.String())
}

// handleApprovalKey is a key of whoever answers.
func (c *chat) handleApprovalKey(k tea.KeyPressMsg) tea.Cmd {
	q := c.approvals.first()
	switch {
	case q.sending:
		return nil
	case q.editor != nil:
		return c.edit(q, k)
	case q.why != nil:
		return c.refuse(q, k)
	}
	switch name := k.String(); name {
	case "enter":
		word := q.word
		q.word = ""
		return c.decide(q, word)
	case "backspace":
		if q.word != "" {
			q.word = q.word[:len(q.word)-1]
		}
	case "esc":
		if q.word == "" && c.turn != nil {
			return c.interrupt()
		}
		q.word = ""
	case "up":
		q.scroll--
	case "down":
		q.scroll++
	case "pgup":
		q.scroll -= 8
	case "pgdown":
		q.scroll += 8
	default:
		if len(k.Text) == 1 && k.Text > " " && len(q.word) < 20 {
			q.word += k.Text
		}
	}
	return nil
}

// choice is what a word means, or "".
func choice(word string) string {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "a", "approve", "y", "yes":
		return "approve"
	case "s", "session":
		return "session"
	case "d", "deny", "n", "no":
		return "deny"
	case "e", "edit":
		return "edit"
	case "q", "quit":
		return "leave"
	}
	return ""
}

// decide does what a word says.
func (c *chat) decide(q *approvalItem, word string) tea.Cmd {
	q.wrong = ""
	switch choice(word) {
	case "approve":
		return c.answer(q, protocol.Answer{Approve: true})
	case "session":
		return c.answer(q, protocol.Answer{Approve: true, Always: true})
	case "deny":
		q.why = input.NewField("why, for whoever asked (may be empty)")
	case "edit":
		q.editor = input.NewEditor(q.draft)
	case "leave":
		c.approvals.focus = false
		c.screen.hint = "left waiting; tab goes back to it, and callgate approvals answers it elsewhere"
	default:
		if word != "" {
			q.wrong = "that is no answer: a, d, e, s or q"
		}
	}
	return nil
}

func (c *chat) edit(q *approvalItem, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		q.draft, q.editor, q.wrong = q.editor.Text(), nil, ""
		return nil
	case "ctrl+s":
		text := q.editor.Text()
		q.draft = text
		if strings.TrimSpace(text) == strings.TrimSpace(arguments(q.Call.Args)) {
			q.editor, q.wrong = nil, "nothing was changed"
			return nil
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &fields); err != nil || fields == nil {
			q.wrong = "what you wrote is not one JSON object"
			if err != nil {
				q.wrong += ": " + err.Error()
			}
			return nil
		}
		return c.answer(q, protocol.Answer{Approve: true, Args: json.RawMessage(strings.TrimSpace(text))})
	}
	return q.editor.Update(k)
}

func (c *chat) refuse(q *approvalItem, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		q.why = nil
		return nil
	case "enter":
		return c.answer(q, protocol.Answer{Feedback: strings.TrimSpace(q.why.Text())})
	}
	return q.why.Update(k)
}

// answeredMsg is what the kernel said to an answer.
type answeredMsg struct {
	question *approvalItem
	answer   protocol.Answer
	err      error
}

func (c *chat) answer(q *approvalItem, a protocol.Answer) tea.Cmd {
	a.By = c.By
	q.sending, q.wrong = true, ""
	return func() tea.Msg {
		_, err := c.Kernel.Answer(c.ctx, q.ID, a)
		return answeredMsg{q, a, err}
	}
}

// settled goes on after an answer. One that the kernel could not use is
// explained, and asked for again.
func (c *chat) settled(m answeredMsg) {
	q := m.question
	q.sending = false
	switch tool.KindOf(m.err) {
	case "":
		if c.turn == nil {
			break
		}
		if run := c.turn.calls[q.Call.ID]; run != nil {
			run.Waiting = ""
			if len(m.answer.Args) > 0 {
				run.Args = m.answer.Args
			}
			run.entry.Touch()
		}
	case tool.Invalid, tool.Failed, tool.Denied:
		if slices.Contains(c.approvals.open, q) {
			q.why, q.wrong = nil, m.err.Error()
			return
		}
	case tool.Conflict:
		c.note("answered elsewhere: " + m.err.Error())
	default:
		c.wrong(m.err)
	}
	c.approvals.drop(func(o *approvalItem) bool { return o == q })
}
