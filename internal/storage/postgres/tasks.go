package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/storage/postgres/riverjobs"
	"callgate/internal/task"
	"callgate/tool"
)

// taskStore is the stores of tasks on PostgreSQL. The clock is the server's. Each task that waits has a job of River,
// by the law of package riverjobs.
type taskStore struct {
	db   *pgnode.DB
	jobs *riverjobs.Jobs

	mu   sync.Mutex
	lost []int64 // fences of leases of which nobody knows whether they were given
}

var (
	_ task.Store  = (*taskStore)(nil)
	_ task.Queue  = (*taskStore)(nil)
	_ task.Leases = (*taskStore)(nil)
	_ task.Logs   = (*taskStore)(nil)
)

const taskColumns = "id, kind, label, parent, asker, input, data, state, run_at, attempt, max_attempts, " +
	"holder, fence, lease_until, cancelled_by, progress, outcome, created, started, ended, told, mac, data_mac"

// Of every statement on tasks, $1 is the node.
const selectTasks = "SELECT " + taskColumns + " FROM tasks WHERE node = $1 AND "

const (
	taskByID   = selectTasks + "id = $2"
	taskNumber = "SELECT num FROM tasks WHERE node = $1 AND id = $2"
)

// owed selects the tasks whose parents are to be told, and settledTasks those that have ended and are owed to nobody. A
// query must say it in these very words to be given the index.
const (
	owed         = "parent <> '' AND ended > 0 AND told = 0"
	settledTasks = "ended > 0 AND (parent = '' OR told > 0)"
)

// Create inserts a task unless it is there.
func (s *taskStore) Create(ctx context.Context, t task.Task) (made task.Task, fresh bool, err error) {
	const op = "postgres.Create"
	if err := task.Check(t); err != nil {
		return task.Task{}, false, err
	}
	asker, err := json.Marshal(t.Asker)
	if err != nil {
		return task.Task{}, false, unwritable(op, "the task "+t.ID, err)
	}
	state, outcome := task.Queued, []byte(nil)
	if t.Outcome != nil {
		state = t.Outcome.State
		if outcome, err = json.Marshal(t.Outcome); err != nil {
			return task.Task{}, false, unwritable(op, "the task "+t.ID, err)
		}
	}
	const insert = "INSERT INTO tasks (node, id, kind, label, parent, session, asker, input, data, state, run_at, due, " +
		"max_attempts, outcome, mac, data_mac, created, ended, job) SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text, " +
		"coalesce($11::bigint, now), CASE WHEN $13::bytea IS NULL THEN coalesce($11::bigint, now) END, $12, $13, $14, $15, now, " +
		"CASE WHEN $13::bytea IS NULL THEN 0 ELSE now END, " +
		"CASE WHEN $13::bytea IS NULL THEN " + riverjobs.Next + " ELSE 0 END FROM (SELECT " + now + " AS now) AS clock " +
		"ON CONFLICT (node, id) DO NOTHING RETURNING " + taskColumns + ", " + riverjobs.Returned
	mac := s.db.Sign(signedTask(s.db.NodeID(), &t, asker, nullable(t.Input)))
	dataMAC := s.db.Sign(pgnode.SignedTaskData(s.db.NodeID(), t.ID, nullable(t.Data)))
	err = s.db.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
		var wait riverjobs.Wait
		fresh = true
		made, wait, err = s.insert(ctx, x, insert, s.db.NodeID(), text(t.ID), text(t.Kind), text(t.Label),
			text(t.Parent), text(t.Asker.Principal.Session), asker, nullable(t.Input), nullable(t.Data), string(state),
			nanos(t.RunAt), t.MaxAttempts, outcome, mac, dataMAC)
		if pgnode.Absent(err) { // it is there, and committed: the insert waited for that
			fresh = false
			made, err = pgnode.QueryOneTx(ctx, x, scanTask(x), taskByID, s.db.NodeID(), text(t.ID))
			return err
		}
		if err != nil || t.Outcome != nil {
			return err
		}
		return s.jobs.Insert(ctx, x, wait)
	})
	if pgnode.Absent(err) { // and is pruned already
		err = task.NotFound(t.ID)
	}
	if err != nil {
		return task.Task{}, false, pgnode.ConvertError(op, err)
	}
	return made, fresh, nil
}

// insert makes a task with a statement that returns its row and how it waits.
func (s *taskStore) insert(
	ctx context.Context, x *pgnode.Tx, statement string, args ...any,
) (made task.Task, wait riverjobs.Wait, err error) {
	made, err = pgnode.QueryOneTx(ctx, x, func(row pgx.CollectableRow) (task.Task, error) {
		var due int64
		r, err := scanRowAnd(x, row, wait.Into(&due)...)
		wait.DueAt(due)
		return r.Task, errors.Join(err, r.unread)
	}, statement, args...)
	return made, wait, err
}

