package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"callgate/internal/task"
	"callgate/tool"
)

// Lease first ends the tasks that were abandoned for good, and then gives out
// those that are due, in one transaction.
func (s *taskStore) Lease(ctx context.Context, r task.Request) (leased []task.Task, err error) {
	now := time.Now()
	until := now.Add(r.For).UnixNano()
	where, args := []string{"due <= ?"}, []any{now.UnixNano()}
	if r.ID != "" {
		where, args = append(where, "id = ?"), append(args, r.ID)
	}
	if len(r.Kinds) > 0 {
		where = append(where, "kind IN (?"+strings.Repeat(", ?", len(r.Kinds)-1)+")")
		for _, kind := range r.Kinds {
			args = append(args, kind)
		}
	}
	query := "UPDATE tasks SET state = 'running', fence = fence + 1, attempt = attempt + 1, " +
		"holder = ?, lease_until = ?, due = ?, started = CASE WHEN started = 0 THEN ? ELSE started END " +
		"WHERE num IN (SELECT num FROM tasks WHERE " + strings.Join(where, " AND ") + " ORDER BY run_at, num LIMIT ?) " +
		"RETURNING " + taskColumns
	args = append(append([]any{r.Holder, until, until, now.UnixNano()}, args...), max(r.N, 1))
	err = s.db.transact(ctx, func(tx *sql.Tx) error {
		if r.Own {
			if err := releaseOwn(ctx, tx, r, now.UnixNano()); err != nil {
				return err
			}
		}
		if err := endAbandoned(ctx, tx, now.UnixNano()); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		leased, err = scanTasks(rows)
		return err
	})
	if err != nil {
		return nil, convertError("sqlite.Lease", err)
	}
	// The database returns what it updated in no order.
	slices.SortStableFunc(leased, func(a, b task.Task) int {
		return cmp.Or(a.RunAt.Compare(b.RunAt), a.Times.Created.Compare(b.Times.Created))
	})
	return leased, nil
}

// releaseOwn ends the leases that are left of a holder's former process.
func releaseOwn(ctx context.Context, tx *sql.Tx, r task.Request, now int64) error {
	update := "UPDATE tasks SET due = ?, lease_until = ? WHERE holder = ? AND state = 'running' AND (? = '' OR id = ?)"
	args := []any{now, now, r.Holder, r.ID, r.ID}
	if len(r.Runs) > 0 {
		update += " AND id NOT IN (?" + strings.Repeat(", ?", len(r.Runs)-1) + ")"
		for _, id := range r.Runs {
			args = append(args, id)
		}
	}
	_, err := tx.ExecContext(ctx, update, args...)
	return err
}

// endAbandoned ends the tasks whose lease has ended and that are not to be run
// again.
func endAbandoned(ctx context.Context, tx *sql.Tx, now int64) error {
	rows, err := tx.QueryContext(ctx, "SELECT "+taskColumns+" FROM tasks WHERE due <= ? AND state = 'running' "+
		"AND (cancelled_by <> '' OR max_attempts > 0 AND attempt >= max_attempts)", now)
	if err != nil {
		return err
	}
	abandoned, err := scanTasks(rows)
	if err != nil {
		return err
	}
	for _, t := range abandoned {
		o := task.Exhausted(t.Attempt, "its holder was lost")
		if t.CancelledBy != "" {
			o = task.CancelledOutcome(t.CancelledBy)
		}
		if err := endTask(ctx, tx, t.ID, o, now); err != nil {
			return err
		}
	}
	return nil
}

