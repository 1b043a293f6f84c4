package turnview

import (
	"strings"

	"callgate/internal/protocol"
	"callgate/internal/tui/transcript"
)

// scriptCall shows a call that a script makes below the script's own. One that comes
// before its script is kept until that is shown.
func (v *View) scriptCall(s protocol.ScriptCall) {
	call := v.Turn.scriptOf(s.Script)
	if call == nil {
		v.Turn.early = append(v.Turn.early, s)
		return
	}
	inner := innerOf(s)
	inner.Waits = s.Status == "" && v.Turn.waiting[s.Call]
	call.SetInner(inner)
	call.entry.Touch()
}

func innerOf(s protocol.ScriptCall) transcript.Inner {
	return transcript.Inner{
		ID: s.Call, Line: s.Line, Name: s.Name, Args: s.Args, Status: s.Status, Summary: s.Summary, Took: s.Took,
	}
}

// ranBy reports whether a script is a call, or was run in its place.
func ranBy(script, call string) bool { return script == call || strings.HasPrefix(script, call+".") }

// scriptOf is the call that is a script, or that has one run in its place.
func (t *Turn) scriptOf(script string) *runningCall {
	for id, call := range t.calls {
		if ranBy(script, id) {
			return call
		}
	}
	return nil
}

// showEarly shows the calls of scripts that came before those.
func (v *View) showEarly() {
	early := v.Turn.early
	v.Turn.early = nil
	for _, s := range early {
		v.scriptCall(s)
	}
}

// innerWaits shows that a call of a script waits for a human, or does no longer.
func (t *Turn) innerWaits(id string, waits bool) {
	t.waiting[id] = waits
	for _, call := range t.calls {
		if call.SetWaits(id, waits) {
			call.entry.Touch()
		}
	}
}
