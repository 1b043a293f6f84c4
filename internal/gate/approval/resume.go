package approval

import "context"

// Resume waits for the answers to requests that another process left pending, and whose place this one has taken. Those
// whose deadline has passed meanwhile expire now.
func (q *Queue) Resume(ctx context.Context, ids ...string) error {
	for _, id := range ids {
		r, err := q.store.Get(ctx, id)
		if err != nil {
			return err
		}
		if r.State == Pending {
			q.scheduleExpiry(r)
		}
	}
	return nil
}
