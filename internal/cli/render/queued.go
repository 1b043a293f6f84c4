package render

import (
	"callgate/internal/cli/text"
	"callgate/internal/protocol"
)

// unsent writes what the user said during a turn and no model was told: what was given
// back, where it was, and what waits still, at the end.
type unsent struct {
	order []int64
	texts map[int64]string
}

// see writes what an event says of such messages.
func (u *unsent) see(p *page, e protocol.HistoryEvent) {
	switch {
	case e.Type == protocol.EventQueued:
		if u.texts == nil {
			u.texts = map[int64]string{}
		}
		u.order, u.texts[e.Seq] = append(u.order, e.Seq), text.Safe(e.Message.Text())
	case e.Type == protocol.EventReturned:
		p.printf("%s\n", p.Faint("> "+u.texts[e.Queued]+" (taken back: not sent)"))
		delete(u.texts, e.Queued)
	case e.Queued != 0:
		delete(u.texts, e.Queued)
	}
}

// end writes what waits still.
func (u *unsent) end(p *page) {
	for _, id := range u.order {
		if words, waits := u.texts[id]; waits {
			p.printf("%s\n", p.Faint("> "+words+" (waits: the turn takes it when it goes on)"))
		}
	}
}
