package conversation

import (
	"context"

	"callgate/internal/conversation/history"
)

// Between does something with the history of a conversation while none of its turns runs,
// whether it is open or not. A turn that runs is a Conflict, and one that would begin
// meanwhile is refused.
func (m *Manager) Between(ctx context.Context, id string, do func(context.Context, *history.Log) error) error {
	defer m.opening.Lock(id)()
	c, err := m.Get(id)
	if err != nil {
		log, err := history.Open(ctx, m.Store, id)
		if err != nil {
			return err
		}
		return do(ctx, log)
	}
	ctx, release, ended := c.session.Enter(ctx)
	if ended != nil {
		return ended
	}
	defer release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.turn.begin(ctx, cancel, Watch{}) != nil {
		return runningError(id)
	}
	defer func() {
		c.turn.end()
		c.debts.Bell.Ring() // what would have begun a turn meanwhile
	}()
	return do(ctx, c.log)
}
