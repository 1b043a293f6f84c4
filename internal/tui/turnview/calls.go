package turnview

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/statusbar"
	"callgate/internal/tui/transcript"
	"callgate/tool"
)

// TickInterval is how often a running turn is looked at. A call that runs for
// longer than lockDelay may wait for a lock, so the kernel is asked.
const (
	TickInterval = 250 * time.Millisecond
	lockDelay    = 400 * time.Millisecond
)

// Tick says that the tick interval has passed in a turn.
type Tick struct{ Turn *Turn }

// Tick says when the tick interval has passed.
func (t *Turn) Tick() tea.Cmd {
	return tea.Tick(TickInterval, func(time.Time) tea.Msg { return Tick{t} })
}

// openCalls counts the calls under way.
func (t *Turn) openCalls() int {
	n := 0
	for _, call := range t.calls {
		if call.Result == nil {
			n++
		}
	}
	return n
}

// Status is what the status bar says of the turn; nil: there is none.
func (t *Turn) Status() *statusbar.Turn {
	if t == nil {
		return nil
	}
	return &statusbar.Turn{Began: t.began, Stopping: t.Stopping, Calls: t.openCalls(), Again: t.again, Usage: t.usage}
}

// startCall shows a call.
func (v *View) startCall(c protocol.AgentCall) {
	t := v.Turn
	if t.calls[c.ID] != nil {
		return
	}
	v.Meter.Calls++
	call := &runningCall{Call: &transcript.Call{Name: c.Name, Args: c.Args, Began: v.Now()}}
	call.entry = v.Script.Add(call.Call, t.last == nil || t.answer != nil || t.thought != nil)
	t.answer, t.thought = nil, nil
	t.calls[c.ID], t.last = call, call
	v.showEarly()
}

// showOutput shows what a call printed. Output of an unknown call is shown at the
// last one, which made it.
func (v *View) showOutput(out protocol.Output) {
	call := v.Turn.calls[out.Call]
	if call == nil {
		call = v.Turn.last
	}
	if call != nil {
		call.AddOutput(out.Display())
		call.entry.Touch()
	}
}

// endCall shows how a call ended.
func (v *View) endCall(end protocol.CallEnd) {
	v.startCall(end.Call) // in case no event said that it began
	call := v.Turn.calls[end.Call.ID]
	call.Result, call.Waiting = end.Result, ""
	if call.Result == nil {
		call.Result = &tool.Result{Status: tool.Failure, Summary: "the kernel did not say how it ended"}
	}
	call.Took = call.took(v.Now())
	call.entry.Touch()
	v.Post(CallEnded{end.Call})
}

// took is how long a call has taken, without the time for which a human was asked.
func (c *runningCall) took(now time.Time) time.Duration {
	if !c.asked.IsZero() {
		now = c.asked
	}
	return now.Sub(c.Began)
}

// UpdateDurations shows how long the calls under way have taken.
func (v *View) UpdateDurations() {
	for _, call := range v.Turn.calls {
		if call.Result == nil {
			call.Took = call.took(v.Now())
			call.entry.Touch()
		}
	}
}

// Locks brings the kernel's locks.
type Locks struct {
	locks protocol.Locks
	err   error
}

// AskLocks asks for the kernel's locks if a call has run for a while and nobody
// has asked yet.
func (v *View) AskLocks(ctx context.Context, locks func(context.Context) (protocol.Locks, error)) tea.Cmd {
	if v.asking || !v.Turn.waitsLong() {
		return nil
	}
	v.asking = true
	return func() tea.Msg {
		l, err := locks(ctx)
		return Locks{l, err}
	}
}

// waitsLong reports whether a call has run for longer than lockDelay.
func (t *Turn) waitsLong() bool {
	for _, call := range t.calls {
		if call.Result == nil && call.Took > lockDelay {
			return true
		}
	}
	return false
}

// ShowLocks shows which lock each call waits for. A call for which asked reports
// true waits for a human, and says so already.
func (v *View) ShowLocks(m Locks, asked func(call string) bool) {
	v.asking = false
	if m.err != nil || v.Turn == nil {
		return
	}
	waits := map[string]string{}
	for _, w := range m.locks.Waiting {
		if waits[w.Holder.Call] == "" {
			waits[w.Holder.Call] = "waits for " + w.Resource + ", held by " + w.Behind.Holder.String()
		}
	}
	for id, call := range v.Turn.calls {
		if call.Result != nil || asked(id) || call.Waiting == waits[id] {
			continue
		}
		call.Waiting = waits[id]
		call.entry.Touch()
	}
}

// NewestCall is the ID of the call that began last of those that run; "": none does.
func (t *Turn) NewestCall() (newest string) {
	for id, call := range t.calls {
		if call.Result == nil && call.asked.IsZero() &&
			(newest == "" || !call.Began.Before(t.calls[newest].Began)) {
			newest = id
		}
	}
	return newest
}
