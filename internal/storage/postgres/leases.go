package postgres

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/storage/postgres/riverjobs"
	"callgate/internal/task"
)

// update runs a statement that changes the task a holder holds; otherwise is what to do where it changes none. Its
// first argument is the node.
func (s *taskStore) update(
	ctx context.Context, statement string, args []any, otherwise func(context.Context, *pgnode.Tx) error,
) error {
	return s.db.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
		n, err := x.Exec(ctx, statement, append([]any{s.db.NodeID()}, args...)...)
		if err != nil || n > 0 {
			return err
		}
		return otherwise(ctx, x)
	})
}

// Save keeps the data of a task for its holder.
func (s *taskStore) Save(ctx context.Context, id string, fence uint64, data json.RawMessage) error {
	if err := task.CheckData(id, data); err != nil {
		return err
	}
	const statement = "UPDATE tasks SET data = $2, data_mac = $5 WHERE node = $1 AND id = $3 AND fence = $4 AND state = 'running'"
	args := []any{nullable(data), text(id), number(fence), s.signData(id, data)}
	err := s.update(ctx, statement, args, func(ctx context.Context, x *pgnode.Tx) error {
		return notHeld(ctx, x, id, fence)
	})
	return pgnode.ConvertError("postgres.Save", err)
}

// signData is the code of what a task keeps while it runs.
func (s *taskStore) signData(id string, data []byte) []byte {
	return s.db.Sign(pgnode.SignedTaskData(s.db.NodeID(), id, nullable(data)))
}

// Again queues a task for its next run. What is not to be cancelled takes one statement.
func (s *taskStore) Again(ctx context.Context, id string, fence uint64, at time.Time, data json.RawMessage) error {
	if err := task.CheckData(id, data); err != nil {
		return err
	}
	const statement = "UPDATE tasks SET state = 'queued', run_at = coalesce($2::bigint, " + now + "), " +
		"due = coalesce($2::bigint, " + now + "), holder = '', lease_until = 0, attempt = 0, progress = '', " +
		"data = coalesce($3, data), data_mac = CASE WHEN $3::bytea IS NULL THEN data_mac ELSE $6::bytea END, job = " + riverjobs.Next + " WHERE node = $1 AND id = $4 AND fence = $5 " +
		"AND state = 'running' AND cancelled_by = '' RETURNING " + riverjobs.Returned
	args := []any{s.db.NodeID(), nanos(at), nullable(data), text(id), number(fence), s.signData(id, data)}
	err := s.db.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
		wait, err := pgnode.QueryOneTx(ctx, x, riverjobs.ScanWait, statement, args...)
		if err == nil {
			return s.jobs.Insert(ctx, x, wait)
		}
		if !pgnode.Absent(err) {
			return err
		}
		t, err := heldTask(ctx, x, id, fence)
		if err != nil {
			return err
		}
		return s.queueTask(ctx, x, t, at)
	})
	return pgnode.ConvertError("postgres.Again", err)
}

// Release queues a task as if it had not been leased.
func (s *taskStore) Release(ctx context.Context, id string, fence uint64) error {
	return pgnode.ConvertError("postgres.Release", s.db.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
		t, err := heldTask(ctx, x, id, fence)
		if err != nil {
			return err
		}
		const back = "UPDATE tasks SET attempt = attempt - 1 WHERE node = $1 AND id = $2"
		if _, err := x.Exec(ctx, back, s.db.NodeID(), text(id)); err != nil {
			return err
		}
		return s.queueTask(ctx, x, t, t.RunAt)
	}))
}

// Retry queues a task again for its holder.
func (s *taskStore) Retry(ctx context.Context, id string, fence uint64, at time.Time, why string) error {
	return pgnode.ConvertError("postgres.Retry", s.db.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
		t, err := heldTask(ctx, x, id, fence)
		switch {
		case err != nil:
			return err
		case t.CancelledBy == "" && t.MaxAttempts > 0 && t.Attempt >= t.MaxAttempts:
			return endTask(ctx, x, id, task.Exhausted(t.Attempt, why))
		}
		const say = "UPDATE tasks SET progress = $2 WHERE node = $1 AND id = $3"
		if _, err := x.Exec(ctx, say, s.db.NodeID(), text(why), text(id)); err != nil {
			return err
		}
		return s.queueTask(ctx, x, t, at)
	}))
}

