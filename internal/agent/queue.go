package agent

import (
	"context"
	"slices"

	"callgate/internal/conversation/history"
	"callgate/llm"
)

// Queue has the turn that runs tell its model what the user says meanwhile. It
// returns the message as it waits in the history, or nil if the turn has ended. How
// it goes on from there is a law of the history.
func (l *Loop) Queue(ctx context.Context, message llm.Message) (*history.QueuedMessage, error) {
	message, err := l.filterInput(message)
	if err != nil {
		return nil, err
	}
	return l.cfg.Log.Queue(ctx, message)
}

// filterInput returns a message of the user as the app's filter leaves it.
func (l *Loop) filterInput(message llm.Message) (llm.Message, error) {
	message.Role = llm.User
	if l.cfg.Input == nil {
		return message, nil
	}
	message.Parts = slices.Clone(message.Parts)
	for i, p := range message.Parts {
		if p.Text == "" {
			continue
		}
		text, err := l.cfg.Input(p.Text)
		if err != nil {
			return message, err
		}
		message.Parts[i].Text = text
	}
	return message, nil
}

// takeQueued takes what the user said since the last request.
func (t *turn) takeQueued(ctx context.Context) error {
	return t.update(ctx, (*history.State).Taken)
}

// writeEnd writes the end of the turn, and reports whether it has ended: a turn that
// is done goes on if the user has said something.
func (t *turn) writeEnd(ctx context.Context, end *history.End) (ended bool, err error) {
	written, ended, err := t.cfg.Log.EndTurn(ctx, end, t.last...)
	if err == nil {
		t.last = nil
		t.report(written)
	}
	return ended, err
}

// update writes the events that fit the state of the history, and reports them.
func (t *turn) update(ctx context.Context, events func(*history.State) []history.Event) error {
	written, err := t.cfg.Log.Update(ctx, events)
	if err != nil {
		return err
	}
	t.report(written)
	return nil
}

// report tells the observer of events that were written.
func (t *turn) report(events []history.Event) {
	if t.observer.Event == nil {
		return
	}
	for _, e := range events {
		t.observer.Event(e)
	}
}
