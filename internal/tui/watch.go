package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/conversation/history"
	"callgate/internal/protocol"
	"callgate/internal/tui/termtext"
	"callgate/internal/tui/transcript"
)

// beat is how often a running turn is looked at, and patience how long a call
// may run before the kernel is asked what it waits for.
const (
	beat     = 250 * time.Millisecond
	patience = 400 * time.Millisecond
)

// ticked says that a beat has passed in a turn.
type ticked struct{ turn *turn }

func (c *chat) tick() tea.Cmd {
	t := c.turn
	return tea.Tick(beat, func(time.Time) tea.Msg { return ticked{t} })
}

func (c *chat) ticked(m ticked) tea.Cmd {
	if m.turn != c.turn || c.turn == nil {
		return nil
	}
	c.screen.frame++
	c.recount()
	c.desk.drop(func(q *question) bool { return !q.Deadline.IsZero() && c.now().After(q.Deadline) && !q.sending })
	cmds := []tea.Cmd{c.tick()}
	if !c.screen.asking && c.waitsLong() {
		c.screen.asking = true
		cmds = append(cmds, func() tea.Msg {
			l, err := c.Kernel.Locks(c.ctx)
			return held{l, err}
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

// held is who holds what.
type held struct {
	locks protocol.Locks
	err   error
}

// waiting shows what the calls under way wait for.
func (c *chat) waiting(h held) {
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
		if r.Result != nil || c.isAsked(id) || r.Waits == waits[id] {
			continue
		}
		r.Waits = waits[id]
		r.entry.Touch()
	}
}

func (c *chat) isAsked(call string) bool {
	for _, q := range c.desk.open {
		if q.Call.ID == call {
			return true
		}
	}
	return false
}

// refreshed is the memory as the model is told of it.
type refreshed struct {
	id     string
	memory string
}

// remembers reports whether a call may have changed the memory.
func remembers(call history.Call) bool {
	return strings.Contains(transcript.ToolName(call.Name), "memory.") || strings.Contains(string(call.Args), `"memory.`)
}

// remembered asks for the memory.
func (c *chat) remembered() tea.Cmd {
	talk := c.talk
	return func() tea.Msg {
		p, err := talk.Prompt(c.ctx)
		if err != nil {
			return nil // it is only a look; the next turn brings another
		}
		r := refreshed{id: talk.About.ID}
		for _, s := range p.Sections {
			if s.Name == "memory" {
				r.memory = s.Text
			}
		}
		return r
	}
}

func (c *chat) refresh(r refreshed) {
	if r.id != c.talk.About.ID {
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
	out := []string{termtext.Accent(termtext.Cut("plan", width))}
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
