package conversation

import (
	"context"

	"callgate/internal/conversation/fitting"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
)

// KeepsRunning reports whether a turn goes on when its client is gone.
func (c *Conversation) KeepsRunning() bool { return c.keeps }

// Abandon says that the client of the turn that runs is gone. If the conversation keeps
// running, so does the turn; otherwise it is interrupted, by its caller.
func (c *Conversation) Abandon() {
	c.turn.mu.Lock()
	defer c.turn.mu.Unlock()
	c.turn.left = c.turn.cancel != nil
}

// Leave ends the session of a conversation whose client is gone, after its turn. Its
// tasks go on, and whoever opens it again has them.
func (c *Conversation) Leave() { c.session.Close() }

// abandoned reports whether a turn runs whose client is gone.
func (t *turn) abandoned() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left
}

// stopIfUnanswered ends an abandoned turn one of whose questions nobody answered in
// time: its model would go on without what it asked for, and nobody would see it.
func (t *turn) stopIfUnanswered(ctx context.Context, approvals fitting.Approvals) {
	t.mu.Lock()
	cancel, left, questions := t.cancel, t.left, t.questions
	t.questions = nil
	t.mu.Unlock()
	if !left || cancel == nil {
		return
	}
	for _, id := range questions {
		if r, err := approvals.Get(ctx, id); err == nil && r.State == approval.Expired {
			cancel(history.Unanswered)
			return
		}
	}
}
