package gate

import (
	"context"
	"fmt"

	"callgate/internal/gate/notice"
	"callgate/internal/journal"
)

// Who asked for a call in doubt learns of it with the next result, and that is put on record: it is told once, also if
// the kernel ends before the asker comes back.

// maxNotices is the most doubts that one result tells in words; the rest are counted.
const maxNotices = 5

// Notify adds a warning to the next result of a principal.
func (g *Gate) Notify(n notice.Notice) { g.doubts.Add(n) }

// ExpectNotices makes results wait a moment for notices on their way. What it returns says that they are there.
func (g *Gate) ExpectNotices() (loaded func()) { return g.doubts.Expect() }

// tellDoubts adds the notices for the caller to the result, if the caller reads it: nobody reads that of a setup step,
// or of a call whose caller has gone.
func tellDoubts(ctx context.Context, board *notice.Board, c *callState) {
	if c.how.background || c.call.Principal.Daemon || ctx.Err() != nil {
		return
	}
	notices := board.Take(ctx, c.call.Principal, c.caller.place.Workspace)
	c.how.told = notices
	for i, n := range notices {
		if i == maxNotices {
			c.result.Warnings = append(c.result.Warnings, fmt.Sprintf(
				"and %d more earlier calls of yours are in doubt: callgate log doubts lists them", len(notices)-i))
			return
		}
		c.result.Warnings = append(c.result.Warnings, n.Text)
	}
}

// recordTold puts on record of which doubts the caller was told with this result. One that is lost is told again.
func (w *recorder) recordTold(_ context.Context, c *callState) error {
	for _, n := range c.how.told {
		if n.Doubt == nil {
			continue
		}
		r := n.Doubt.About(journal.Told)
		r.Note = "told with the result of call " + c.call.ID
		_ = w.journal.Append(r)
	}
	return nil
}
