package tui

import (
	"strings"

	"callgate/internal/protocol"
	"callgate/internal/tui/transcript"
	"callgate/tool"
)

// compactedNote says that the model reads a summary from here on.
const compactedNote = "what was said before now stands in a summary"

// showHistory shows the events of earlier turns, and returns what the user said
// in them.
func (v *turnView) showHistory(log []protocol.HistoryEvent) (said []string) {
	calls := map[string]*transcript.Call{} // by the model's ID
	apart := true                          // an empty line stands before the next call
	for _, e := range log {
		switch e.Type {
		case protocol.EventUser:
			text := e.Message.Text()
			v.script.Add(transcript.UserText(text), true)
			said, apart = append(said, strings.TrimSpace(text)), true
		case protocol.EventAssistant:
			if text := e.Message.Text(); strings.TrimSpace(text) != "" {
				v.newAnswer().Write(text)
				apart = true
			}
			if e.Usage != nil {
				v.meter.context = e.Usage.Input + e.Usage.Output
			}
		case protocol.EventCallMade:
			call := &transcript.Call{Name: e.Call.Name, Args: e.Call.Args, Began: e.At}
			call.Result = &tool.Result{Status: tool.Failure, Summary: "the turn was broken off before this call ended"}
			v.script.Add(call, apart)
			calls[e.Call.Model], apart = call, false
		case protocol.EventCallEnded:
			if call := calls[e.Call.Model]; call != nil {
				call.Result = &tool.Result{Status: e.Result.Status, Summary: e.Result.Summary, Content: e.Result.Content}
				call.Took = e.At.Sub(call.Began)
			}
		case protocol.EventNote:
			if e.Told == nil {
				v.note(e.Message.Text())
			}
		case protocol.EventCompacted:
			v.note(compactedNote)
		case protocol.EventTurnEnded:
			if e.End.Reason != protocol.EndDone {
				v.note(strings.TrimSpace("the turn ended early: " + string(e.End.Reason) + " " + e.End.Error))
			}
		}
	}
	return said
}
