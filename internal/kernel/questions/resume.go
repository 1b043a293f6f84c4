package questions

import (
	"context"

	"callgate/tool"
)

// Resume waits for the answers to questions that another process left, and whose place this one has taken.
func (q *Queue) Resume(ctx context.Context, ids ...string) error {
	for _, id := range ids {
		switch r, err := q.Get(ctx, id); {
		case tool.KindOf(err) == tool.NotFound:
		case err != nil:
			return err
		case r.State == Pending:
			q.schedule(r)
		}
	}
	return nil
}
