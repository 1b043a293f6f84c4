// Package waiting shows in a chat what waits for its user, and what works for its
// conversation, each with how it is opened.
//
// # Law
//
// What is shown is what the kernel says when it is asked, and nothing is kept. It answers
// nothing: each kind has a command of its own for that.
package waiting

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/termtext"
	"callgate/internal/tui/transcript"
	"callgate/internal/visible"
	"callgate/internal/visible/arguments"
)

// Options are what is asked. Script and Now are required; what is nil is not asked.
type Options struct {
	Approvals func(ctx context.Context, state protocol.ApprovalState) ([]protocol.Approval, error)
	Questions func(ctx context.Context, state protocol.QuestionState) ([]protocol.Question, error)
	Proposals func(ctx context.Context, state protocol.ProposalState) ([]protocol.Proposal, error)
	Tasks     func(ctx context.Context, q protocol.TaskQuery) ([]protocol.Task, error)
	Script    *transcript.Transcript // where it is shown
	Now       func() time.Time
}

// List shows what waits.
type List struct {
	Options
	ctx context.Context
}

// New makes a list.
func New(ctx context.Context, o Options) *List { return &List{o, ctx} }

// listedMsg brings what waits.
type listedMsg struct {
	rows []Row
	err  error
}

// Row is one thing that waits or works: its kind, what it is, and how it is opened.
type Row struct{ Kind, Text, How string }

// The most things of one kind that are shown.
const maxEach = 20

// Command is /waiting, in a conversation.
func (l *List) Command(conversation string) tea.Cmd {
	return func() tea.Msg {
		var m listedMsg
		for _, ask := range []func(string) ([]Row, error){l.approvals, l.questions, l.proposals, l.tasks} {
			rows, err := ask(conversation)
			m.rows = append(m.rows, rows[:min(len(rows), maxEach)]...)
			if err != nil {
				m.err = err
			}
		}
		return m
	}
}

// Update handles what the kernel answers, and reports whether a message was that.
func (l *List) Update(msg tea.Msg) (handled bool) {
	m, ok := msg.(listedMsg)
	if !ok {
		return false
	}
	if len(m.rows) > 0 {
		l.Script.Add(Block(m.rows), true)
	}
	switch {
	case m.err != nil:
		l.Script.Add(transcript.Note{Text: "not all could be asked for: " + m.err.Error(), Bad: true}, true)
	case len(m.rows) == 0:
		l.Script.Add(transcript.Note{Text: "nothing waits for you, and nothing works in the background"}, true)
	}
	return true
}

// elsewhere marks what is asked in another conversation.
func elsewhere(session, conversation string) string {
	if session == conversation {
		return ""
	}
	return " (in another conversation)"
}

func (l *List) left(deadline time.Time) string {
	if deadline.IsZero() {
		return ""
	}
	return " · " + transcript.Duration(max(deadline.Sub(l.Now()), 0)) + " left"
}

func (l *List) approvals(conversation string) (rows []Row, err error) {
	if l.Approvals == nil {
		return nil, nil
	}
	list, err := l.Approvals(l.ctx, protocol.ApprovalPending)
	for _, a := range list {
		text := visible.Text(a.Call.Tool.Dotted()) + " " + arguments.OneLine(a.Call.Args, 80) + l.left(a.Deadline)
		how := "tab goes to it; elsewhere: callgate approvals approve " + a.ID
		if other := elsewhere(a.Call.Principal.Session, conversation); other != "" {
			text, how = text+other, "callgate approvals approve "+a.ID
		}
		rows = append(rows, Row{"approval", text, how})
	}
	return rows, err
}

func (l *List) questions(conversation string) (rows []Row, err error) {
	if l.Questions == nil {
		return nil, nil
	}
	list, err := l.Questions(l.ctx, protocol.QuestionPending)
	for _, q := range list {
		text := visible.Clip(q.Question.Text, 200) + l.left(q.Deadline)
		how := "tab goes to it; elsewhere: callgate questions answer " + q.ID
		if other := elsewhere(q.Principal.Session, conversation); other != "" {
			text, how = text+other, "callgate questions answer "+q.ID
		}
		rows = append(rows, Row{"question", text, how})
	}
	return rows, err
}

func (l *List) proposals(string) (rows []Row, err error) {
	if l.Proposals == nil {
		return nil, nil
	}
	list, err := l.Proposals(l.ctx, protocol.ProposalPending)
	for _, p := range list {
		rows = append(rows, Row{"proposal", p.Kind + " " + visible.Clip(p.Title, 200), "/proposals " + p.ID})
	}
	return rows, err
}

func (l *List) tasks(conversation string) (rows []Row, err error) {
	if l.Tasks == nil {
		return nil, nil
	}
	list, err := l.Tasks(l.ctx, protocol.TaskQuery{Conversation: conversation, Limit: 2 * maxEach})
	for _, t := range list {
		kind := "task"
		switch t.Kind {
		case protocol.TaskWatch:
			kind = "watcher"
		case protocol.TaskSchedule:
			kind = "schedule"
		}
		text := visible.Clip(strings.TrimSpace(t.Label), 200)
		if text == "" {
			text = t.Kind
		}
		if wait := t.RunAt.Sub(l.Now()); t.State == protocol.TaskQueued && wait > time.Second {
			text += " · next in " + transcript.Duration(wait)
		} else {
			text += " · " + string(t.State)
		}
		rows = append(rows, Row{kind, text, "/tasks " + t.ID})
	}
	return rows, err
}

// Block lays what waits out: first what waits for the user, then what works by itself.
type Block []Row

// Lines lays each thing out in a line, and how it is opened in the next.
func (b Block) Lines(width int, _ bool) []string {
	const margin = 12
	var lines []string
	head := ""
	for _, row := range b {
		next := "waits for you:"
		if row.Kind == "task" || row.Kind == "watcher" || row.Kind == "schedule" {
			next = "works for this conversation:"
		}
		if next != head {
			head = next
			lines = append(lines, termtext.Strong(termtext.Truncate(head, width)))
		}
		first := fmt.Sprintf("  %-*s", margin-2, row.Kind) + termtext.OneLine(row.Text)
		lines = append(lines, termtext.Truncate(first, width))
		for _, part := range termtext.Wrap(termtext.OneLine(row.How), max(width-margin, 10)) {
			lines = append(lines, termtext.Faint(termtext.Truncate(strings.Repeat(" ", margin)+part, width)))
		}
	}
	return lines
}