// Renew does not wait for the disk: a renewal that a power cut undoes is one
// that its holder did not survive either.
func (s *taskStore) Renew(
	ctx context.Context, id string, fence uint64, d time.Duration, progress string,
) (cancelled bool, err error) {
	until := time.Now().Add(d).UnixNano()
	err = s.db.transactNoSync(ctx, func(tx *sql.Tx) error {
		var by string
		const update = "UPDATE tasks SET lease_until = ?, due = ?, progress = CASE WHEN ? = '' THEN progress ELSE ? END " +
			"WHERE id = ? AND fence = ? AND state = 'running' RETURNING cancelled_by"
		err := tx.QueryRowContext(ctx, update, until, until, progress, progress, id, int64(fence)).Scan(&by)
		if errors.Is(err, sql.ErrNoRows) {
			return notHeld(ctx, tx, id, fence)
		}
		cancelled = by != ""
		return err
	})
	return cancelled && err == nil, convertError("sqlite.Renew", err)
}

// End ends a task for its holder.
func (s *taskStore) End(ctx context.Context, id string, fence uint64, o task.Outcome) error {
	const op = "sqlite.End"
	if err := task.CheckOutcome(id, o); err != nil {
		return err
	}
	if _, err := json.Marshal(o); err != nil {
		return &tool.Error{
			Op: op, Kind: tool.Invalid, Message: "the outcome of the task " + id + " cannot be written", Err: err,
		}
	}
	return convertError(op, s.db.transact(ctx, func(tx *sql.Tx) error {
		if _, err := heldTask(ctx, tx, id, fence); err != nil {
			return err
		}
		return endTask(ctx, tx, id, o, time.Now().UnixNano())
	}))
}

// Retry queues a task again for its holder.
func (s *taskStore) Retry(ctx context.Context, id string, fence uint64, at time.Time, why string) error {
	return convertError("sqlite.Retry", s.db.transact(ctx, func(tx *sql.Tx) error {
		now := time.Now()
		t, err := heldTask(ctx, tx, id, fence)
		switch {
		case err != nil:
			return err
		case t.CancelledBy != "":
			return endTask(ctx, tx, id, task.CancelledOutcome(t.CancelledBy), now.UnixNano())
		case t.MaxAttempts > 0 && t.Attempt >= t.MaxAttempts:
			return endTask(ctx, tx, id, task.Exhausted(t.Attempt, why), now.UnixNano())
		case at.IsZero():
			at = now
		}
		const update = "UPDATE tasks SET state = 'queued', run_at = ?, due = ?, holder = '', lease_until = 0, progress = ? " +
			"WHERE id = ?"
		_, err = tx.ExecContext(ctx, update, at.UnixNano(), at.UnixNano(), why, id)
		return err
	}))
}

// heldTask returns a task that a holder runs under a fence.
func heldTask(ctx context.Context, tx *sql.Tx, id string, fence uint64) (task.Task, error) {
	const query = "SELECT " + taskColumns + " FROM tasks WHERE id = ? AND fence = ? AND state = 'running'"
	t, err := scanTask(tx.QueryRowContext(ctx, query, id, int64(fence)))
	if errors.Is(err, sql.ErrNoRows) {
		return t, notHeld(ctx, tx, id, fence)
	}
	return t, err
}

// notHeld says why a task is not held under a fence.
func notHeld(ctx context.Context, tx *sql.Tx, id string, fence uint64) error {
	var one int
	err := tx.QueryRowContext(ctx, "SELECT 1 FROM tasks WHERE id = ?", id).Scan(&one)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return task.NotFound(id)
	case err != nil:
		return err
	}
	return task.StaleFence(id, fence)
}

// Prune deletes tasks that nobody waits for.
func (s *taskStore) Prune(ctx context.Context, endedBefore time.Time) (int, error) {
	const op = "sqlite.Prune"
	if err := s.db.refuses(); err != nil {
		return 0, err
	}
	const remove = "DELETE FROM tasks WHERE ended > 0 AND ended < ? AND NOT (" + owed + ")"
	done, err := s.db.write.ExecContext(ctx, remove, endedBefore.UnixNano())
	if err != nil {
		return 0, convertError(op, err)
	}
	n, err := done.RowsAffected()
	return int(n), convertError(op, err)
}
