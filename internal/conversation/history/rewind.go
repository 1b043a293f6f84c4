package history

import (
	"slices"
	"strings"
	"time"

	"callgate/llm"
	"callgate/tool"
)

// Rewind takes a turn, and all that came after it, out of what a model is shown.
type Rewind struct {
	Before int64 `json:"before"` // the Seq of the event that began the turn
	Turn   int   `json:"turn"`   // its number
}

// turnStart is what a model was shown before a turn.
type turnStart struct {
	seq      int64
	messages []llm.Message
	origins  []Origin
	system   []Section
	told     map[string]string
}

// start is what a model is shown now. A message that is shown is not changed, so that
// the slices can be shared.
func (s *State) start(seq int64) turnStart {
	return turnStart{seq, slices.Clip(s.Messages), slices.Clip(s.Origins), s.System, s.told}
}

// rewind shows a model what it was shown before a turn. A turn that is not there, or was
// taken out already, changes nothing.
func (s *State) rewind(r Rewind) {
	at := slices.IndexFunc(s.starts, func(t turnStart) bool { return t.seq == r.Before })
	if at < 0 {
		return
	}
	t := s.starts[at]
	s.Messages, s.Origins, s.System, s.told = t.messages, t.origins, t.system, t.told
	s.starts, s.open = s.starts[:at], nil
	s.Last = &End{Reason: Done}
}

// Starts reports whether a turn that a model is shown began with an event.
func (s *State) Starts(seq int64) bool {
	return slices.ContainsFunc(s.starts, func(t turnStart) bool { return t.seq == seq })
}

// Rewound returns the events that take a turn and all that came after it out of what a
// model is shown. What waited to be said is given back.
func (s *State) Rewound(r Rewind) []Event {
	var events []Event
	for _, q := range s.queued {
		events = append(events, Event{Type: Returned, Queued: q.ID})
	}
	return append(events, Event{Type: Rewound, Rewind: &r})
}

// Turn is a turn of a conversation.
type Turn struct {
	Number int       // in the order in which they began, from 1
	Seq    int64     // of the event that began it
	At     time.Time // when that was
	Text   string    // what the user said, in one line
	Cut    bool      // a model is not shown it any more
}

// TurnsOf returns the turns of a conversation, also those that were taken out.
func TurnsOf(events []Event) []Turn {
	var turns []Turn
	for _, e := range events {
		switch {
		case e.Type == Woken:
			turns = append(turns, Turn{Number: len(turns) + 1, Seq: e.Seq, At: e.At, Text: "(it went on by itself)"})
		case e.Type == User && e.Queued == 0 && e.Message != nil:
			text := tool.TruncateTo(strings.Join(strings.Fields(e.Message.Text()), " "), 80)
			turns = append(turns, Turn{Number: len(turns) + 1, Seq: e.Seq, At: e.At, Text: text})
		case e.Type == Rewound && e.Rewind != nil:
			at := slices.IndexFunc(turns, func(t Turn) bool { return t.Seq == e.Rewind.Before && !t.Cut })
			for i := max(at, 0); at >= 0 && i < len(turns); i++ {
				turns[i].Cut = true
			}
		}
	}
	return turns
}
