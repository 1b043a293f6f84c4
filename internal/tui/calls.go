package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/statusbar"
	"callgate/internal/tui/transcript"
	"callgate/tool"
)

// tickInterval is how often a running turn is looked at. A call that runs for
// longer than lockDelay may wait for a lock, so the kernel is asked.
const (
	tickInterval = 250 * time.Millisecond
	lockDelay    = 400 * time.Millisecond
)

// tickMsg says that the tick interval has passed in a turn.
type tickMsg struct{ turn *turn }

func (t *turn) tick() tea.Cmd {
	return tea.Tick(tickInterval, func(time.Time) tea.Msg { return tickMsg{t} })
}

// openCalls counts the calls under way.
func (t *turn) openCalls() int {
	n := 0
	for _, call := range t.calls {
		if call.Result == nil {
			n++
		}
	}
	return n
}

// status is what the status bar says of the turn; nil: there is none.
func (t *turn) status() *statusbar.Turn {
	if t == nil {
		return nil
	}
	return &statusbar.Turn{Began: t.began, Stopping: t.stopping, Calls: t.openCalls(), Again: t.again, Usage: t.usage}
}

// startCall shows a call.
func (v *turnView) startCall(c protocol.AgentCall) {
	t := v.turn
	if t.calls[c.ID] != nil {
		return
	}
	v.meter.Calls++
	call := &runningCall{Call: &transcript.Call{Name: c.Name, Args: c.Args, Began: v.now()}}
	call.entry = v.script.Add(call.Call, t.last == nil || t.answer != nil || t.thought != nil)
	t.answer, t.thought = nil, nil
	t.calls[c.ID], t.last = call, call
}

// showOutput shows what a call printed. Output of an unknown call is shown at the
// last one, which made it.
func (v *turnView) showOutput(out protocol.Output) {
	call := v.turn.calls[out.Call]
	if call == nil {
		call = v.turn.last
	}
	if call != nil {
		call.AddOutput(string(out.Text))
		call.entry.Touch()
	}
}

// endCall shows how a call ended.
func (v *turnView) endCall(end protocol.CallEnd) {
	v.startCall(end.Call) // in case no event said that it began
	call := v.turn.calls[end.Call.ID]
	call.Result, call.Waiting = end.Result, ""
	if call.Result == nil {
		call.Result = &tool.Result{Status: tool.Failure, Summary: "the kernel did not say how it ended"}
	}
	call.Took = call.took(v.now())
	call.entry.Touch()
	v.post(callEndedMsg{end.Call})
}

// took is how long a call has taken, without the time for which a human was asked.
func (c *runningCall) took(now time.Time) time.Duration {
	if !c.asked.IsZero() {
		now = c.asked
	}
	return now.Sub(c.Began)
}

// updateDurations shows how long the calls under way have taken.
func (v *turnView) updateDurations() {
	for _, call := range v.turn.calls {
		if call.Result == nil {
			call.Took = call.took(v.now())
			call.entry.Touch()
		}
	}
}

// locksMsg brings the kernel's locks.
type locksMsg struct {
	locks protocol.Locks
	err   error
}

// askLocks asks for the kernel's locks if a call has run for a while and nobody
// has asked yet.
func (v *turnView) askLocks(ctx context.Context, locks func(context.Context) (protocol.Locks, error)) tea.Cmd {
	if v.asking || !v.turn.waitsLong() {
		return nil
	}
	v.asking = true
	return func() tea.Msg {
		l, err := locks(ctx)
		return locksMsg{l, err}
	}
}

// waitsLong reports whether a call has run for longer than lockDelay.
func (t *turn) waitsLong() bool {
	for _, call := range t.calls {
		if call.Result == nil && call.Took > lockDelay {
			return true
		}
	}
	return false
}

// showLocks shows which lock each call waits for. A call for which asked reports
// true waits for a human, and says so already.
func (v *turnView) showLocks(m locksMsg, asked func(call string) bool) {
	v.asking = false
	if m.err != nil || v.turn == nil {
		return
	}
	waits := map[string]string{}
	for _, w := range m.locks.Waiting {
		if waits[w.Holder.Call] == "" {
			waits[w.Holder.Call] = "waits for " + w.Resource + ", held by " + w.Behind.Holder.String()
		}
	}
	for id, call := range v.turn.calls {
		if call.Result != nil || asked(id) || call.Waiting == waits[id] {
			continue
		}
		call.Waiting = waits[id]
		call.entry.Touch()
	}
}
