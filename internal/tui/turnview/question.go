package turnview

import "callgate/internal/protocol"

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
