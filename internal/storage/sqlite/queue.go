package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"callgate/internal/task"
	"callgate/tool"
)

// Lease first ends the tasks that were abandoned for good, and then gives out
// those that are due, in one transaction. It does not wait for the disk: a power cut
// that undoes a lease ends its holder too, before the holder began a call.
func (s *taskStore) Lease(ctx context.Context, r task.Request) (leased, ended []task.Task, err error) {
	const op = "sqlite.Lease"
	if err := s.db.refuses(); err != nil {
		return nil, nil, err
	}
	l, err := s.prepareLease(ctx, r)
	if err != nil {
		return nil, nil, convertError(op, err)
	}
	err = s.db.transactNoSync(ctx, func(tx *sql.Tx) error {
		now := time.Now()
		if r.Own {
			if err := releaseOwn(ctx, tx, r, now.UnixNano()); err != nil {
				return err
			}
		}
		if ended, err = l.endAbandoned(ctx, tx, now.UnixNano()); err != nil {
			return err
		}
		var damaged []task.Task
		if leased, err = l.take(ctx, tx, now, &damaged); err != nil {
			return err
		}
		damaged, err = endDamaged(ctx, tx, damaged, now.UnixNano())
		ended = append(ended, damaged...)
		return err
	})
	if err != nil {
		return nil, nil, convertError(op, err)
	}
	// The database returns what it updated in no order.
	slices.SortStableFunc(leased, func(a, b task.Task) int {
		return cmp.Or(a.RunAt.Compare(b.RunAt), a.Times.Created.Compare(b.Times.Created))
	})
	return leased, ended, nil
}

// leasing is a request for leases with its statements.
type leasing struct {
	task.Request
	abandoned, due, fence, update *sql.Stmt
}

func (s *taskStore) prepareLease(ctx context.Context, r task.Request) (l leasing, err error) {
	l.Request = r
	only := ""
	if r.ID != "" {
		only = " AND id = ?"
	}
	kinds := ""
	if len(r.Kinds) > 0 {
		kinds = " AND kind IN (SELECT value FROM json_each(?))"
	}
	for _, one := range []struct {
		into  **sql.Stmt
		query string
	}{
		{&l.abandoned, "SELECT " + taskColumns + " FROM tasks WHERE due <= ? AND holder <> ?" + only + " AND " +
			"state = 'running' AND (cancelled_by <> '' OR max_attempts > 0 AND attempt >= max_attempts)"},
		{&l.due, "SELECT num FROM tasks WHERE due <= ? AND holder <> ?" + only + kinds + " ORDER BY run_at, num LIMIT ?"},
		{&l.fence, "UPDATE task_fences SET last = last + 1 RETURNING last"},
		{&l.update, "UPDATE tasks SET state = 'running', fence = ?, attempt = attempt + 1, " +
			"holder = ?, lease_until = ?, due = ?, started = CASE WHEN started = 0 THEN ? ELSE started END " +
			"WHERE num IN (SELECT value FROM json_each(?)) RETURNING " + taskColumns},
	} {
		if *one.into, err = s.statements.prepare(ctx, one.query); err != nil {
			return l, err
		}
	}
	return l, nil
}

// args are those of a query of what is due.
func (l *leasing) args(now int64) []any {
	args := []any{now, l.Holder}
	if l.ID != "" {
		args = append(args, l.ID)
	}
	return args
}

// take gives out tasks under a new fence. Those of one request share it: a fence tells
// apart the leases of a task.
func (l *leasing) take(
	ctx context.Context, tx *sql.Tx, now time.Time, damaged *[]task.Task,
) ([]task.Task, error) {
	args := l.args(now.UnixNano())
	if len(l.Kinds) > 0 {
		args = append(args, jsonList(l.Kinds))
	}
	args = append(args, max(l.N, 1))
	due, err := scanNumbers(tx.StmtContext(ctx, l.due).QueryContext(ctx, args...))
	if err != nil || len(due) == 0 {
		return nil, err
	}
	var fence int64
	if err := tx.StmtContext(ctx, l.fence).QueryRowContext(ctx).Scan(&fence); err != nil {
		return nil, err
	}
	until := now.Add(l.For).UnixNano()
	update := tx.StmtContext(ctx, l.update)
	rows, err := update.QueryContext(ctx, fence, l.Holder, until, until, now.UnixNano(), jsonList(due))
	if err != nil {
		return nil, err
	}
	return scanTasks(rows, damaged)
}

// jsonList is a list as one argument: a statement with one is prepared once.
func jsonList[T string | int64](list []T) string {
	text, _ := json.Marshal(list) // cannot fail
	return string(text)
}

// endDamaged ends tasks whose rows cannot be read: one of them does not keep the others
// from being leased, now or ever.
func endDamaged(ctx context.Context, tx *sql.Tx, damaged []task.Task, now int64) ([]task.Task, error) {
	for i := range damaged {
		t := &damaged[i]
		e := tool.Errorf("sqlite.Lease", tool.Internal, "the record of the task is damaged")
		o := task.Outcome{State: task.Failed, Summary: e.Message, Error: e}
		t.State, t.Outcome, t.Times.Ended, t.Asker = o.State, &o, fromNanos(now), task.Asker{}
		if _, err := tx.ExecContext(ctx, "UPDATE tasks SET asker = CAST('{}' AS BLOB) WHERE id = ?", t.ID); err != nil {
			return nil, err
		}
		if err := endTask(ctx, tx, t.ID, o, now); err != nil {
			return nil, err
		}
	}
	return damaged, nil
}

