package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"callgate/internal/task"
	"callgate/tool"
)

// taskStore is the stores of tasks on SQLite. Times are nanoseconds, and 0 where a
// time has not come.
type taskStore struct {
	db         *DB
	statements *statements
}

var (
	_ task.Store  = (*taskStore)(nil)
	_ task.Queue  = (*taskStore)(nil)
	_ task.Leases = (*taskStore)(nil)
	_ task.Logs   = (*taskStore)(nil)
)

const taskColumns = "id, kind, label, parent, asker, input, data, state, run_at, attempt, max_attempts, " +
	"holder, fence, lease_until, cancelled_by, progress, outcome, created, started, ended, told"

// owed selects the tasks whose parents are to be told, and settled those that have
// ended and are owed to nobody. A query must say it in these very words to be given
// the index.
const (
	owed    = "parent <> '' AND ended > 0 AND told = 0"
	settled = "ended > 0 AND (parent = '' OR told > 0)"
)

// Create inserts a task unless it is there.
func (s *taskStore) Create(ctx context.Context, t task.Task) (task.Task, bool, error) {
	const op = "sqlite.Create"
	if err := task.Check(t); err != nil {
		return task.Task{}, false, err
	}
	asker, err := json.Marshal(t.Asker)
	if err != nil {
		return task.Task{}, false, unwritable(op, t.ID, err)
	}
	if err := s.db.refuses(); err != nil {
		return task.Task{}, false, err
	}
	now := time.Now()
	if t.RunAt.IsZero() {
		t.RunAt = now
	}
	state, due, ended := task.Queued, any(t.RunAt.UnixNano()), int64(0)
	var outcome []byte
	if t.Outcome != nil {
		state, due, ended = t.Outcome.State, nil, now.UnixNano()
		if outcome, err = json.Marshal(t.Outcome); err != nil {
			return task.Task{}, false, unwritable(op, t.ID, err)
		}
	}
	const insert = "INSERT INTO tasks (id, kind, label, parent, session, asker, input, data, state, run_at, due, " +
		"max_attempts, outcome, created, ended) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) " +
		"ON CONFLICT (id) DO NOTHING RETURNING " + taskColumns
	prepared, err := s.statements.prepare(ctx, insert)
	if err != nil {
		return task.Task{}, false, convertError(op, err)
	}
	made, err := scanTask(prepared.QueryRowContext(ctx, t.ID, t.Kind, t.Label, t.Parent,
		t.Asker.Principal.Session, asker, nullable(t.Input), nullable(t.Data), state, t.RunAt.UnixNano(), due,
		t.MaxAttempts, outcome, now.UnixNano(), ended))
	if errors.Is(err, sql.ErrNoRows) {
		made, err = s.Get(ctx, t.ID)
		return made, false, err
	}
	return made, err == nil, convertError(op, err)
}

// Get returns one task.
func (s *taskStore) Get(ctx context.Context, id string) (task.Task, error) {
	t, err := scanTask(s.db.read.QueryRowContext(ctx, "SELECT "+taskColumns+" FROM tasks WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return t, task.NotFound(id)
	}
	return t, convertError("sqlite.Get", err)
}

// List selects by an index where the query names a parent, a session or a debt, or
// only what is active.
func (s *taskStore) List(ctx context.Context, q task.Query) ([]task.Task, error) {
	const op = "sqlite.List"
	where, args := taskCondition(q)
	order, after := " ORDER BY num", "num > ?"
	if q.Newest {
		order, after = " ORDER BY num DESC", "num < ?"
	}
	if q.After != "" {
		var last int64
		err := s.db.read.QueryRowContext(ctx, "SELECT num FROM tasks WHERE id = ?", q.After).Scan(&last)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, task.NotFound(q.After)
		}
		if err != nil {
			return nil, convertError(op, err)
		}
		where, args = append(where, after), append(args, last)
	}
	limit := q.Limit
	if limit <= 0 || limit > task.MaxList {
		limit = task.MaxList
	}
	query := "SELECT " + taskColumns + " FROM tasks" + taskIndex(q) + " WHERE " + strings.Join(where, " AND ") + order +
		" LIMIT ?"
	rows, err := s.db.read.QueryContext(ctx, query, append(args, limit)...)
	if err != nil {
		return nil, convertError(op, err)
	}
	all, err := scanTasks(rows, nil)
	return all, convertError(op, err)
}

func taskCondition(q task.Query) (where []string, args []any) {
	where = []string{"true"}
	add := func(term string, arg any) {
		where, args = append(where, term), append(args, arg)
	}
	if q.Parent != "" {
		add("parent = ?", q.Parent)
		where = append(where, "parent <> ''")
	}
	if q.Session != "" {
		add("session = ?", q.Session)
		where = append(where, "session <> ''")
	}
	if len(q.Kinds) > 0 {
		where = append(where, "kind IN "+oneOf(len(q.Kinds)))
		args = appendAll(args, q.Kinds)
	}
	if q.State != "" {
		add("state = ?", string(q.State))
	}
	if active(q) {
		where = append(where, "ended = 0")
	}
	if q.Owed {
		where = append(where, owed)
	}
	return where, args
}

// active reports whether a query is about tasks that have not ended only.
func active(q task.Query) bool { return q.Active || q.State == task.Queued || q.State == task.Running }

