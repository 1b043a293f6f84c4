// Package waterfall draws the calls of a turn in time: what each waited, and what it ran.
package waterfall

import (
	"time"

	"callgate/internal/protocol"
	"callgate/tool"
)

// Bar is a call: what it waited, and what it ran.
type Bar struct {
	Name, Call   string
	X, Wait, Run int
	Top          int
	Failed       bool
	Took         time.Duration
}

// The size of the waterfall.
const (
	width = 520
	most  = 40
)

// Bars draws the calls of the last turn that made some.
func Bars(log []protocol.HistoryEvent) (bars []Bar) {
	type span struct {
		call     *protocol.AgentCall
		from, to time.Time
		result   *protocol.HistoryResult
	}
	var spans []*span
	by, fresh := map[string]*span{}, true
	for _, e := range log {
		switch {
		case e.Type == protocol.EventUser:
			fresh = true
		case e.Type == protocol.EventCallMade:
			if fresh {
				spans, fresh = nil, false
			}
			one := &span{call: e.Call, from: e.At, to: e.At}
			by[e.Call.Model], spans = one, append(spans, one)
		case e.Type == protocol.EventCallEnded && by[e.Call.Model] != nil:
			by[e.Call.Model].to, by[e.Call.Model].result = e.At, e.Result
		}
	}
	spans = spans[max(0, len(spans)-most):]
	if len(spans) == 0 {
		return nil
	}
	first, last := spans[0].from, spans[0].to
	for _, s := range spans {
		if s.to.After(last) {
			last = s.to
		}
	}
	whole := max(last.Sub(first), time.Millisecond)
	scale := func(d time.Duration) int { return int(int64(d) * width / int64(whole)) }
	for i, s := range spans {
		b := Bar{Name: s.call.Name, Call: s.call.ID, X: scale(s.from.Sub(first)), Top: 8 + i*22, Took: s.to.Sub(s.from)}
		b.Wait = scale(b.Took)
		if s.result != nil {
			b.Failed = s.result.Status != tool.Success
			b.Run = max(scale(min(s.result.Took, b.Took)), 2)
			b.Wait = max(b.Wait-b.Run, 0)
		}
		bars = append(bars, b)
	}
	return bars
}
