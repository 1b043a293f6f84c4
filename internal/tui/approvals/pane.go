// Package approvals shows the calls that wait for a human, and takes the
// human's answers.
//
// # Law
//
//   - No key and no paste approves a call: an answer is a word and enter.
//   - Several calls are answered at once only if all of them are laid out then.
//   - The arguments on the screen are those that "approve" approves. A draft in
//     the editor is shown in the editor only.
//   - A yes lasts only as one of the choices that are on the screen then, and for the
//     conversation only as what the question says.
package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/linediff"
	"callgate/internal/protocol"
	"callgate/internal/tui/input"
	"callgate/internal/tui/termtext"
	"callgate/internal/tui/transcript"
	"callgate/tool"
)

// Options are what a pane needs of its screen. All but ReadFile are required.
type Options struct {
	Answer func(ctx context.Context, id string, a protocol.Answer) (protocol.Approval, error)
	By     string           // the human's name, for the journal
	Now    func() time.Time // for deadlines
	// ReadFile reads the file that a call would change, for a preview. Nil: the
	// preview shows the new content only.
	ReadFile func(path string) ([]byte, error)
	// Post sends a message to the rest of the screen: [Interrupt], [LeftWaiting],
	// [Answered] or a transcript.Note.
	Post func(tea.Msg)
}

// Interrupt asks to stop the turn.
type Interrupt struct{}

// LeftWaiting says that the human left the calls waiting.
type LeftWaiting struct{}

// Answered says that the kernel accepted an answer to a call.
type Answered struct {
	Call string
	Args json.RawMessage // as the human edited them; nil: unchanged
}

// Pane lists the calls that wait, the oldest first. The human answers the first.
type Pane struct {
	Options
	ctx     context.Context
	items   []*item
	focused bool    // the keyboard is the pane's
	all     []*item // shown together, to be answered together; nil: one by one
}

// item is a call that waits, and the state of its answer.
type item struct {
	protocol.Approval
	preview []linediff.Line // the change that the call would make in a file
	word    string          // being typed
	editor  *input.Editor   // not nil while the arguments are edited
	draft   string          // the arguments as last edited
	why     *input.Field    // not nil while a refusal is explained
	keeping bool            // the ways in which a yes may last are shown
	wrong   string          // why the last answer was not accepted
	sending bool
	scroll  int
}

// New makes an empty pane. ctx ends the requests that the pane makes.
func New(ctx context.Context, o Options) *Pane { return &Pane{Options: o, ctx: ctx} }

func (p *Pane) first() *item {
	if len(p.items) == 0 {
		return nil
	}
	return p.items[0]
}

// Add puts a call before the human. The first one gets the keyboard if mayFocus
// says that the human is not writing something else.
func (p *Pane) Add(a protocol.Approval, mayFocus bool) tea.Cmd {
	it := &item{Approval: a, draft: indented(a.Call.Args)}
	p.items = append(p.items, it)
	if len(p.items) == 1 {
		p.focused = mayFocus
	}
	return p.loadPreview(it)
}

// indented lays arguments out for an editor.
func indented(args json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, args, "", "  ") != nil {
		return termtext.JSON(string(args))
	}
	return termtext.JSON(b.String())
}

// Next names the tool of the call that is to be answered first.
func (p *Pane) Next() (toolName string, ok bool) {
	it := p.first()
	if it == nil {
		return "", false
	}
	return it.Call.Tool.Dotted(), true
}

// Has reports whether a call waits here.
func (p *Pane) Has(call string) bool {
	return slices.ContainsFunc(p.items, func(it *item) bool { return it.Call.ID == call })
}

// Focused reports whether the pane has the keyboard.
func (p *Pane) Focused() bool { return p.focused && p.first() != nil }

// Blur gives the keyboard back.
func (p *Pane) Blur() { p.focused = false }

// ToggleFocus takes the keyboard or gives it back. It reports false, and changes
// nothing, when no call waits or the human is writing in a field of the pane.
func (p *Pane) ToggleFocus() bool {
	it := p.first()
	if it == nil || p.focused && (it.editor != nil || it.why != nil) {
		return false
	}
	p.focused = !p.focused
	return true
}

// CallEnded removes a call that has ended, and the calls that it made.
func (p *Pane) CallEnded(call string) {
	p.remove(func(it *item) bool { return it.Call.ID == call || it.Call.Parent == call })
}

// Settled removes a call whose approval was answered, here or elsewhere.
func (p *Pane) Settled(id string) {
	p.remove(func(it *item) bool { return it.ID == id && !it.sending })
}

// Expire removes the calls whose deadline has passed.
func (p *Pane) Expire() {
	now := p.Now()
	p.remove(func(it *item) bool { return !it.Deadline.IsZero() && now.After(it.Deadline) && !it.sending })
}

// Clear removes all calls.
func (p *Pane) Clear() { p.items, p.all, p.focused = nil, nil, false }

func (p *Pane) remove(gone func(*item) bool) {
	p.items = slices.DeleteFunc(p.items, gone)
	if p.all = slices.DeleteFunc(p.all, gone); len(p.all) < 2 {
		p.all = nil
	}
	if len(p.items) == 0 {
		p.focused = false
	}
}

// Scroll moves the text of the first call.
func (p *Pane) Scroll(lines int) {
	if it := p.first(); it != nil {
		it.scroll += lines
	}
}

// Update handles a key or a paste while the pane has the keyboard, and the
// messages of the pane's own commands at any time.
func (p *Pane) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case previewMsg:
		msg.item.preview = msg.lines
	case answeredMsg:
		p.answered(msg)
	case answeredAllMsg:
		for _, one := range msg {
			p.answered(one)
		}
	case tea.KeyPressMsg:
		return p.key(msg)
	case tea.PasteMsg:
		return p.paste(msg)
	}
	return nil
}

// answeredMsg is the kernel's reply to an answer.
type answeredMsg struct {
	item   *item
	answer protocol.Answer
	err    error
}

// answeredAllMsg is the replies to answers that were given at once.
type answeredAllMsg []answeredMsg

func (p *Pane) send(it *item, a protocol.Answer) tea.Cmd {
	a.By = p.By
	it.sending, it.wrong = true, ""
	return func() tea.Msg {
		_, err := p.Answer(p.ctx, it.ID, a)
		return answeredMsg{it, a, err}
	}
}

// answered removes a call that was answered. If the kernel could not use the
// answer, the pane says why and the call stays.
func (p *Pane) answered(m answeredMsg) {
	it := m.item
	it.sending = false
	switch tool.KindOf(m.err) {
	case "":
		p.Post(Answered{it.Call.ID, m.answer.Args})
	case tool.Invalid, tool.Failed, tool.Denied:
		if slices.Contains(p.items, it) {
			it.why, it.wrong = nil, m.err.Error()
			return
		}
	case tool.Conflict:
		p.Post(transcript.Note{Text: "answered elsewhere: " + m.err.Error()})
	default:
		p.Post(transcript.Note{Text: m.err.Error(), Bad: true})
	}
	p.remove(func(other *item) bool { return other == it })
}
