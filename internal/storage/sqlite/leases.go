package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"callgate/internal/task"
)

// update runs a statement that changes the task a holder holds, in a transaction of its
// own; otherwise is what to do where it changes none.
func (s *taskStore) update(
	ctx context.Context, transact transactFunc, query string, args []any, otherwise func(*sql.Tx) error,
) error {
	if err := s.db.refuses(); err != nil {
		return err
	}
	prepared, err := s.statements.prepare(ctx, query)
	if err != nil {
		return err
	}
	return transact(ctx, func(tx *sql.Tx) error {
		done, err := tx.StmtContext(ctx, prepared).ExecContext(ctx, args...)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return otherwise(tx)
	})
}

// transactFunc is DB.transact, or DB.transactNoSync.
type transactFunc func(context.Context, func(*sql.Tx) error) error

// Save keeps the data of a task for its holder.
func (s *taskStore) Save(ctx context.Context, id string, fence uint64, data json.RawMessage) error {
	if err := task.CheckData(id, data); err != nil {
		return err
	}
	const query = "UPDATE tasks SET data = ? WHERE id = ? AND fence = ? AND state = 'running'"
	args := []any{nullable(data), id, int64(fence)}
	return convertError("sqlite.Save", s.update(ctx, s.db.transactNoSync, query, args, func(tx *sql.Tx) error {
		return notHeld(ctx, tx, id, fence)
	}))
}

// Again queues a task for its next run. Watches and schedules do little else, so what is
// not to be cancelled takes one statement.
func (s *taskStore) Again(ctx context.Context, id string, fence uint64, at time.Time, data json.RawMessage) error {
	if err := task.CheckData(id, data); err != nil {
		return err
	}
	if at.IsZero() {
		at = time.Now()
	}
	const query = "UPDATE tasks SET state = 'queued', run_at = ?, due = ?, holder = '', lease_until = 0, attempt = 0, " +
		"progress = '', data = coalesce(?, data) WHERE id = ? AND fence = ? AND state = 'running' AND cancelled_by = ''"
	args := []any{at.UnixNano(), at.UnixNano(), nullable(data), id, int64(fence)}
	return convertError("sqlite.Again", s.update(ctx, s.db.transactNoSync, query, args, func(tx *sql.Tx) error {
		t, err := heldTask(ctx, tx, id, fence)
		if err != nil {
			return err
		}
		return queueTask(ctx, tx, t, at)
	}))
}

// Release queues a task as if it had not been leased.
func (s *taskStore) Release(ctx context.Context, id string, fence uint64) error {
	return convertError("sqlite.Release", s.db.transact(ctx, func(tx *sql.Tx) error {
		t, err := heldTask(ctx, tx, id, fence)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE tasks SET attempt = attempt - 1 WHERE id = ?", id); err != nil {
			return err
		}
		return queueTask(ctx, tx, t, t.RunAt)
	}))
}

// Retry queues a task again for its holder.
func (s *taskStore) Retry(ctx context.Context, id string, fence uint64, at time.Time, why string) error {
	return convertError("sqlite.Retry", s.db.transact(ctx, func(tx *sql.Tx) error {
		t, err := heldTask(ctx, tx, id, fence)
		switch {
		case err != nil:
			return err
		case t.CancelledBy == "" && t.MaxAttempts > 0 && t.Attempt >= t.MaxAttempts:
			return endTask(ctx, tx, id, task.Exhausted(t.Attempt, why), time.Now().UnixNano())
		}
		if _, err := tx.ExecContext(ctx, "UPDATE tasks SET progress = ? WHERE id = ?", why, id); err != nil {
			return err
		}
		return queueTask(ctx, tx, t, at)
	}))
}

