// Package undo puts back, from a chat, the files that its conversation changed: /undo and
// /rewind.
//
// # Law
//
//   - The first word shows what would be done, with the differences; only a second one,
//     yes, skip or force, does it. It does what was shown: the kernel refuses when that
//     would be something else by then.
//   - Where somebody else wrote since, yes does nothing: the user says what becomes of
//     such files.
package undo

import (
	"context"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/amount"
	"callgate/internal/protocol"
	"callgate/internal/tui/transcript"
)

// Client asks the kernel. client.Undo is one.
type Client interface {
	Preview(ctx context.Context, t protocol.UndoTarget) (protocol.UndoPreview, error)
	Do(ctx context.Context, u protocol.Undo) (protocol.Undone, error)
}

// Options are what the undo needs of its screen. Script is required.
type Options struct {
	Client Client                 // nil: nothing can be undone
	Script *transcript.Transcript // where it is shown
	By     string                 // the user's name
}

// Undo is that of one conversation.
type Undo struct {
	Options
	ctx          context.Context
	conversation string
	request      protocol.Undo         // what was shown last
	preview      *protocol.UndoPreview // nil: nothing was
}

// New makes the undo of no conversation.
func New(ctx context.Context, o Options) *Undo { return &Undo{Options: o, ctx: ctx} }

// Show changes to another conversation.
func (u *Undo) Show(conversation string) { u.conversation, u.preview = conversation, nil }

// Messages of the commands.
type (
	shownMsg struct {
		request protocol.Undo
		preview protocol.UndoPreview
		err     error
	}
	doneMsg struct {
		conversation string
		done         protocol.Undone
		err          error
	}
)

// Command is /undo, or with rewind /rewind: alone or with the number of a turn it shows
// what it would do, and with yes, skip or force it does what was shown.
func (u *Undo) Command(text string, rewind bool) tea.Cmd {
	request := protocol.Undo{UndoTarget: protocol.UndoTarget{Conversation: u.conversation}, Rewind: rewind, By: u.By}
	if u.Client == nil {
		u.bad("this kernel does not undo")
		return nil
	}
	switch word := strings.ToLower(strings.TrimSpace(text)); word {
	case "yes", "skip", "force":
		return u.carryOut(word, rewind)
	case "":
		if rewind {
			request.Turn = protocol.LastTurn
		}
	case "redo":
		if request.Redo = true; rewind {
			u.bad("a conversation that was cut back stays so; /undo redo takes the files of the last undo back")
			return nil
		}
	default:
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			u.bad(name(rewind) + " takes the number of a turn, or yes, skip or force once it was shown; " +
				"/undo redo takes the last undo back")
			return nil
		}
		request.Turn = n
	}
	return func() tea.Msg {
		p, err := u.Client.Preview(u.ctx, request.UndoTarget)
		return shownMsg{request, p, err}
	}
}

// name is the command as the user writes it.
func name(rewind bool) string {
	if rewind {
		return "/rewind"
	}
	return "/undo"
}

// carryOut does what was shown last.
func (u *Undo) carryOut(word string, rewind bool) tea.Cmd {
	if u.preview == nil || u.request.Rewind != rewind {
		u.bad("nothing was shown yet: " + name(rewind) + " shows what it would do")
		return nil
	}
	if n := conflicts(*u.preview); n > 0 && word == "yes" {
		u.bad(amount.Of(n, "file") + " changed since: say " + name(rewind) + " skip or " + name(rewind) + " force")
		return nil
	}
	request := u.request
	request.Skip, request.Force, request.Shown = word == "skip", word == "force", u.preview.ID
	u.preview = nil
	return func() tea.Msg {
		done, err := u.Client.Do(u.ctx, request)
		return doneMsg{request.Conversation, done, err}
	}
}

// Update handles what the kernel answers, and reports whether a message was that.
func (u *Undo) Update(msg tea.Msg) (handled bool) {
	switch msg := msg.(type) {
	case shownMsg:
		if msg.request.Conversation == u.conversation {
			u.shown(msg)
		}
	case doneMsg:
		if msg.conversation == u.conversation {
			u.done(msg)
		}
	default:
		return false
	}
	return true
}

// shown shows what would be done, and says how it is.
func (u *Undo) shown(m shownMsg) {
	if m.err != nil {
		u.bad(m.err.Error())
		return
	}
	p, rewind := m.preview, m.request.Rewind
	u.say(head(p))
	for _, f := range p.Files {
		u.Script.Add(file{f}, false)
	}
	if lost := notKept(p); lost != "" {
		u.bad(lost)
	}
	changed, cut := changes(p), ""
	if rewind && len(p.Turns) > 0 {
		cut = "the model no longer sees turn " + strconv.Itoa(p.Turns[0].Number) + " and what came after it"
	}
	if changed == 0 && cut == "" {
		u.say("there is nothing to put back")
		return
	}
	u.request, u.preview = m.request, &p
	does := "puts back " + amount.Of(changed, "file")
	switch {
	case changed == 0:
		does = "does it: " + cut
	case cut != "":
		does += ", and " + cut
	}
	if n := conflicts(p); n > 0 {
		u.bad(amount.Of(n, "file") + " changed since: " + name(rewind) + " skip leaves such files as they are, " +
			name(rewind) + " force writes over them")
		return
	}
	u.say(name(rewind) + " yes " + does)
}

// done says what was done.
func (u *Undo) done(m doneMsg) {
	if m.err != nil {
		u.bad(m.err.Error())
		return
	}
	d := m.done
	text := "put back " + amount.Of(len(d.Put), "file")
	if d.Call != "" {
		text += " (call " + d.Call + ")"
	}
	if n := len(d.Left); n > 0 {
		text += "; " + amount.As(n, "file was left as it is", "files were left as they are")
	}
	if d.Rewound {
		text += "; the conversation is cut back"
	}
	if d.Call != "" && !d.Preview.Redo {
		text += "\n/undo redo takes the files back"
	}
	u.say(text)
	for _, f := range d.Failed {
		u.bad(f.Path + ": " + f.Why)
	}
}

func (u *Undo) say(text string) { u.Script.Add(transcript.Note{Text: text}, true) }

func (u *Undo) bad(text string) { u.Script.Add(transcript.Note{Text: text, Bad: true}, true) }
