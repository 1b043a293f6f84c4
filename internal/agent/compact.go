package agent

import (
	"context"

	"callgate/internal/conversation/history"
)

// compactIfNeeded compacts the conversation if it does not fit the model's window.
func (t *turn) compactIfNeeded(ctx context.Context) error {
	if t.cfg.Compact == nil {
		return nil
	}
	c, err := t.compact(ctx, t.cfg.Compact)
	if err != nil {
		return &errStop{history.End{Reason: history.Failed, Error: err.Error()}}
	}
	if c == nil {
		return nil
	}
	return t.writeCompaction(ctx, c)
}

// writeCompaction writes a compaction, and tells again what it left out.
func (t *turn) writeCompaction(ctx context.Context, c *history.Compaction) error {
	t.guard = loopGuard{} // what the model is no longer shown it may well ask for again
	if err := t.write(ctx, history.Event{Type: history.Compacted, Compaction: c}); err != nil {
		return err
	}
	return t.tellAgain(ctx)
}