// Get returns one task.
func (s *taskStore) Get(ctx context.Context, id string) (task.Task, error) {
	t, err := pgnode.QueryOne(ctx, s.db, scanTask(s.db), taskByID, s.db.NodeID(), text(id))
	if pgnode.Absent(err) {
		err = task.NotFound(id)
	}
	return t, pgnode.ConvertError("postgres.Get", err)
}

// number returns the number of a task.
func (s *taskStore) number(ctx context.Context, id string) (int64, error) {
	n, err := pgnode.QueryOne(ctx, s.db, pgx.RowTo[int64], taskNumber, s.db.NodeID(), text(id))
	if pgnode.Absent(err) {
		err = task.NotFound(id)
	}
	return n, err
}

// List selects by an index where the query names a parent, a session or a debt, or only what is active.
func (s *taskStore) List(ctx context.Context, q task.Query) ([]task.Task, error) {
	const op = "postgres.List"
	where, args := taskCondition(s.db.NodeID(), q)
	order, after := " ORDER BY num", "num > "
	if q.Newest {
		order, after = " ORDER BY num DESC", "num < "
	}
	if q.After != "" {
		last, err := s.number(ctx, q.After)
		if err != nil {
			return nil, pgnode.ConvertError(op, err)
		}
		args = append(args, last)
		where = append(where, after+parameter(args))
	}
	limit := q.Limit
	if limit <= 0 || limit > task.MaxList {
		limit = task.MaxList
	}
	args = append(args, limit)
	all, err := s.listed(ctx, selectTasks+strings.Join(where, " AND ")+order, args)
	return all, pgnode.ConvertError(op, err)
}

// listed are the tasks of a query whose last argument is how many are wanted. What is not believed is passed over, and
// does not count.
func (s *taskStore) listed(ctx context.Context, query string, args []any) (all []task.Task, err error) {
	limit, skip := args[len(args)-1].(int), 0
	query += " LIMIT " + parameter(args)
	for {
		asked := limit - len(all)
		args[len(args)-1] = asked
		rows, err := pgnode.Query(ctx, s.db, scanRow(s.db), query+" OFFSET "+strconv.Itoa(skip), args...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			switch {
			case r.untrue:
			case r.unread != nil:
				return nil, r.unread
			default:
				all = append(all, r.Task)
			}
		}
		if skip += len(rows); len(rows) < asked || len(all) == limit {
			return all, nil
		}
	}
}

func taskCondition(node string, q task.Query) (where []string, args []any) {
	where, args = []string{"true"}, []any{node}
	add := func(term string, arg any) {
		args = append(args, arg)
		where = append(where, strings.ReplaceAll(term, "?", parameter(args)))
	}
	if q.Parent != "" {
		add("parent = ? AND parent <> ''", text(q.Parent))
	}
	if q.Session != "" {
		add("session = ? AND session <> ''", text(q.Session))
	}
	if len(q.Kinds) > 0 {
		add("kind = ANY (?)", texts(q.Kinds))
	}
	if q.State != "" {
		add("state = ?", string(q.State))
	}
	if q.Active || q.State == task.Queued || q.State == task.Running {
		where = append(where, "ended = 0")
	}
	if q.Owed {
		where = append(where, owed)
	}
	return where, args
}

// Cancel ends a task that nobody holds, and marks another.
func (s *taskStore) Cancel(ctx context.Context, id, by string) error {
	type found struct {
		state task.State
		held  bool
	}
	return pgnode.ConvertError("postgres.Cancel", s.db.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
		// FOR UPDATE: a holder that ends it, or another that leases it, is waited for.
		const look = "SELECT state, state = 'running' AND due > " + now + " FROM tasks WHERE node = $1 AND id = $2 FOR UPDATE"
		is, err := pgnode.QueryOneTx(ctx, x, func(row pgx.CollectableRow) (f found, err error) {
			var held *bool
			err = row.Scan(&f.state, &held)
			f.held = held != nil && *held
			return f, err
		}, look, s.db.NodeID(), text(id))
		switch {
		case pgnode.Absent(err):
			return task.NotFound(id)
		case err != nil || is.state.Final():
			return err
		}
		const mark = "UPDATE tasks SET cancelled_by = $2 WHERE node = $1 AND id = $3 AND cancelled_by = ''"
		if _, err := x.Exec(ctx, mark, s.db.NodeID(), text(by), text(id)); err != nil {
			return err
		}
		if is.held {
			return nil // its holder sees the mark
		}
		return endTask(ctx, x, id, task.CancelledOutcome(by))
	}))
}

