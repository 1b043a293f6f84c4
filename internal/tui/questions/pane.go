// Package questions shows what the agent asks, and takes the human's answers.
//
// # Law
//
//   - Nothing is chosen before the human chose it: enter alone approves no plan and picks
//     no choice.
//   - A paste goes into a field that is open, and answers nothing.
//   - A password is not shown, and not kept here once it was sent.
package questions

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/question"
	"callgate/internal/tui/input"
	"callgate/internal/tui/transcript"
	"callgate/tool"
)

// Options are what a pane needs of its screen.
type Options struct {
	Answer func(ctx context.Context, id string, a protocol.AnswerQuestion) (protocol.Question, error)
	By     string           // the human's name, for the journal
	Now    func() time.Time // for deadlines
	Post   func(tea.Msg)    // sends [Left] or a transcript.Note to the rest of the screen
}

// Left says that the human left the question waiting.
type Left struct{ ID string }

// Pane lists the questions that wait, the oldest first. The human answers the first.
type Pane struct {
	Options
	ctx     context.Context
	items   []*item
	focused bool // the keyboard is the pane's
}

// item is a question, and the state of its answer.
type item struct {
	protocol.Question
	rows    []row
	at      int           // the row with the keyboard; -1: none yet
	editor  *input.Editor // not nil while the content is edited
	content *string       // as edited; nil: as it was
	why     *input.Field  // not nil while a no is explained
	wrong   string        // why the last answer was not accepted
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

// Show puts a question before the human, or takes one away that was settled. The first
// one gets the keyboard if mayFocus says that the human is not writing something else.
func (p *Pane) Show(q protocol.Question, mayFocus bool) {
	is := func(it *item) bool { return it.ID == q.ID }
	if q.State != protocol.QuestionPending {
		p.remove(func(it *item) bool { return is(it) && !it.sending })
		return
	}
	if slices.ContainsFunc(p.items, is) {
		return
	}
	it := &item{Question: q, rows: rowsOf(q.Question)}
	if it.rows[0].kind == oneOf {
		it.at = -1
	}
	p.items = append(p.items, it)
	if len(p.items) == 1 {
		p.focused = mayFocus
	}
}

// CallEnded removes the question of a call that has ended.
func (p *Pane) CallEnded(call string) {
	p.remove(func(it *item) bool { return it.Call == call })
}

// Clear removes all questions.
func (p *Pane) Clear() { p.items, p.focused = nil, false }

// Next is what is asked first, in a line.
func (p *Pane) Next() (text string, ok bool) {
	it := p.first()
	if it == nil {
		return "", false
	}
	return it.Question.Question.Text, true
}

// Focused reports whether the pane has the keyboard.
func (p *Pane) Focused() bool { return p.focused && p.first() != nil }

// Blur gives the keyboard back.
func (p *Pane) Blur() { p.focused = false }

// Focus takes the keyboard. It reports false when nothing is asked, or the pane has it.
func (p *Pane) Focus() bool {
	if p.first() == nil || p.focused {
		return false
	}
	p.focused = true
	return true
}

func (p *Pane) remove(gone func(*item) bool) {
	if p.items = slices.DeleteFunc(p.items, gone); len(p.items) == 0 {
		p.focused = false
	}
}

// Scroll moves the text of the first question.
func (p *Pane) Scroll(lines int) {
	if it := p.first(); it != nil {
		it.scroll += lines
	}
}

// Update handles a key or a paste while the pane has the keyboard, and the message of the
// pane's own command at any time. It reports false for a message that is not the pane's.
func (p *Pane) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case answeredMsg:
		p.answered(msg)
	case tea.KeyPressMsg:
		return p.key(msg), true
	case tea.PasteMsg:
		return p.paste(msg), true
	default:
		return nil, false
	}
	return nil, true
}

// answeredMsg is the kernel's reply to an answer.
type answeredMsg struct {
	item *item
	err  error
}

func (p *Pane) send(it *item, r question.Reply) tea.Cmd {
	it.sending, it.wrong = true, ""
	return func() tea.Msg {
		_, err := p.Answer(p.ctx, it.ID, protocol.AnswerQuestion{Reply: r, By: p.By})
		return answeredMsg{it, err}
	}
}

// answered removes a question that was answered. If the kernel could not use the answer,
// the pane says why and the question stays.
func (p *Pane) answered(m answeredMsg) {
	it := m.item
	it.sending = false
	switch tool.KindOf(m.err) {
	case "":
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

// pageLines is how far a page key scrolls.
const pageLines = 8

func (p *Pane) key(k tea.KeyPressMsg) tea.Cmd {
	it := p.first()
	switch {
	case it == nil || it.sending:
		return nil
	case it.editor != nil:
		return it.editKey(k)
	case it.why != nil:
		return p.refuseKey(it, k)
	}
	switch k.String() {
	case "esc":
		p.focused = false
		p.Post(Left{it.ID})
	case "ctrl+x":
		it.why = input.NewField("why not, for the agent (may be empty)")
	case "ctrl+e":
		if q := it.Question.Question; q.Content != "" {
			it.editor = input.NewEditor(it.shownContent())
		}
	case "pgup":
		it.scroll -= pageLines
	case "pgdown":
		it.scroll += pageLines
	case "up", "shift+tab":
		it.at = max(it.at-1, 0)
	case "down", "tab":
		it.at = min(it.at+1, len(it.rows)-1)
	case "enter":
		return p.enter(it)
	case "ctrl+s":
		return p.send(it, it.reply())
	default:
		if it.wrong = ""; it.at >= 0 {
			return it.rows[it.at].key(k)
		}
	}
	return nil
}

// enter goes to the next field of a form, and answers at the last one.
func (p *Pane) enter(it *item) tea.Cmd {
	switch {
	case it.at < 0:
		it.wrong = "choose with the arrows first"
		return nil
	case it.rows[it.at].kind == oneOf:
		it.choose()
	case len(it.Question.Question.Form) > 0 && it.at < len(it.rows)-1:
		it.at++
		return nil
	}
	return p.send(it, it.reply())
}

// choose marks the row with the keyboard, and no other.
func (it *item) choose() {
	for i := range it.rows {
		it.rows[i].on = i == it.at && it.rows[i].kind == oneOf
	}
}

func (it *item) editKey(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		it.editor = nil
	case "ctrl+s":
		text := it.editor.Text()
		it.content, it.editor = &text, nil
		if text == it.Question.Question.Content {
			it.content = nil
		}
	default:
		return it.editor.Update(k)
	}
	return nil
}

func (p *Pane) refuseKey(it *item, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		it.why = nil
	case "enter":
		return p.send(it, question.Reply{Feedback: it.why.Text()})
	default:
		return it.why.Update(k)
	}
	return nil
}

// paste goes to an open field.
func (p *Pane) paste(msg tea.PasteMsg) tea.Cmd {
	it := p.first()
	switch {
	case it == nil || it.sending:
	case it.editor != nil:
		return it.editor.Update(msg)
	case it.why != nil:
		return it.why.Update(msg)
	case it.at >= 0:
		return it.rows[it.at].paste(msg)
	}
	return nil
}

// shownContent is the content as it would be sent.
func (it *item) shownContent() string {
	if it.content != nil {
		return *it.content
	}
	return it.Question.Question.Content
}
