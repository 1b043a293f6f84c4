// Package tasks shows in a chat what works for its conversation outside of turns, and
// stops it when the user says so.
//
// # Law
//
// What is shown is what the kernel says when it is asked: nothing of it is kept but a
// count for the status bar, and the order in which tasks were shown last, so that the
// user can name one by its number.
package tasks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/termtext"
	"callgate/internal/tui/transcript"
)

// Client asks the kernel for tasks. client.Tasks is one.
type Client interface {
	List(ctx context.Context, q protocol.TaskQuery) ([]protocol.Task, error)
	Cancel(ctx context.Context, id string, cancel protocol.CancelTask) (protocol.Task, error)
	Log(ctx context.Context, id string, n int) ([]protocol.TaskEntry, error)
}

// Options are what the tasks need of their screen. Script and Now are required.
type Options struct {
	Client Client // nil: there are none
	// Agents lists the agents of a conversation, of any depth; nil: those of the first are counted.
	Agents func(ctx context.Context, conversation string) ([]protocol.Agent, error)
	Script *transcript.Transcript // where they are shown
	Now    func() time.Time
	By     string // the user's name
}

// Tasks are those of one conversation.
type Tasks struct {
	Options
	ctx          context.Context
	conversation string
	active       Active   // when the kernel was asked last
	again        bool     // they will be counted again
	shown        []string // IDs, as they were numbered last
}

// New makes the tasks of no conversation.
func New(ctx context.Context, o Options) *Tasks { return &Tasks{Options: o, ctx: ctx} }

// Show changes to another conversation.
func (t *Tasks) Show(conversation string) {
	t.conversation, t.active, t.shown = conversation, Active{}, nil
}

// Active is how many have not ended.
type Active struct {
	Agents int // of any depth
	Tasks  int // others
}

// Active returns how many have not ended.
func (t *Tasks) Active() Active { return t.active }

// agentKind is the kind of the tasks of agents.
const agentKind = "agent"

// activeOf counts the tasks that have not ended.
func activeOf(list []protocol.Task) (n Active) {
	for _, one := range list {
		switch {
		case one.State.Final():
		case one.Kind == agentKind:
			n.Agents++
		default:
			n.Tasks++
		}
	}
	return n
}

// Messages of the commands.
type (
	againMsg   struct{}
	countedMsg struct {
		conversation string
		active       Active
	}
	listedMsg struct {
		conversation string
		list         []protocol.Task
		err          error
	}
	logMsg struct {
		task protocol.Task
		log  []protocol.TaskEntry
		err  error
	}
	cancelledMsg struct {
		task protocol.Task
		err  error
	}
)

// The most tasks that are counted, and shown.
const (
	maxCounted = 100
	maxShown   = 40
	maxEnded   = 5 // of those that have ended
	tailLines  = 20
)

// Count asks how many there are.
func (t *Tasks) Count() tea.Cmd {
	if t.Client == nil || t.conversation == "" {
		return nil
	}
	id := t.conversation
	return func() tea.Msg {
		list, err := t.Client.List(t.ctx, protocol.TaskQuery{Conversation: id, Limit: maxCounted})
		if err != nil {
			return nil // the bar stays as it is
		}
		n := activeOf(list)
		if n.Agents > 0 && t.Agents != nil {
			if all, err := t.Agents(t.ctx, id); err == nil {
				n.Agents = notEnded(all)
			}
		}
		return countedMsg{id, n}
	}
}

// countEvery is how often agents are counted while some work: of those that start others nothing
// is told here.
const countEvery = 3 * time.Second

// countAgain counts again later, while agents work.
func (t *Tasks) countAgain() tea.Cmd {
	if t.active.Agents == 0 || t.again {
		return nil
	}
	t.again = true
	return tea.Tick(countEvery, func(time.Time) tea.Msg { return againMsg{} })
}

// notEnded counts the agents that work, or wait for others.
func notEnded(all []protocol.Agent) (n int) {
	for _, one := range all {
		if one.Status == protocol.AgentQueued || one.Status == protocol.AgentRunning {
			n++
		}
	}
	return n
}

// Command is /tasks: alone it lists them; with a number or an ID it shows one, and after
// "cancel" it stops one.
func (t *Tasks) Command(text string) tea.Cmd {
	words := strings.Fields(text)
	stop := len(words) > 0 && words[0] == "cancel"
	if stop {
		words = words[1:]
	}
	switch {
	case t.Client == nil:
		t.say("this kernel does not show its tasks")
		return nil
	case stop && len(words) == 0:
		t.bad("say which one: /tasks cancel NUMBER; /tasks shows them")
		return nil
	case len(words) == 0:
		return t.list()
	}
	id := t.named(words[0])
	if stop {
		return func() tea.Msg {
			now, err := t.Client.Cancel(t.ctx, id, protocol.CancelTask{By: t.By})
			return cancelledMsg{now, err}
		}
	}
	return t.look(id)
}

// named is the task that a number of the last list means, or else an ID.
func (t *Tasks) named(word string) string {
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(t.shown) {
		return t.shown[n-1]
	}
	return word
}