// queueTask gives a held task back, to be run at a time (the zero time: now). One that
// was to be cancelled is.
func queueTask(ctx context.Context, tx *sql.Tx, t task.Task, at time.Time) error {
	now := time.Now()
	if t.CancelledBy != "" {
		return endTask(ctx, tx, t.ID, task.CancelledOutcome(t.CancelledBy), now.UnixNano())
	}
	if at.IsZero() {
		at = now
	}
	const update = "UPDATE tasks SET state = 'queued', run_at = ?, due = ?, holder = '', lease_until = 0 WHERE id = ?"
	_, err := tx.ExecContext(ctx, update, at.UnixNano(), at.UnixNano(), t.ID)
	return err
}

// End ends a task for its holder.
func (s *taskStore) End(ctx context.Context, id string, fence uint64, o task.Outcome) error {
	const op = "sqlite.End"
	if err := task.CheckOutcome(id, o); err != nil {
		return err
	}
	outcome, err := json.Marshal(o)
	if err != nil {
		return unwritable(op, id, err)
	}
	const query = endUpdate + " AND fence = ? AND state = 'running'"
	args := []any{string(o.State), outcome, time.Now().UnixNano(), id, int64(fence)}
	return convertError(op, s.update(ctx, s.db.transact, query, args, func(tx *sql.Tx) error {
		return notHeld(ctx, tx, id, fence)
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

// Append adds an entry to a task's log, and removes those that are too many.
func (s *taskStore) Append(ctx context.Context, id string, e task.Entry, keep int) error {
	const op = "sqlite.Append"
	if err := task.CheckData(id, e.Data); err != nil {
		return err
	}
	if e.At.IsZero() {
		e.At = time.Now()
	}
	const (
		insert = "INSERT INTO task_logs (task, seq, at, text, data) SELECT num, " +
			"1 + coalesce((SELECT max(seq) FROM task_logs WHERE task = num), 0), ?, ?, ? FROM tasks WHERE id = ? " +
			"RETURNING task, seq"
		remove = "DELETE FROM task_logs WHERE task = ? AND seq <= ?"
	)
	if err := s.db.refuses(); err != nil {
		return err
	}
	inserting, err := s.statements.prepare(ctx, insert)
	if err != nil {
		return convertError(op, err)
	}
	removing, err := s.statements.prepare(ctx, remove)
	if err != nil {
		return convertError(op, err)
	}
	return convertError(op, s.db.transactNoSync(ctx, func(tx *sql.Tx) error {
		var num, seq int64
		row := tx.StmtContext(ctx, inserting).QueryRowContext(ctx, e.At.UnixNano(), e.Text, nullable(e.Data), id)
		switch err := row.Scan(&num, &seq); {
		case errors.Is(err, sql.ErrNoRows):
			return task.NotFound(id)
		case err != nil:
			return err
		}
		_, err := tx.StmtContext(ctx, removing).ExecContext(ctx, num, seq-int64(max(keep, 1)))
		return err
	}))
}

// Entries reads the end of a task's log.
func (s *taskStore) Entries(ctx context.Context, id string, n int) ([]task.Entry, error) {
	const op = "sqlite.Entries"
	var num int64
	err := s.db.read.QueryRowContext(ctx, "SELECT num FROM tasks WHERE id = ?", id).Scan(&num)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, task.NotFound(id)
	}
	if err != nil {
		return nil, convertError(op, err)
	}
	if n <= 0 {
		n = -1 // all
	}
	rows, err := s.db.read.QueryContext(ctx, "SELECT at, text, data FROM "+
		"(SELECT * FROM task_logs WHERE task = ? ORDER BY seq DESC LIMIT ?) ORDER BY seq", num, n)
	if err != nil {
		return nil, convertError(op, err)
	}
	defer rows.Close()
	var all []task.Entry
	for rows.Next() {
		var e task.Entry
		var at int64
		var data []byte
		if err := rows.Scan(&at, &e.Text, &data); err != nil {
			return nil, convertError(op, err)
		}
		e.At, e.Data = fromNanos(at), nullable(data)
		all = append(all, e)
	}
	return all, convertError(op, rows.Err())
}
