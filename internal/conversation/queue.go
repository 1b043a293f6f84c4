package conversation

import (
	"context"
	"sync"

	"callgate/internal/conversation/history"
	"callgate/llm"
)

// Queue has the turn that runs tell its model what the user says meanwhile: with
// the next request. It returns the message as it waits, or nil if no turn runs: then
// it is for Send. A turn that is stopped gives back what it has not taken (see
// history.End), and one that is resumed takes what it had not. Words that begin a skill
// are for Send, when the turn has ended.
func (c *Conversation) Queue(ctx context.Context, message llm.Message) (*history.QueuedMessage, error) {
	if !c.turn.started(ctx) {
		return nil, nil
	}
	if err := c.takes(message); err != nil {
		return nil, err
	}
	if c.skills != nil {
		if waits, err := c.skills.Waits(ctx, c.session, message.Text()); waits || err != nil {
			return nil, err
		}
	}
	c.mu.RLock()
	loop := c.loop
	c.mu.RUnlock()
	if err := c.hooks.Said(ctx, message.Text()); err != nil {
		return nil, err
	}
	return loop.Queue(ctx, message)
}

// Unqueue takes back the last message that waits; nil if none does.
func (c *Conversation) Unqueue(ctx context.Context) (*history.QueuedMessage, error) {
	return c.log.Unqueue(ctx)
}

// Queued returns the messages that wait, oldest first.
func (c *Conversation) Queued() (waiting []history.QueuedMessage) {
	c.log.View(func(s *history.State) { waiting = s.Queued() })
	return waiting
}

// started reports whether a turn runs whose message is in the history. It waits for
// the message of a turn that has just begun.
func (t *turn) started(ctx context.Context) bool {
	t.mu.Lock()
	written := t.written
	t.mu.Unlock()
	if written == nil {
		return false
	}
	select {
	case <-written.done:
	case <-ctx.Done():
		return false
	}
	return t.running()
}

// signal is a channel that is closed once.
type signal struct {
	once sync.Once
	done chan struct{}
}

func newSignal() *signal { return &signal{done: make(chan struct{})} }

func (s *signal) give() { s.once.Do(func() { close(s.done) }) }

// onFirstEvent has the turn count as started with its first event.
func (t *turn) onFirstEvent(w Watch) Watch {
	report := w.Event
	w.Event = func(e history.Event) {
		t.mu.Lock()
		written := t.written
		t.mu.Unlock()
		written.give()
		if report != nil {
			report(e)
		}
	}
	return w
}
