package agent

import (
	"context"
	"slices"

	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// # How a turn begins
//
// The user begins it with words (Turn), or somebody speaks in the user's place, who is
// named (Speak), or it begins by itself, because the model is to be told something
// (Wake). What the model is told first stands in the history, with what begins the
// turn, all or none: so a turn that was killed is resumed, and nothing is told twice.

// Words are what begins a turn.
type Words struct {
	Message llm.Message
	By      string // who says them; "": the user
	Task    string // what has them said, by which the history knows them; "": nothing
}

// Speak is Turn for words that need not be the user's.
func (l *Loop) Speak(ctx context.Context, w Words, observer Observer) (history.End, error) {
	t := l.turn(observer)
	message, err := l.filterInput(w.Message)
	if err != nil {
		return history.End{}, err
	}
	begins := history.Event{Type: history.User, Message: &message, By: w.By, Task: w.Task}
	notes, err := t.notes(&begins)
	if err != nil {
		return history.End{}, err
	}
	// What waited since an earlier turn, which was never resumed, comes first, and then
	// what the model must be told.
	err = t.update(ctx, func(s *history.State) []history.Event {
		return slices.Concat(s.Taken(), notes, []history.Event{begins})
	})
	if err != nil {
		return history.End{}, err
	}
	return t.run(ctx, t.loop)
}

// Wake runs a turn that begins with notices, which it tells the model. There must be
// some, and the last turn must have ended.
func (l *Loop) Wake(ctx context.Context, observer Observer) (history.End, error) {
	t := l.turn(observer)
	notices, err := l.cfg.Tasks.Notices(ctx)
	if err != nil {
		return history.End{}, err
	}
	begins := history.Event{Type: history.Woken}
	told, err := t.notes(&begins)
	if err != nil {
		return history.End{}, err
	}
	for _, n := range notices {
		told = append(told, n.event())
	}
	broken := false
	err = t.update(ctx, func(s *history.State) []history.Event {
		if broken = s.Broken(); broken {
			return nil
		}
		return slices.Concat([]history.Event{begins}, told)
	})
	switch {
	case err != nil:
		return history.End{}, err
	case broken:
		return history.End{}, tool.Errorf("agent.Wake", tool.Conflict, "the last turn has not ended").WithHint("resume it")
	}
	return t.run(ctx, func(ctx context.Context) (*history.End, error) {
		if err := l.cfg.Tasks.Noted(ctx, notices); err != nil {
			return &history.End{Reason: history.Failed, Error: err.Error()}, nil
		}
		return t.loop(ctx)
	})
}

// notes returns what the model must be told, as events.
func (t *turn) notes(user *history.Event) ([]history.Event, error) {
	if t.cfg.Notes == nil {
		return nil, nil
	}
	notes, err := t.cfg.Notes(user)
	if err != nil {
		return nil, err
	}
	var events []history.Event
	for _, n := range notes {
		m := kernelNote(n.Text)
		events = append(events, history.Event{Type: history.Note, Message: &m, Told: n.Told})
	}
	return events, nil
}

// tellAgain tells the model within a turn what it must know before its next request.
func (t *turn) tellAgain(ctx context.Context) error {
	notes, err := t.notes(nil)
	if err != nil {
		return &errStop{history.End{Reason: history.Failed, Error: err.Error()}}
	}
	return t.write(ctx, notes...)
}

// Spent says why no request may be made any more since the conversation was opened; "":
// some may.
func (l *Loop) Spent() string {
	if end := l.turn(Observer{}).costEnd(); end != nil {
		return end.Error
	}
	return ""
}
