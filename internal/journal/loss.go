package journal

import (
	"context"
	"fmt"

	"callgate/tool"
)

// The law of a loss.
//
// An anchor that has seen records which the store does not have shows that records
// were lost, or that the store is another one. With Options.HoldLoss such a journal
// takes no record, so that nothing can happen that must be recorded, until a person
// has accepted the loss: what there is can be read. Nothing is written before that,
// so each start finds the same, and restoring the store ends it. The acceptance is a
// record of the new epoch, whose opening names the head that the anchor had seen.

// Held says why the journal takes no record: records were lost and nobody has accepted
// that yet, or Options.Hold. Nil: it takes them.
func (j *Journal) Held() error {
	j.queue.mu.Lock()
	defer j.queue.mu.Unlock()
	return j.queue.loss
}

// AcceptLoss lets the journal go on after a loss, and returns when note is on disk.
// If it cannot be written, the loss is not accepted.
func (j *Journal) AcceptLoss(ctx context.Context, note string) error {
	if j.opts.Hold != nil {
		return j.opts.Hold
	}
	loss := j.setLoss(nil)
	if loss == nil {
		return tool.Errorf("journal.AcceptLoss", tool.Conflict, "no loss of records waits to be accepted")
	}
	_, err := j.await(ctx, entry{rec: Record{Kind: Noted, Note: note}})
	if err != nil {
		j.setLoss(loss)
	}
	return err
}

func (j *Journal) setLoss(to error) (was error) {
	j.queue.mu.Lock()
	defer j.queue.mu.Unlock()
	was, j.queue.loss = j.queue.loss, to
	return was
}

func lossError(c *Truncation, anchorFile string) error {
	what := fmt.Sprintf("%s has seen record %d, and the database ends at record %d", anchorFile, c.Anchor, c.Head)
	if c.Anchor <= c.Head {
		what = fmt.Sprintf("record %d of the database is not the one that %s has seen", c.Anchor, anchorFile)
	}
	return tool.Errorf("journal.Open", tool.Unavailable,
		"records of the journal are missing: %s; no call runs until a person has seen to it", what).
		WithHint("restore callgate.db from a copy; if there is none, " +
			"callgate log accept-loss puts the loss on record and goes on")
}