// taskIndex names the index of a query. The database keeps no statistics, and without
// them it takes what has ended for as rare as what has not.
//
// What is active is one index, which is read whole, for a parent and a session too: each
// further index is written with every change of every task.
func taskIndex(q task.Query) string {
	switch {
	case active(q):
		return " INDEXED BY tasks_active"
	case q.Owed:
		return " INDEXED BY tasks_owed"
	case q.Parent != "":
		return " INDEXED BY tasks_parent"
	case q.Session != "":
		return " INDEXED BY tasks_session"
	}
	return ""
}

// oneOf is a list of n parameters.
func oneOf(n int) string { return "(?" + strings.Repeat(", ?", n-1) + ")" }

// appendAll appends the arguments of such a list.
func appendAll[T any](args []any, list []T) []any {
	for _, one := range list {
		args = append(args, one)
	}
	return args
}

// Cancel ends a task that nobody holds, and marks another.
func (s *taskStore) Cancel(ctx context.Context, id, by string) error {
	return convertError("sqlite.Cancel", s.db.transact(ctx, func(tx *sql.Tx) error {
		now := time.Now().UnixNano()
		var state task.State
		var due sql.Null[int64]
		err := tx.QueryRowContext(ctx, "SELECT state, due FROM tasks WHERE id = ?", id).Scan(&state, &due)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return task.NotFound(id)
		case err != nil || state.Final():
			return err
		}
		const mark = "UPDATE tasks SET cancelled_by = ? WHERE id = ? AND cancelled_by = ''"
		if _, err := tx.ExecContext(ctx, mark, by, id); err != nil {
			return err
		}
		if state == task.Running && due.V > now {
			return nil // its holder sees the mark
		}
		return endTask(ctx, tx, id, task.CancelledOutcome(by), now)
	}))
}

// Told notes that parents were told.
func (s *taskStore) Told(ctx context.Context, ids ...string) error {
	return convertError("sqlite.Told", s.db.transact(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			var ended int64
			const note = "UPDATE tasks SET told = CASE WHEN told > 0 OR ended = 0 THEN told ELSE ? END " +
				"WHERE id = ? RETURNING ended"
			err := tx.QueryRowContext(ctx, note, time.Now().UnixNano(), id).Scan(&ended)
			switch {
			case errors.Is(err, sql.ErrNoRows):
				return task.NotFound(id)
			case err != nil:
				return err
			case ended == 0:
				return tool.Errorf("sqlite.Told", tool.Conflict, "the task %s has not ended", tool.Truncate(id))
			}
		}
		return nil
	}))
}

// endTask ends a task, whoever holds it.
func endTask(ctx context.Context, tx *sql.Tx, id string, o task.Outcome, now int64) error {
	outcome, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, endUpdate, string(o.State), outcome, now, id)
	return err
}

const endUpdate = "UPDATE tasks SET state = ?, outcome = ?, ended = ?, due = NULL, lease_until = 0 WHERE id = ?"

// scanTasks reads rows of taskColumns. Those that hold something else than they should
// go to damaged; where that is nil, one is an error.
func scanTasks(rows *sql.Rows, damaged *[]task.Task) ([]task.Task, error) {
	defer rows.Close()
	var all []task.Task
	for rows.Next() {
		t, unread, err := scanRow(rows)
		switch {
		case err != nil:
			return nil, err
		case unread == nil:
			all = append(all, t)
		case damaged == nil:
			return nil, unread
		default:
			*damaged = append(*damaged, t)
		}
	}
	return all, rows.Err()
}

// scanTask reads a row of taskColumns.
func scanTask(row interface{ Scan(...any) error }) (task.Task, error) {
	t, unread, err := scanRow(row)
	if err == nil {
		err = unread
	}
	if err != nil {
		return task.Task{}, err
	}
	return t, nil
}

// scanRow reads a row of taskColumns, and says whether something in it cannot be read.
func scanRow(row interface{ Scan(...any) error }) (t task.Task, unread, err error) {
	var asker, input, data, outcome []byte
	var runAt, until, created, started, ended, told int64
	err = row.Scan(&t.ID, &t.Kind, &t.Label, &t.Parent, &asker, &input, &data, &t.State, &runAt, &t.Attempt,
		&t.MaxAttempts, &t.Lease.Holder, &t.Lease.Fence, &until, &t.CancelledBy, &t.Progress, &outcome,
		&created, &started, &ended, &told)
	if err != nil {
		return t, nil, err
	}
	t.Input, t.Data = nullable(input), nullable(data)
	t.RunAt, t.Lease.Until = fromNanos(runAt), fromNanos(until)
	t.Times = task.Times{
		Created: fromNanos(created), Started: fromNanos(started), Ended: fromNanos(ended), Told: fromNanos(told),
	}
	unread = json.Unmarshal(asker, &t.Asker)
	if unread == nil && outcome != nil {
		unread = json.Unmarshal(outcome, &t.Outcome)
	}
	if unread != nil {
		unread = unreadable("sqlite.tasks", "the task "+t.ID, unread)
	}
	return t, unread, nil
}

// fromNanos reads a time; 0 is the zero time.
func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// nullable is JSON that may be missing.
func nullable(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	return data
}

// unwritable is the error of a task, or a part of one, that is not JSON.
func unwritable(op, id string, err error) error {
	return &tool.Error{Op: op, Kind: tool.Invalid, Message: "the task " + id + " cannot be written", Err: err}
}
