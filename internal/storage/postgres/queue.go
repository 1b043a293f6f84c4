package postgres

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/task"
	"callgate/tool"
)

// Lease first ends the tasks that were abandoned for good, and then gives out those that are due, in one transaction.
// Tasks that another lease is about to take are passed over and not waited for.
//
// The fence of a lease is drawn after its tasks are held, so that it is greater than every fence that they had.
func (s *taskStore) Lease(ctx context.Context, r task.Request) (leased, ended []task.Task, err error) {
	const op = "postgres.Lease"
	if err := s.giveBackLost(ctx); err != nil {
		return nil, nil, pgnode.ConvertError(op, err)
	}
	var fence int64
	err = s.db.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
		leased, ended = nil, nil
		if r.Own {
			if err := releaseOwn(ctx, x, r); err != nil {
				return err
			}
		}
		if ended, err = endAbandoned(ctx, x, r); err != nil {
			return err
		}
		var damaged []task.Task
		if leased, damaged, fence, err = take(ctx, x, r); err != nil {
			return err
		}
		damaged, err = endDamaged(ctx, x, damaged)
		ended = append(ended, damaged...)
		return err
	})
	if err != nil {
		if pgnode.Unsettled(err) != nil && fence > 0 {
			s.mu.Lock()
			s.lost = append(s.lost, fence)
			s.mu.Unlock()
		}
		return nil, nil, pgnode.ConvertError(op, err)
	}
	// The database returns what it updated in no order.
	slices.SortStableFunc(leased, func(a, b task.Task) int {
		return cmp.Or(a.RunAt.Compare(b.RunAt), a.Times.Created.Compare(b.Times.Created))
	})
	return leased, ended, nil
}

// giveBackLost gives back what was leased although the holder never heard of it: what it holds is not leased to it
// again, and nobody would run it.
func (s *taskStore) giveBackLost(ctx context.Context) error {
	s.mu.Lock()
	lost := slices.Clone(s.lost)
	s.mu.Unlock()
	if len(lost) == 0 {
		return nil
	}
	err := s.db.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
		_, err := x.Exec(ctx, "UPDATE tasks SET due = "+now+", lease_until = "+now+", holder = '', attempt = attempt - 1 "+
			"WHERE node = $1 AND fence = ANY ($2) AND state = 'running'", s.db.NodeID(), lost)
		return err
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = slices.DeleteFunc(s.lost, func(fence int64) bool { return slices.Contains(lost, fence) })
	return nil
}

// due is what a holder may be given: the rest of a condition on the node's tasks, and its arguments.
func due(node string, r task.Request) (where string, args []any) {
	where, args = "due <= "+now+" AND holder <> $2", []any{node, text(r.Holder)}
	if r.ID != "" {
		args = append(args, text(r.ID))
		where += " AND id = " + parameter(args)
	}
	return where, args
}

// take gives out tasks under a new fence. Those of one request share it: a fence tells apart the leases of a task.
func take(ctx context.Context, x *pgnode.Tx, r task.Request) (leased, damaged []task.Task, fence int64, err error) {
	where, args := due(x.NodeID(), r)
	if len(r.Kinds) > 0 {
		args = append(args, texts(r.Kinds))
		where += " AND kind = ANY (" + parameter(args) + ")"
	}
	args = append(args, max(r.N, 1))
	var nums, jobs []int64
	_, err = pgnode.QueryTx(ctx, x, func(row pgx.CollectableRow) (none struct{}, err error) {
		var num, job int64
		err = row.Scan(&num, &job)
		nums, jobs = append(nums, num), append(jobs, job)
		return none, err
	}, "SELECT num, job FROM tasks WHERE node = $1 AND "+where+
		" ORDER BY run_at, num LIMIT "+parameter(args)+" FOR UPDATE SKIP LOCKED", args...)
	if err != nil || len(nums) == 0 {
		return nil, nil, 0, err
	}
	const update = "WITH gone AS (DELETE FROM river_job WHERE id = ANY ($4) AND state <> 'running') " +
		"UPDATE tasks SET state = 'running', fence = new.fence, attempt = attempt + 1, holder = $1, job = 0, " +
		"lease_until = new.until, due = new.until, started = CASE WHEN started = 0 THEN " + now + " ELSE started END " +
		"FROM (SELECT nextval('task_fences') AS fence, " + now + " + $2::bigint AS until) AS new " +
		"WHERE num = ANY ($3) RETURNING "
	columns := strings.ReplaceAll(" "+taskColumns, " fence,", " tasks.fence,") // new has one too
	rows, err := pgnode.QueryTx(ctx, x, scanRow(x), update+columns, text(r.Holder), int64(r.For), nums, jobs)
	leased, damaged = apart(rows)
	if len(rows) > 0 {
		fence = number(rows[0].Lease.Fence)
	}
	return leased, damaged, fence, err
}