// list asks for the tasks: those that have not ended, and a few that have.
func (t *Tasks) list() tea.Cmd {
	id := t.conversation
	return func() tea.Msg {
		list, err := t.Client.List(t.ctx, protocol.TaskQuery{Conversation: id, Limit: maxShown})
		if err != nil {
			return listedMsg{id, nil, err}
		}
		before, err := t.Client.List(t.ctx, protocol.TaskQuery{Conversation: id, All: true, Limit: maxShown})
		ended := 0
		for _, one := range before {
			if one.State.Final() && one.Kind != noticeKind && ended < maxEnded {
				list, ended = append(list, one), ended+1
			}
		}
		return listedMsg{id, list, err}
	}
}

// noticeKind is the kind of what only tells something.
const noticeKind = "notice"

// look asks for one task, and what it said last.
func (t *Tasks) look(id string) tea.Cmd {
	conversation := t.conversation
	return func() tea.Msg {
		list, err := t.Client.List(t.ctx, protocol.TaskQuery{Conversation: conversation, All: true})
		at := slices.IndexFunc(list, func(one protocol.Task) bool { return one.ID == id })
		switch {
		case err != nil:
			return logMsg{err: err}
		case at < 0: // that of another conversation is none here
			return logMsg{err: fmt.Errorf("there is no task %s here; /tasks shows them", termtext.OneLine(id))}
		}
		log, err := t.Client.Log(t.ctx, id, tailLines)
		return logMsg{list[at], log, err}
	}
}

// Update handles what the kernel answers, and reports whether a message was that.
func (t *Tasks) Update(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	switch msg := msg.(type) {
	case countedMsg:
		if msg.conversation == t.conversation {
			t.active = msg.active
			return t.countAgain(), true
		}
	case againMsg:
		t.again = false
		return t.Count(), true
	case listedMsg:
		if msg.conversation == t.conversation {
			t.listed(msg)
			return t.Count(), true
		}
	case logMsg:
		t.showOne(msg)
	case cancelledMsg:
		switch {
		case msg.err != nil:
			t.bad(msg.err.Error())
		case msg.task.State.Final():
			t.say("task " + name(msg.task) + ": " + string(msg.task.State))
		default:
			t.say("task " + name(msg.task) + " is to stop, and has not yet")
		}
		return t.Count(), true
	default:
		return nil, false
	}
	return nil, true
}

// listed shows the tasks, numbered.
func (t *Tasks) listed(m listedMsg) {
	switch {
	case m.err != nil:
		t.bad(m.err.Error())
		return
	case len(m.list) == 0:
		t.say("nothing works in the background for this conversation")
		return
	}
	slices.SortStableFunc(m.list, func(a, b protocol.Task) int { return cmp.Compare(rank(a.State), rank(b.State)) })
	t.shown = nil
	var b strings.Builder
	for i, one := range m.list {
		t.shown = append(t.shown, one.ID)
		fmt.Fprintf(&b, "%2d  %-9s %7s  %s\n", i+1, one.State, t.elapsed(one), name(one))
		if said := lastLine(one); said != "" {
			fmt.Fprintf(&b, "    %s\n", said)
		}
	}
	t.say(b.String() + "/tasks NUMBER shows one, /tasks cancel NUMBER stops it")
}

// rank is where a task stands in the list.
func rank(s protocol.TaskState) int {
	switch s {
	case protocol.TaskRunning:
		return 0
	case protocol.TaskQueued:
		return 1
	default:
		return 2
	}
}

// elapsed is how long a task has run, or ran; until when it waits, if it has not begun.
func (t *Tasks) elapsed(one protocol.Task) string {
	until := t.Now()
	switch {
	case one.State == protocol.TaskQueued && one.RunAt.After(until):
		return "in " + transcript.Duration(one.RunAt.Sub(until))
	case one.Times.Started.IsZero():
		return ""
	case one.State.Final():
		until = one.Times.Ended
	}
	return transcript.Duration(until.Sub(one.Times.Started))
}

// lastLine is what a task said last, in a line.
func lastLine(one protocol.Task) string {
	text := one.Progress
	if one.Outcome != nil {
		text = one.Outcome.Summary
	}
	const most = 160
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return termtext.Truncate(termtext.OneLine(lines[len(lines)-1]), most)
}

// showOne shows a task, with what it said last.
func (t *Tasks) showOne(m logMsg) {
	if m.err != nil {
		t.bad(m.err.Error())
		return
	}
	one := m.task
	text := fmt.Sprintf("%s %s: %s %s", one.Kind, name(one), one.State, t.elapsed(one))
	var b strings.Builder
	for _, e := range m.log {
		fmt.Fprintf(&b, "%s  %s\n", e.At.Local().Format("15:04:05"), e.Text)
	}
	if one.Progress != "" && !one.State.Final() {
		b.WriteString(one.Progress + "\n")
	}
	if one.Outcome != nil {
		b.WriteString(one.Outcome.Summary + "\n")
	}
	t.say(strings.TrimSpace(text) + "\n" + strings.TrimRight(b.String(), "\n"))
}

// name is a task in a few words.
func name(one protocol.Task) string {
	if one.Label == "" {
		return one.ID
	}
	return one.ID + "  " + termtext.OneLine(one.Label)
}

func (t *Tasks) say(text string) { t.Script.Add(transcript.Note{Text: text}, true) }

func (t *Tasks) bad(text string) { t.Script.Add(transcript.Note{Text: text, Bad: true}, true) }
