package tui

import (
	"context"
	"iter"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/transcript"
	"callgate/llm"
	"callgate/tool"
)

// turn is a turn that is under way.
type turn struct {
	items   chan item
	cancel  context.CancelFunc
	halting bool // it was told to stop
	ended   bool // how it ended was told

	answer  *transcript.Answer
	thought *folded
	calls   map[string]*running // by the kernel's ID
	last    *running
	streams bool // the answer that is being made came in pieces
}

// item is a moment, or why there are no more.
type item struct {
	moment protocol.TurnEvent
	err    error
}

// running is a call and its place in the transcript.
type running struct {
	*transcript.Call
	entry *transcript.Entry
}

type folded struct {
	*transcript.Collapsible
	entry *transcript.Entry
}

// turnMsg brings what came of a turn. over says that nothing more will.
type turnMsg struct {
	turn  *turn
	items []item
	over  bool
}

// most that is taken out of the channel at once.
const maxItems = 512

// begin has a turn run.
func (c *chat) begin(speak func(context.Context) iter.Seq2[protocol.TurnEvent, error]) tea.Cmd {
	ctx, cancel := context.WithCancel(c.ctx)
	t := &turn{items: make(chan item, maxItems), cancel: cancel, calls: map[string]*running{}}
	c.turn = t
	c.script.Follow()
	go func() {
		defer close(t.items)
		defer cancel()
		for m, err := range speak(ctx) {
			t.items <- item{m, err}
		}
	}()
	return tea.Batch(t.next(), c.tick())
}

// next waits for what comes, and takes all that has.
func (t *turn) next() tea.Cmd {
	return func() tea.Msg {
		h := turnMsg{turn: t}
		it, ok := <-t.items
		for ok {
			if h.items = append(h.items, it); len(h.items) == maxItems {
				return h
			}
			select {
			case it, ok = <-t.items:
			default:
				return h
			}
		}
		h.over = true
		return h
	}
}

// take shows what came.
func (c *chat) take(h turnMsg) tea.Cmd {
	t := h.turn
	if t != c.turn {
		if !h.over {
			return t.next() // to its end, so that nobody is left writing
		}
		return nil
	}
	var cmds []tea.Cmd
	for _, it := range h.items {
		if it.err != nil {
			c.turnFailed(it.err)
			continue
		}
		cmds = append(cmds, c.show(it.moment))
	}
	if !h.over {
		return tea.Batch(append(cmds, t.next())...)
	}
	if !t.ended && t.halting {
		c.note("stopped")
	}
	c.turn = nil
	c.approvals.drop(func(*approvalItem) bool { return true })
	return tea.Batch(append(cmds, c.remembered())...)
}

// turnFailed says why a turn could not be run to its end.
func (c *chat) turnFailed(err error) {
	c.turn.ended = true
	if tool.KindOf(err) == tool.Cancelled && c.turn.halting {
		c.note("stopped")
		return
	}
	c.wrong(err)
}

// show shows one moment.
func (c *chat) show(m protocol.TurnEvent) tea.Cmd {
	t := c.turn
	switch {
	case m.Delta != nil:
		c.delta(*m.Delta)
	case m.Call != nil:
		c.called(*m.Call)
	case m.Output != nil:
		r := t.calls[m.Output.Call]
		if r == nil {
			r = t.last
		}
		if r != nil {
			r.AddOutput(string(m.Output.Text))
			r.entry.Touch()
		}
	case m.Approval != nil:
		return c.asked(*m.Approval)
	case m.Result != nil:
		return c.ended(*m.Result)
	case m.Event != nil:
		c.written(*m.Event)
	case m.Notice != "":
		c.note(m.Notice)
	case m.End != nil:
		c.turnEnded(*m.End)
	}
	return nil
}

// delta shows a piece of the model's answer.
func (c *chat) delta(d llm.Delta) {
	t := c.turn
	switch d.Kind {
	case llm.DeltaText:
		t.streams, t.thought = true, nil
		if t.answer == nil {
			t.answer = transcript.NewAnswer(c.script, c.looks)
		}
		t.answer.Write(d.Text)
	case llm.DeltaReasoning:
		if t.thought == nil {
			f := &transcript.Collapsible{Head: "thoughts"}
			t.thought = &folded{f, c.script.Add(f, true)}
		}
		t.thought.Text += d.Text
		t.thought.entry.Touch()
	case llm.DeltaUsage:
		if d.Usage != nil {
			c.meter.context = d.Usage.Input + d.Usage.Output
		}
	}
}

// called shows a call that is made.
func (c *chat) called(call protocol.AgentCall) {
	t := c.turn
	if t.calls[call.ID] != nil {
		return
	}
	c.meter.calls++
	r := &running{Call: &transcript.Call{Name: call.Name, Args: call.Args, Began: c.now()}}
	r.entry = c.script.Add(r.Call, t.last == nil || t.answer != nil || t.thought != nil)
	t.answer, t.thought = nil, nil
	t.calls[call.ID], t.last = r, r
}

// ended shows how a call ended.
func (c *chat) ended(end protocol.CallEnd) tea.Cmd {
	c.called(end.Call) // in case nobody told that it was made
	r := c.turn.calls[end.Call.ID]
	r.Result, r.Waiting = end.Result, ""
	if r.Result == nil {
		r.Result = &tool.Result{Status: tool.Failure, Summary: "the kernel did not say how it ended"}
	}
	r.Took = c.now().Sub(r.Began)
	r.entry.Touch()
	c.approvals.drop(func(q *approvalItem) bool { return q.Call.ID == end.Call.ID || q.Call.Parent == end.Call.ID })
	if remembers(end.Call) {
		return c.remembered()
	}
	return nil
}

// written takes note of what was written down. What a turn tells beside it is
// passed over.
func (c *chat) written(e protocol.HistoryEvent) {
	t := c.turn
	switch e.Type {
	case protocol.EventAssistant:
		if words := e.Message.Text(); !t.streams && words != "" {
			a := transcript.NewAnswer(c.script, c.looks)
			a.Write(words)
			t.answer = a
		}
		if e.Usage != nil {
			c.meter.count(*e.Usage)
		}
		t.streams = false
		if t.answer != nil && len(e.Message.Calls()) == 0 {
			t.answer = nil
			t.last = nil // what is called next stands apart
		}
	case protocol.EventNote:
		c.note(e.Message.Text())
	case protocol.EventCompacted:
		c.note("what was said before now stands in a summary")
	}
}

// turnEnded says how a turn ended, when that is worth saying.
func (c *chat) turnEnded(end protocol.TurnEnd) {
	c.turn.ended = true
	c.meter.set(end.Info)
	c.conv.About.Info = end.Info
	switch end.Reason {
	case protocol.EndDone:
	case protocol.EndCancelled:
		c.note("stopped")
	default:
		c.bad("the turn ended early (" + string(end.Reason) + "): " + end.Error)
	}
}

// updateDurations shows how long the calls under way have taken.
func (c *chat) updateDurations() {
	for _, r := range c.turn.calls {
		if r.Result == nil {
			r.Took = c.now().Sub(r.Began)
			r.entry.Touch()
		}
	}
}
