package turnview

import (
	"time"

	"callgate/internal/protocol"
	"callgate/internal/tui/approvals"
)

// questioned shows that the agent asks, and posts it if the human here may answer.
func (v *View) questioned(q protocol.Question) {
	pending := q.State == protocol.QuestionPending
	if call := v.Turn.calls[q.Call]; call != nil && pending {
		call.Waiting, call.asked = "waits for your answer", v.Now()
		call.entry.Touch()
	}
	if v.human || !pending {
		v.Post(Questioned{q})
		return
	}
	v.Note("the agent asks: " + q.Question.Text +
		"\nIt cannot be answered here; elsewhere: callgate questions answer " + q.ID)
}

// asked shows that a call waits for a human, and posts it if the human here may
// answer.
func (v *View) asked(a protocol.Approval) {
	if call := v.Turn.calls[a.Call.ID]; call != nil {
		call.Waiting, call.asked = "waits for a human", v.Now()
		call.entry.Touch()
	}
	v.Turn.innerWaits(a.Call.ID, true)
	if !v.human {
		v.Note(a.Call.Tool.Dotted() + " waits for a human: " + a.Reason +
			"\nIt cannot be answered here; elsewhere: callgate approvals approve " + a.ID)
		return
	}
	v.Post(Asked{a})
}

// Answered shows that a human let a call run, with the arguments that they gave it.
func (v *View) Answered(m approvals.Answered) {
	if v.Turn == nil {
		return
	}
	v.Turn.innerWaits(m.Call, false)
	if call := v.Turn.calls[m.Call]; call != nil {
		call.Waiting = ""
		if !call.asked.IsZero() { // what the human took is not the call's
			call.Began = call.Began.Add(v.Now().Sub(call.asked))
			call.asked = time.Time{}
		}
		if len(m.Args) > 0 {
			call.Args = m.Args
		}
		call.entry.Touch()
	}
}
