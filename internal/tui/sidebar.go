package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/termtext"
	"callgate/internal/tui/transcript"
)

// tickInterval is how often a running turn is looked at, and patience how long a call
// may run before the kernel is asked what it waits for.
const (
	tickInterval = 250 * time.Millisecond
	patience     = 400 * time.Millisecond
)

// tickMsg says that a beat has passed in a turn.
type tickMsg struct{ turn *turn }

func (c *chat) tick() tea.Cmd {
	t := c.turn
	return tea.Tick(tickInterval, func(time.Time) tea.Msg { return tickMsg{t} })
}

func (c *chat) ticked(m tickMsg) tea.Cmd {
	if m.turn != c.turn || c.turn == nil {
		return nil
	}
	c.screen.frame++
	c.updateDurations()
	c.approvals.drop(func(q *approvalItem) bool { return !q.Deadline.IsZero() && c.now().After(q.Deadline) && !q.sending })
	cmds := []tea.Cmd{c.tick()}
	if !c.screen.asking && c.waitsLong() {
		c.screen.asking = true
		cmds = append(cmds, func() tea.Msg {
			l, err := c.Kernel.Locks(c.ctx)
			return locksMsg{l, err}
		})
	}
	return tea.Batch(cmds...)
}

// waitsLong reports whether a call has run for a while.
func (c *chat) waitsLong() bool {
	for _, r := range c.turn.calls {
		if r.Result == nil && r.Took > patience {
			return true
		}
	}
	return false
}

// locksMsg is who holds what.
type locksMsg struct {
	locks protocol.Locks
	err   error
}

// waiting shows what the calls under way wait for.
func (c *chat) waiting(h locksMsg) {
	c.screen.asking = false
	if h.err != nil || c.turn == nil {
		return
	}
	waits := map[string]string{}
	for _, w := range h.locks.Waiting {
		if waits[w.Holder.Call] == "" {
			waits[w.Holder.Call] = "waits for " + w.Resource + ", held by " + w.Behind.Holder.String()
		}
	}
	for id, r := range c.turn.calls {
		if r.Result != nil || c.isAsked(id) || r.Waiting == waits[id] {
			continue
		}
		r.Waiting = waits[id]
		r.entry.Touch()
	}
}

func (c *chat) isAsked(call string) bool {
	for _, q := range c.approvals.open {
		if q.Call.ID == call {
			return true
		}
	}
	return false
}

// memoryMsg is the memory as the model is told of it.
type memoryMsg struct {
	id     string
	memory string
}

// remembers reports whether a call may have changed the memory.
func remembers(call protocol.AgentCall) bool {
	return strings.Contains(transcript.ToolName(call.Name), "memory.") || strings.Contains(string(call.Args), `"memory.`)
}

// remembered asks for the memory.
func (c *chat) remembered() tea.Cmd {
	talk := c.conv
	return func() tea.Msg {
		p, err := talk.Prompt(c.ctx)
		if err != nil {
			return nil // it is only a look; the next turn brings another
		}
		r := memoryMsg{id: talk.About.ID}
		for _, s := range p.Sections {
			if s.Name == "memory" {
				r.memory = s.Text
			}
		}
		return r
	}
}

func (c *chat) refresh(r memoryMsg) {
	if r.id != c.conv.About.ID {
		return
	}
	text := strings.TrimSpace(r.memory)
	text = strings.TrimSuffix(strings.TrimPrefix(text, "<working_memory>"), "</working_memory>")
	text = strings.TrimPrefix(strings.TrimSpace(text), "# Working memory")
	if text = strings.TrimSpace(text); text == "" {
		c.memory = nil
		return
	}
	c.memory = strings.Split(termtext.Safe(text), "\n")
}

// side lays the memory out: what is done stands back, what is next stands out.
func (c *chat) side(width, height int) []string {
	out := []string{termtext.Accent(termtext.Truncate("plan", width))}
	for _, line := range c.memory {
		paint := func(s string) string { return s }
		switch {
		case strings.HasPrefix(line, "Goal:"):
			paint = termtext.Strong
		case strings.HasPrefix(line, "[x]"):
			paint = termtext.Faint
		case strings.HasPrefix(line, "[>]"), strings.Contains(line, "<- next"), strings.Contains(line, "← next"):
			paint = termtext.Accent
		case strings.HasPrefix(line, "[!]"):
			paint = termtext.Warn
		}
		for i, part := range termtext.Wrap(line, width-2) {
			if i > 0 {
				part = "  " + part
			}
			out = append(out, paint(part))
		}
	}
	if len(out) > height {
		out = append(out[:max(height-1, 0)], termtext.Faint("…"))
	}
	return out
}