func scanNumbers(rows *sql.Rows, err error) ([]int64, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []int64
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, rows.Err()
}

// releaseOwn takes the tasks that are left of a holder's former process from it.
func releaseOwn(ctx context.Context, tx *sql.Tx, r task.Request, now int64) error {
	update := "UPDATE tasks SET due = ?, lease_until = ?, holder = '' WHERE holder = ? AND state = 'running' AND ended = 0"
	args := []any{now, now, r.Holder}
	if r.ID != "" {
		update, args = update+" AND id = ?", append(args, r.ID)
	}
	if len(r.Runs) > 0 {
		update, args = update+" AND id NOT IN "+oneOf(len(r.Runs)), appendAll(args, r.Runs)
	}
	_, err := tx.ExecContext(ctx, update, args...)
	return err
}

// endAbandoned ends the tasks whose lease has ended and that are not to be run
// again, unless the holder that asks has them.
func (l *leasing) endAbandoned(ctx context.Context, tx *sql.Tx, now int64) ([]task.Task, error) {
	rows, err := tx.StmtContext(ctx, l.abandoned).QueryContext(ctx, l.args(now)...)
	if err != nil {
		return nil, err
	}
	var damaged []task.Task
	abandoned, err := scanTasks(rows, &damaged)
	if err != nil {
		return nil, err
	}
	damaged, err = endDamaged(ctx, tx, damaged, now)
	if err != nil {
		return nil, err
	}
	for i, t := range abandoned {
		o := task.LostOutcome(t.Attempt)
		if t.CancelledBy != "" {
			o = task.CancelledOutcome(t.CancelledBy)
		}
		if err := endTask(ctx, tx, t.ID, o, now); err != nil {
			return nil, err
		}
		t.State, t.Outcome, t.Times.Ended, t.Lease.Until = o.State, &o, fromNanos(now), time.Time{}
		abandoned[i] = t
	}
	return append(abandoned, damaged...), nil
}

// Renew does not wait for the disk: a renewal that a power cut undoes is one
// that its holder did not survive either.
func (s *taskStore) Renew(ctx context.Context, leases []task.Renewal, d time.Duration) (found task.Renewed, err error) {
	if len(leases) == 0 {
		return found, nil
	}
	if err := s.db.refuses(); err != nil {
		return found, err
	}
	prepared, err := s.statements.prepare(ctx, "UPDATE tasks SET lease_until = ?, due = ?, "+
		"progress = CASE WHEN ? = '' THEN progress ELSE ? END "+
		"WHERE id = ? AND fence = ? AND state = 'running' RETURNING cancelled_by")
	if err != nil {
		return found, convertError("sqlite.Renew", err)
	}
	err = s.db.transactNoSync(ctx, func(tx *sql.Tx) error {
		update := tx.StmtContext(ctx, prepared)
		until := time.Now().Add(d).UnixNano()
		for _, l := range leases {
			var by string
			err := update.QueryRowContext(ctx, until, until, l.Progress, l.Progress, l.ID, int64(l.Fence)).Scan(&by)
			switch {
			case errors.Is(err, sql.ErrNoRows):
				found.Lost = append(found.Lost, l.ID)
			case err != nil:
				return err
			case by != "":
				found.Cancelled = append(found.Cancelled, l.ID)
			}
		}
		return nil
	})
	if err != nil {
		return task.Renewed{}, convertError("sqlite.Renew", err)
	}
	return found, nil
}

// Next reads the beginning of the index of what is due.
func (s *taskStore) Next(ctx context.Context, holder string, kinds ...string) (time.Time, error) {
	query, args := nextQuery(holder, kinds)
	var due int64
	err := s.db.read.QueryRowContext(ctx, query, args...).Scan(&due)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	return fromNanos(due), convertError("sqlite.Next", err)
}

func nextQuery(holder string, kinds []string) (query string, args []any) {
	query, args = "SELECT due FROM tasks WHERE due IS NOT NULL AND holder <> ?", []any{holder}
	if len(kinds) > 0 {
		query, args = query+" AND kind IN "+oneOf(len(kinds)), appendAll(args, kinds)
	}
	return query + " ORDER BY due LIMIT 1", args
}

// pruned is how many tasks one transaction removes: others write between two of them.
const pruned = 100

const prunable = "SELECT num FROM tasks WHERE " + settled + " AND ended < ? LIMIT ?"

// Prune deletes tasks that nobody waits for.
func (s *taskStore) Prune(ctx context.Context, endedBefore time.Time) (n int, err error) {
	const remove = "DELETE FROM tasks WHERE num IN (" + prunable + ")"
	for {
		if err := s.db.refuses(); err != nil {
			return n, err
		}
		done, err := s.db.write.ExecContext(ctx, remove, endedBefore.UnixNano(), pruned)
		if err != nil {
			return n, convertError("sqlite.Prune", err)
		}
		some, err := done.RowsAffected()
		n += int(some)
		if err != nil || some < pruned {
			return n, convertError("sqlite.Prune", err)
		}
	}
}