// apart tells tasks from those whose rows cannot be read.
func apart(rows []taskRow) (whole, damaged []task.Task) {
	for _, r := range rows {
		if r.unread != nil {
			damaged = append(damaged, r.Task)
		} else {
			whole = append(whole, r.Task)
		}
	}
	return whole, damaged
}

// endDamaged ends tasks whose rows cannot be read: one of them does not keep the others from being leased, now or ever.
func endDamaged(ctx context.Context, x *pgnode.Tx, damaged []task.Task) ([]task.Task, error) {
	for i := range damaged {
		e := tool.Errorf("postgres.Lease", tool.Internal, "the record of the task is damaged, or no node of the cluster wrote it")
		o := task.Outcome{State: task.Failed, Summary: e.Message, Error: e}
		const mend = "UPDATE tasks SET asker = '{}', input = NULL, data = NULL, mac = $3, data_mac = $4 WHERE node = $1 AND id = $2"
		mac := x.Sign(signedTask(x.NodeID(), &damaged[i], []byte("{}"), nil))
		dataMAC := x.Sign(pgnode.SignedTaskData(x.NodeID(), damaged[i].ID, nil))
		if _, err := x.Exec(ctx, mend, x.NodeID(), text(damaged[i].ID), mac, dataMAC); err != nil {
			return nil, err
		}
		if err := endTask(ctx, x, damaged[i].ID, o); err != nil {
			return nil, err
		}
		var err error
		if damaged[i], err = pgnode.QueryOneTx(ctx, x, scanTask(x), taskByID, x.NodeID(), text(damaged[i].ID)); err != nil {
			return nil, err
		}
	}
	return damaged, nil
}

// releaseOwn takes the tasks that are left of a holder's former process from it.
func releaseOwn(ctx context.Context, x *pgnode.Tx, r task.Request) error {
	update := "UPDATE tasks SET due = " + now + ", lease_until = " + now + ", holder = '' " +
		"WHERE node = $1 AND holder = $2 AND state = 'running' AND ended = 0 AND NOT id = ANY ($3)"
	args := []any{x.NodeID(), text(r.Holder), texts(r.Runs)}
	if r.ID != "" {
		update, args = update+" AND id = $4", append(args, text(r.ID))
	}
	_, err := x.Exec(ctx, update, args...)
	return err
}

