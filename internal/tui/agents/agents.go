// Package agents shows in a chat the agents that work for its conversation, as a tree, and
// stops one when the user says so.
//
// # Law
//
// What is shown is what the kernel says when it is asked. Nothing of it is kept but the
// order in which agents were shown last, so that the user can name one by its number.
package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/amount"
	"callgate/internal/protocol"
	"callgate/internal/tui/termtext"
	"callgate/internal/tui/transcript"
	"callgate/internal/visible"
)

// Options are what is asked, and where it is shown.
type Options struct {
	// List returns the agents of a conversation, each before those that work for it; nil:
	// there are none.
	List func(ctx context.Context, conversation string) ([]protocol.Agent, error)
	// Cancel stops a task; nil: none can be stopped here.
	Cancel func(ctx context.Context, id string, cancel protocol.CancelTask) (protocol.Task, error)
	Script *transcript.Transcript
	By     string // the user's name
}

// Agents shows the agents.
type Agents struct {
	Options
	ctx   context.Context
	shown []string // IDs, as they were numbered last
}

// New makes a part of a chat.
func New(ctx context.Context, o Options) *Agents { return &Agents{Options: o, ctx: ctx} }

// Messages of the commands.
type (
	listedMsg struct {
		all []protocol.Agent
		err error
	}
	cancelledMsg struct {
		agent protocol.Agent
		ended bool
		err   error
	}
)

// Command is /agents, in a conversation: alone it shows them; after "cancel" it stops one, by
// its number or its ID.
func (a *Agents) Command(conversation, text string) tea.Cmd {
	words := strings.Fields(text)
	switch {
	case len(words) == 2 && words[0] == "cancel":
		return a.stop(conversation, a.named(words[1]))
	case len(words) > 0:
		a.Script.Add(transcript.Note{Text: "say which one: /agents cancel NUMBER; /agents shows them", Bad: true}, true)
		return nil
	}
	return func() tea.Msg {
		if a.List == nil {
			return listedMsg{}
		}
		all, err := a.List(a.ctx, conversation)
		return listedMsg{all, err}
	}
}

// named is the agent that a number of the last tree means, or else an ID.
func (a *Agents) named(word string) string {
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(a.shown) {
		return a.shown[n-1]
	}
	return word
}

// stop stops an agent, and those that work for it, if it is one of the conversation's.
func (a *Agents) stop(conversation, id string) tea.Cmd {
	return func() tea.Msg {
		if a.List == nil || a.Cancel == nil {
			return cancelledMsg{err: errors.New("this kernel stops no agents")}
		}
		all, err := a.List(a.ctx, conversation)
		if err != nil {
			return cancelledMsg{err: err}
		}
		at := slices.IndexFunc(all, func(one protocol.Agent) bool { return one.ID == id })
		if at < 0 {
			return cancelledMsg{err: fmt.Errorf("there is no agent %s here; /agents shows them", termtext.OneLine(id))}
		}
		one := all[at]
		if ended(one) {
			return cancelledMsg{agent: one, err: fmt.Errorf("agent %s has ended: %s", termtext.OneLine(one.Name), one.Status)}
		}
		now, err := a.Cancel(a.ctx, one.Task, protocol.CancelTask{By: a.By})
		return cancelledMsg{one, now.State.Final(), err}
	}
}

func ended(one protocol.Agent) bool {
	return one.Status != protocol.AgentQueued && one.Status != protocol.AgentRunning
}

// Update handles what the kernel answers, and reports whether a message was that.
func (a *Agents) Update(msg tea.Msg) (handled bool) {
	note := transcript.Note{}
	switch m := msg.(type) {
	case listedMsg:
		if len(m.all) > 0 && m.err == nil {
			a.show(m.all)
			return true
		}
		note.Text = "no agent works, or worked, for this conversation"
		if m.err != nil {
			note.Text, note.Bad = m.err.Error(), true
		}
	case cancelledMsg:
		note.Text = "agent " + termtext.OneLine(m.agent.Name) + " is to stop, with those that work for it, and has not yet"
		switch {
		case m.err != nil:
			note.Text, note.Bad = m.err.Error(), true
		case m.ended:
			note.Text = "agent " + termtext.OneLine(m.agent.Name) + " is stopped, with those that worked for it"
		}
	default:
		return false
	}
	a.Script.Add(note, true)
	return true
}

// show shows the agents, numbered.
func (a *Agents) show(all []protocol.Agent) {
	a.shown = nil
	for _, one := range all {
		a.shown = append(a.shown, one.ID)
	}
	a.Script.Add(Tree(all), true)
}

// Tree lays agents out, each above those that work for it.
type Tree []protocol.Agent

// marks are those of the statuses.
var marks = map[protocol.AgentStatus]string{
	protocol.AgentQueued: "…", protocol.AgentRunning: "→", protocol.AgentCompleted: "✓",
	protocol.AgentFailed: "✗", protocol.AgentCancelled: "✗",
}

// Lines lays each agent out in a line, with its number, and its work, or why it failed, in the
// next.
func (t Tree) Lines(width int, _ bool) []string {
	lines := []string{termtext.Strong(termtext.Truncate(t.head(), width))}
	for i, a := range t {
		margin := strings.Repeat("  ", max(a.Depth, 1))
		first := fmt.Sprintf("%2d%s%s %s  %s · %s · %s · %s", i+1, margin, marks[a.Status],
			termtext.OneLine(a.Name), a.Status,
			transcript.Duration(time.Duration(a.Seconds*float64(time.Second))), amount.Of(a.ToolCalls, "call"),
			amount.Of(int(a.Usage.Input+a.Usage.Output), "token"))
		lines = append(lines, termtext.Truncate(first, width))
		work := strings.TrimPrefix(a.Label, a.Name+": ")
		if a.Error != "" {
			work = a.Error
		}
		second := "  " + margin + "  " + termtext.OneLine(visible.Clip(work, 200))
		lines = append(lines, termtext.Faint(termtext.Truncate(second, width)))
	}
	if !slices.ContainsFunc(t, func(a protocol.Agent) bool { return !ended(a) }) {
		return lines
	}
	const how = "/agents cancel NUMBER stops one, and those that work for it"
	return append(lines, termtext.Faint(termtext.Truncate(how, width)))
}

// head says how many work, wait and have ended.
func (t Tree) head() string {
	var parts []string
	for _, s := range []struct {
		words string
		is    []protocol.AgentStatus
	}{
		{"at work", []protocol.AgentStatus{protocol.AgentRunning}},
		{"queued", []protocol.AgentStatus{protocol.AgentQueued}},
		{"done", []protocol.AgentStatus{protocol.AgentCompleted}},
		{"failed or stopped", []protocol.AgentStatus{protocol.AgentFailed, protocol.AgentCancelled}},
	} {
		n := 0
		for _, a := range t {
			for _, status := range s.is {
				if a.Status == status {
					n++
				}
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.words))
		}
	}
	return amount.Of(len(t), "agent") + " of this conversation: " + strings.Join(parts, ", ")
}