// queueTask gives a held task back, to be run at a time (the zero time: now). One that was to be cancelled is.
func (s *taskStore) queueTask(ctx context.Context, x *pgnode.Tx, t task.Task, at time.Time) error {
	if t.CancelledBy != "" {
		return endTask(ctx, x, t.ID, task.CancelledOutcome(t.CancelledBy))
	}
	const update = "UPDATE tasks SET state = 'queued', run_at = coalesce($2::bigint, " + now + "), " +
		"due = coalesce($2::bigint, " + now + "), holder = '', lease_until = 0, " +
		"job = " + riverjobs.Next + " WHERE node = $1 AND id = $3 RETURNING " + riverjobs.Returned
	wait, err := pgnode.QueryOneTx(ctx, x, riverjobs.ScanWait, update, x.NodeID(), nanos(at), text(t.ID))
	if err != nil {
		return err
	}
	return s.jobs.Insert(ctx, x, wait)
}

// End ends a task for its holder.
func (s *taskStore) End(ctx context.Context, id string, fence uint64, o task.Outcome) error {
	const op = "postgres.End"
	if err := task.CheckOutcome(id, o); err != nil {
		return err
	}
	outcome, err := json.Marshal(o)
	if err != nil {
		return unwritable(op, "the task "+id, err)
	}
	const statement = endUpdate + " AND fence = $5 AND state = 'running'"
	args := []any{string(o.State), outcome, text(id), number(fence)}
	return pgnode.ConvertError(op, s.update(ctx, statement, args, func(ctx context.Context, x *pgnode.Tx) error {
		return notHeld(ctx, x, id, fence)
	}))
}

// heldTask returns a task that a holder runs under a fence, and keeps others from changing it.
func heldTask(ctx context.Context, x *pgnode.Tx, id string, fence uint64) (task.Task, error) {
	const look = taskByID + " AND fence = $3 AND state = 'running' FOR UPDATE"
	t, err := pgnode.QueryOneTx(ctx, x, scanTask(x), look, x.NodeID(), text(id), number(fence))
	if pgnode.Absent(err) {
		err = notHeld(ctx, x, id, fence)
	}
	return t, err
}

// notHeld says why a task is not held under a fence.
func notHeld(ctx context.Context, x *pgnode.Tx, id string, fence uint64) error {
	n, err := x.Exec(ctx, taskNumber, x.NodeID(), text(id))
	switch {
	case err != nil:
		return err
	case n == 0:
		return task.NotFound(id)
	}
	return task.StaleFence(id, fence)
}

// Append adds an entry to a task's log, and removes those that are too many.
func (s *taskStore) Append(ctx context.Context, id string, e task.Entry, keep int) error {
	if err := task.CheckData(id, e.Data); err != nil {
		return err
	}
	const (
		insert = "INSERT INTO task_logs (task, at, text, data) SELECT num, coalesce($3::bigint, " + now + "), $4, $5 " +
			"FROM tasks WHERE node = $1 AND id = $2"
		remove = "DELETE FROM task_logs WHERE task = (" + taskNumber + ") AND seq <= " +
			"(SELECT seq FROM task_logs WHERE task = (" + taskNumber + ") ORDER BY seq DESC OFFSET $3 LIMIT 1)"
	)
	return pgnode.ConvertError("postgres.Append", s.db.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
		var batch pgx.Batch
		batch.Queue(insert, s.db.NodeID(), text(id), nanos(e.At), text(e.Text), nullable(e.Data))
		batch.Queue(remove, s.db.NodeID(), text(id), max(keep, 1))
		counts, err := x.ExecAll(ctx, &batch)
		if err == nil && counts[0] == 0 {
			err = task.NotFound(id)
		}
		return err
	}))
}

// Entries reads the end of a task's log.
func (s *taskStore) Entries(ctx context.Context, id string, n int) ([]task.Entry, error) {
	const op = "postgres.Entries"
	num, err := s.number(ctx, id)
	if err != nil {
		return nil, pgnode.ConvertError(op, err)
	}
	most := &n
	if n <= 0 {
		most = nil // all
	}
	all, err := pgnode.Query(ctx, s.db, func(row pgx.CollectableRow) (e task.Entry, err error) {
		var at int64
		var data []byte
		err = row.Scan(&at, (*text)(&e.Text), &data)
		e.At, e.Data = fromNanos(at), nullable(data)
		return e, err
	}, "SELECT at, text, data FROM task_logs WHERE task = $1 ORDER BY seq DESC LIMIT $2", num, most)
	slices.Reverse(all)
	return all, pgnode.ConvertError(op, err)
}
