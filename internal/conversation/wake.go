package conversation

import (
	"context"

	"callgate/internal/conversation/history"
	"callgate/internal/conversation/owed"
)

// Attend passes on that the conversation, in which no turn runs, should go on by itself:
// then the caller has it do so, with Wake. It says so at once if it should already, and
// returns when ctx or the conversation's session has ended, or news returns false.
//
// Only who attends wakes a conversation: the turn is that of a client, who sees it,
// answers what it asks and can stop it, as one that began with the user's words.
func (c *Conversation) Attend(ctx context.Context, news func(owed.News) bool) error {
	ring, stop := c.debts.Bell.Listen()
	defer stop()
	held := ""
	for {
		if !c.turn.running() {
			n, err := c.news(ctx)
			if err != nil {
				return err
			}
			if n.Owed > 0 && (n.Held == "" || n.Held != held) && !news(n) {
				return nil
			}
			held = n.Held
		}
		select {
		case <-ring:
		case <-c.over:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// news says whether the conversation should go on by itself.
func (c *Conversation) news(ctx context.Context) (owed.News, error) {
	c.mu.RLock()
	loop := c.loop
	c.mu.RUnlock()
	return c.debts.News(ctx, loop.Spent)
}

// Wake has the agent answer what the conversation is owed. It returns no reason if no turn
// was begun: nothing is owed, a turn runs, which tells it, or ctx ended before. What is
// owed stays owed then.
func (c *Conversation) Wake(ctx context.Context, w Watch) (history.End, error) {
	w = c.turn.onFirstEvent(w)
	w.alone = true
	if should, err := c.shouldWake(ctx); !should || err != nil {
		return history.End{}, err // without the look of a turn that runs
	}
	return c.run(ctx, w, func(ctx context.Context) (history.End, error) {
		should, err := c.shouldWake(ctx) // another turn may have told it
		if !should || err != nil {
			return history.End{}, err
		}
		end, err := c.hooks.Turn(ctx, "", w.Observer, c.loop.Wake)
		if end.Reason == "" && ctx.Err() != nil {
			return history.End{}, nil
		}
		return end, err
	})
}

// shouldWake reports whether the conversation should go on by itself: not for one who has left.
func (c *Conversation) shouldWake(ctx context.Context) (bool, error) {
	n, err := c.news(ctx)
	if ctx.Err() != nil {
		return false, nil
	}
	return n.Owed > 0 && n.Held == "", err
}