// Told notes that parents were told.
func (s *taskStore) Told(ctx context.Context, ids ...string) error {
	ids = slices.Clone(ids)
	slices.Sort(ids) // two who note the same tasks do not wait for each other
	return pgnode.ConvertError("postgres.Told", s.db.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
		for _, id := range ids {
			const note = "UPDATE tasks SET told = CASE WHEN told > 0 OR ended = 0 THEN told ELSE " + now + " END " +
				"WHERE node = $1 AND id = $2 RETURNING ended"
			ended, err := pgnode.QueryOneTx(ctx, x, pgx.RowTo[int64], note, s.db.NodeID(), text(id))
			switch {
			case pgnode.Absent(err):
				return task.NotFound(id)
			case err != nil:
				return err
			case ended == 0:
				return tool.Errorf("postgres.Told", tool.Conflict, "the task %s has not ended", tool.Truncate(id))
			}
		}
		return nil
	}))
}

const endUpdate = "UPDATE tasks SET state = $2, outcome = $3, ended = " + now + ", due = NULL, lease_until = 0 " +
	"WHERE node = $1 AND id = $4"

// endWaiting is endUpdate of a task that may have a job.
const endWaiting = "WITH gone AS (DELETE FROM river_job WHERE state <> 'running' AND id = " +
	"(SELECT job FROM tasks WHERE node = $1 AND id = $4)) " + endUpdate

// endTask ends a task, whoever holds it.
func endTask(ctx context.Context, x *pgnode.Tx, id string, o task.Outcome) error {
	outcome, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = x.Exec(ctx, endWaiting, x.NodeID(), string(o.State), outcome, text(id))
	return err
}

// believer knows the cluster's key: a database, or a transaction of it.
type believer interface {
	NodeID() string
	Believe(code []byte, s pgnode.Signed) error
	Sign(s pgnode.Signed) []byte
}

// signedTask is what a task is, as it is signed. What is not said of it is as it is kept.
func signedTask(node string, t *task.Task, asker, input []byte) pgnode.Signed {
	return pgnode.SignedTask(node, t.ID, string(t.Kind), t.Label, t.Parent, asker, input, int64(t.MaxAttempts))
}

// scanTask reads a row of taskColumns.
func scanTask(b believer) func(pgx.CollectableRow) (task.Task, error) {
	return func(row pgx.CollectableRow) (task.Task, error) {
		r, err := scanRowAnd(b, row)
		if err == nil {
			err = r.unread
		}
		if err != nil {
			return task.Task{}, err
		}
		return r.Task, nil
	}
}

// taskRow is a task, and what in its row cannot be read, or is not believed.
type taskRow struct {
	task.Task
	unread error
	untrue bool // no node wrote it
}

// scanRow reads a row of taskColumns that may hold something else than it should.
func scanRow(b believer) func(pgx.CollectableRow) (taskRow, error) {
	return func(row pgx.CollectableRow) (taskRow, error) { return scanRowAnd(b, row) }
}

// scanRowAnd reads more columns after those.
func scanRowAnd(b believer, row pgx.CollectableRow, more ...any) (r taskRow, err error) {
	t := &r.Task
	var asker, input, data, outcome, mac, dataMAC []byte
	var runAt, until, created, started, ended, told int64
	columns := []any{(*text)(&t.ID), (*text)(&t.Kind), (*text)(&t.Label), (*text)(&t.Parent), &asker, &input, &data,
		&t.State, &runAt, &t.Attempt, &t.MaxAttempts, (*text)(&t.Lease.Holder), &t.Lease.Fence, &until,
		(*text)(&t.CancelledBy), (*text)(&t.Progress), &outcome, &created, &started, &ended, &told, &mac, &dataMAC}
	err = row.Scan(append(columns, more...)...)
	if err != nil {
		return r, err
	}
	t.Input, t.Data = nullable(input), nullable(data)
	t.RunAt, t.Lease.Until = fromNanos(runAt), fromNanos(until)
	t.Times = task.Times{
		Created: fromNanos(created), Started: fromNanos(started), Ended: fromNanos(ended), Told: fromNanos(told),
	}
	r.unread = b.Believe(mac, signedTask(b.NodeID(), t, asker, input))
	if r.unread == nil {
		r.unread = b.Believe(dataMAC, pgnode.SignedTaskData(b.NodeID(), t.ID, data))
	}
	if r.untrue = r.unread != nil; r.untrue {
		return r, nil
	}
	r.unread = json.Unmarshal(asker, &t.Asker)
	if r.unread == nil && outcome != nil {
		r.unread = json.Unmarshal(outcome, &t.Outcome)
	}
	if r.unread != nil {
		r.unread = unreadable("postgres.tasks", "the task "+t.ID, r.unread)
	}
	return r, nil
}
