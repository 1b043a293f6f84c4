package turnview

import (
	"strings"

	"callgate/internal/amount"
	"callgate/internal/protocol"
	"callgate/internal/tui/attach"
	"callgate/internal/tui/transcript"
	"callgate/tool"
)

// ShowHistory shows the events of earlier turns, and returns what the user said
// in them.
func (v *View) ShowHistory(h protocol.History) (said []string) {
	calls := map[string]*transcript.Call{} // by the model's ID
	apart := true                          // an empty line stands before the next call
	var answer *transcript.Answer          // it goes on with the next one; nil: none does
	for _, e := range h.Log {
		switch e.Type {
		case protocol.EventUser:
			v.showUser(e)
			words, _ := attach.Split(e.Message.Text())
			said, apart = append(said, strings.TrimSpace(words)), true
		case protocol.EventAssistant:
			if text := e.Message.Text(); strings.TrimSpace(text) != "" {
				if answer == nil {
					answer = v.NewAnswer()
				}
				answer.Write(text)
				apart = true
			}
			if text := e.Cut.Text(); text != "" {
				v.Note(text)
			}
			if !e.Cut.GoesOn() {
				answer = nil
			}
			if e.Usage != nil {
				v.Meter.Context = e.Usage.Input + e.Usage.Output
			}
		case protocol.EventCallMade:
			call := &transcript.Call{Name: e.Call.Name, Args: e.Call.Args, Began: e.At}
			call.Result = &tool.Result{Status: tool.Failure, Summary: "the turn was broken off before this call ended"}
			for _, s := range h.Scripts {
				if ranBy(s.Script, e.Call.ID) {
					call.SetInner(innerOf(s))
				}
			}
			v.Script.Add(call, apart)
			calls[e.Call.Model], apart = call, false
		case protocol.EventCallEnded:
			if call := calls[e.Call.Model]; call != nil {
				call.Result = &tool.Result{Status: e.Result.Status, Summary: e.Result.Summary, Content: e.Result.Content}
				call.Took = e.Result.Took
			}
		case protocol.EventNote:
			if e.Told == nil {
				v.showNote(e)
			}
		case protocol.EventAppMode:
			v.Note("from here on the app's mode is " + e.AppMode)
		case protocol.EventCompacted:
			v.Note(protocol.CompactionText(e.Compaction))
		case protocol.EventRewound:
			v.Note(e.Rewind.Text())
		case protocol.EventTurnEnded:
			if e.End.Reason != protocol.EndDone {
				v.Note(strings.TrimSpace("the turn ended early: " + string(e.End.Reason) + " " + e.End.Error))
			}
		}
	}
	return said
}

// showUser shows a message of the user, and what was attached to it by its name. Words
// that are not the user's say whose they are.
func (v *View) showUser(said protocol.HistoryEvent) *transcript.Entry {
	m := said.Message
	words, attached := attach.Split(m.Text())
	if said.By != "" {
		v.Note(said.By + ":")
	}
	for _, p := range m.Parts {
		if p.Image != nil {
			attached = append(attached, "a picture ("+amount.Bytes(len(p.Image.Data))+")")
		}
	}
	e := v.Script.Add(transcript.UserText(words), true)
	for _, name := range attached {
		v.Script.Add(transcript.Note{Text: "attached " + name}, false)
	}
	return e
}

// showNote shows what the kernel told the model: what is long stands behind its first line.
func (v *View) showNote(e protocol.HistoryEvent) {
	line, rest := protocol.NoteText(e)
	if rest == "" {
		v.Note(line)
		return
	}
	v.Script.Add(&transcript.Collapsible{Head: line, Text: rest}, true)
}
