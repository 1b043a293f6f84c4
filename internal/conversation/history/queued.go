package history

import (
	"context"
	"slices"

	"callgate/llm"
	"callgate/tool"
)

// QueuedMessage is what the user said while a turn ran and the model has not been
// told.
type QueuedMessage struct {
	ID      int64 // the Seq of its event
	Message llm.Message
}

// maxQueued bounds the messages that wait.
const maxQueued = 64

// Queued returns the messages that wait, oldest first.
func (s *State) Queued() []QueuedMessage { return slices.Clone(s.queued) }

// unqueue removes a message that no longer waits.
func (s *State) unqueue(id int64) {
	s.queued = slices.DeleteFunc(slices.Clone(s.queued), func(q QueuedMessage) bool { return q.ID == id })
}

// Taken returns the events by which a turn takes the messages that wait.
func (s *State) Taken() []Event {
	var events []Event
	for _, q := range s.queued {
		events = append(events, Event{Type: User, Message: &q.Message, Queued: q.ID})
	}
	return events
}

// Queue writes a message for the turn that runs, and returns it. It returns nil if
// the last turn has ended: then nobody would take it.
func (l *Log) Queue(ctx context.Context, message llm.Message) (*QueuedMessage, error) {
	var full bool
	written, err := l.Update(ctx, func(s *State) []Event {
		if !s.Broken() { // a turn that runs has no end yet, or goes on after an interruption
			return nil
		}
		if full = len(s.queued) >= maxQueued; full {
			return nil
		}
		return []Event{{Type: Queued, Message: &message}}
	})
	switch {
	case err != nil:
		return nil, err
	case full:
		return nil, tool.Errorf("history.Queue", tool.Limited, "%d messages wait for the model already", maxQueued).
			WithHint("wait until it has read them, or stop the turn")
	case len(written) == 0:
		return nil, nil
	}
	return &QueuedMessage{ID: written[0].Seq, Message: message}, nil
}

// Unqueue gives the last message that waits back to the user, or nil if none
// waits.
func (l *Log) Unqueue(ctx context.Context) (*QueuedMessage, error) {
	var last QueuedMessage
	written, err := l.Update(ctx, func(s *State) []Event {
		if len(s.queued) == 0 {
			return nil
		}
		last = s.queued[len(s.queued)-1]
		return []Event{{Type: Returned, Queued: last.ID}}
	})
	if err != nil || len(written) == 0 {
		return nil, err
	}
	return &last, nil
}

// EndTurn writes the end of a turn, with the events before it, all or none. If
// messages of the user wait, a turn that is done does not end: only the events
// before its end are written, and EndTurn reports false. A turn that ends otherwise
// gives them back, except one that was interrupted: it takes them when it is
// resumed.
func (l *Log) EndTurn(ctx context.Context, end *End, before ...Event) (written []Event, ended bool, err error) {
	written, err = l.Update(ctx, func(s *State) []Event {
		events := slices.Clone(before)
		if ended = end.Reason != Done || len(s.queued) == 0; !ended {
			return events
		}
		if end.Reason != Interrupted {
			for _, q := range s.queued {
				events = append(events, Event{Type: Returned, Queued: q.ID})
				end.Returned = append(end.Returned, q)
			}
		}
		return append(events, Event{Type: TurnEnded, End: end})
	})
	return written, ended && err == nil, err
}
