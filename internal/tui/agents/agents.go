// Package agents shows in a chat the agents that work for its conversation, as a tree.
//
// # Law
//
// What is shown is what the kernel says when it is asked, and nothing is kept.
package agents

import (
	"context"
	"fmt"
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
	List   func(ctx context.Context, conversation string) ([]protocol.Agent, error)
	Script *transcript.Transcript
}

// Agents shows the agents.
type Agents struct {
	Options
	ctx context.Context
}

// New makes a part of a chat.
func New(ctx context.Context, o Options) *Agents { return &Agents{o, ctx} }

// listedMsg brings the agents.
type listedMsg struct {
	all []protocol.Agent
	err error
}

// Command is /agents, in a conversation.
func (a *Agents) Command(conversation string) tea.Cmd {
	return func() tea.Msg {
		if a.List == nil {
			return listedMsg{}
		}
		all, err := a.List(a.ctx, conversation)
		return listedMsg{all, err}
	}
}

// Update handles what the kernel answers, and reports whether a message was that.
func (a *Agents) Update(msg tea.Msg) (handled bool) {
	m, ok := msg.(listedMsg)
	switch {
	case !ok:
		return false
	case m.err != nil:
		a.Script.Add(transcript.Note{Text: m.err.Error(), Bad: true}, true)
	case len(m.all) == 0:
		a.Script.Add(transcript.Note{Text: "no agent works, or worked, for this conversation"}, true)
	default:
		a.Script.Add(Tree(m.all), true)
	}
	return true
}

// Tree lays agents out, each above those that work for it.
type Tree []protocol.Agent

// marks are those of the statuses.
var marks = map[protocol.AgentStatus]string{
	protocol.AgentQueued: "…", protocol.AgentRunning: "→", protocol.AgentCompleted: "✓",
	protocol.AgentFailed: "✗", protocol.AgentCancelled: "✗",
}

// Lines lays each agent out in a line, and its work, or why it failed, in the next.
func (t Tree) Lines(width int, _ bool) []string {
	lines := []string{termtext.Strong(termtext.Truncate(t.head(), width))}
	for _, a := range t {
		margin := strings.Repeat("  ", max(a.Depth, 1))
		first := fmt.Sprintf("%s%s %s  %s · %s · %s · %s", margin, marks[a.Status], termtext.OneLine(a.Name), a.Status,
			transcript.Duration(time.Duration(a.Seconds*float64(time.Second))), amount.Of(a.ToolCalls, "call"),
			amount.Of(int(a.Usage.Input+a.Usage.Output), "token"))
		lines = append(lines, termtext.Truncate(first, width))
		work := strings.TrimPrefix(a.Label, a.Name+": ")
		if a.Error != "" {
			work = a.Error
		}
		second := margin + "  " + termtext.OneLine(visible.Clip(work, 200))
		lines = append(lines, termtext.Faint(termtext.Truncate(second, width)))
	}
	const how = "/tasks cancel NUMBER stops one, and those that work for it"
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