// endAbandoned ends the tasks whose lease has ended and that are not to be run again, unless the holder that asks has
// them.
func endAbandoned(ctx context.Context, x *pgnode.Tx, r task.Request) (ended []task.Task, err error) {
	where, args := due(x.NodeID(), r)
	rows, err := pgnode.QueryTx(ctx, x, scanRow(x), selectTasks+where+" AND state = 'running' AND "+
		"(cancelled_by <> '' OR max_attempts > 0 AND attempt >= max_attempts) FOR UPDATE SKIP LOCKED", args...)
	if err != nil {
		return nil, err
	}
	abandoned, damaged := apart(rows)
	if damaged, err = endDamaged(ctx, x, damaged); err != nil {
		return nil, err
	}
	for _, t := range abandoned {
		o := task.LostOutcome(t.Attempt)
		if t.CancelledBy != "" {
			o = task.CancelledOutcome(t.CancelledBy)
		}
		if err := endTask(ctx, x, t.ID, o); err != nil {
			return nil, err
		}
		if t, err = pgnode.QueryOneTx(ctx, x, scanTask(x), taskByID, x.NodeID(), text(t.ID)); err != nil {
			return nil, err
		}
		ended = append(ended, t)
	}
	return append(ended, damaged...), nil
}

// Renew changes the tasks in the order of their IDs: two who renew the same do not wait for each other.
func (s *taskStore) Renew(ctx context.Context, leases []task.Renewal, d time.Duration) (found task.Renewed, err error) {
	if len(leases) == 0 {
		return found, nil
	}
	leases = slices.Clone(leases)
	slices.SortStableFunc(leases, func(a, b task.Renewal) int { return strings.Compare(a.ID, b.ID) })
	const update = "UPDATE tasks SET lease_until = " + now + " + $2::bigint, due = " + now + " + $2::bigint, " +
		"progress = CASE WHEN $3::bytea = '' THEN progress ELSE $3::bytea END " +
		"WHERE node = $1 AND id = $4 AND fence = $5 AND state = 'running' RETURNING cancelled_by"
	err = s.db.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
		found = task.Renewed{}
		var batch pgx.Batch
		for _, l := range leases {
			batch.Queue(update, s.db.NodeID(), int64(d), text(l.Progress), text(l.ID), number(l.Fence))
		}
		results, err := x.Send(ctx, &batch)
		if err != nil {
			return err
		}
		for _, l := range leases {
			var by text
			err := results.QueryRow().Scan(&by)
			switch {
			case pgnode.Absent(err):
				found.Lost = append(found.Lost, l.ID)
			case err != nil:
				_ = results.Close() // it says the same again
				return err
			case by != "":
				found.Cancelled = append(found.Cancelled, l.ID)
			}
		}
		return results.Close()
	})
	if err != nil {
		return task.Renewed{}, pgnode.ConvertError("postgres.Renew", err)
	}
	return found, nil
}

const nextDue = "SELECT due FROM tasks WHERE node = $1 AND due IS NOT NULL AND holder <> $2"

// Next reads the beginning of the index of what is due.
func (s *taskStore) Next(ctx context.Context, holder string, kinds ...string) (time.Time, error) {
	statement, args := nextDue, []any{s.db.NodeID(), text(holder)}
	if len(kinds) > 0 {
		statement, args = statement+" AND kind = ANY ($3)", append(args, texts(kinds))
	}
	at, err := pgnode.QueryOne(ctx, s.db, pgx.RowTo[int64], statement+" ORDER BY due LIMIT 1", args...)
	if pgnode.Absent(err) {
		return time.Time{}, nil
	}
	return fromNanos(at), pgnode.ConvertError("postgres.Next", err)
}

// pruned is how many tasks one transaction removes: others write between two of them.
const pruned = 100

// Prune deletes tasks that nobody waits for.
func (s *taskStore) Prune(ctx context.Context, endedBefore time.Time) (n int, err error) {
	const remove = "DELETE FROM tasks WHERE num IN (SELECT num FROM tasks WHERE node = $1 AND " + settledTasks +
		" AND ended < $2 LIMIT $3 FOR UPDATE SKIP LOCKED)"
	for {
		var some int64
		err := s.db.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) (err error) {
			some, err = x.Exec(ctx, remove, s.db.NodeID(), endedBefore.UnixNano(), pruned)
			return err
		})
		if err != nil {
			return n, pgnode.ConvertError("postgres.Prune", err)
		}
		if n += int(some); some < pruned {
			return n, nil
		}
	}
}
