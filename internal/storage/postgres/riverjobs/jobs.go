// Package riverjobs keeps a job of River for each task of a node that waits, and tells the node's runner of the tasks
// whose time has come.
//
// # Law
//
// The table of tasks is the truth: who runs a task, under which fence, what is in doubt and what is owed is there, and
// nowhere else. A job says one thing: that this task is to be looked at, then. It is a wake-up that is not lost, and
// proves nothing.
//
//   - The transaction that makes a task wait inserts its job, whose number the task's row has. The transaction that
//     leases it, or ends it while it waits, removes the job, unless the job is just being told. So no job is left of a
//     task that does not wait, and none is told of in bulk: of what was leased there is nothing to tell.
//   - Both are transactions of the node (pgnode): of a node whose epoch is past, no job is inserted or removed. What
//     River writes by itself, in its own tables, no epoch guards: at worst a job is told to a process that is fenced,
//     which is refused the lease, or is told twice, of which one lease comes.
//   - Each node has a queue of its own. Who is told of a job reads the task's row: if the task does not wait with this
//     very job, the job is done.
//   - A task that the runner cannot lease now, because it is held or the database refuses it, is told again.
//   - What has no job waits all the same, and the runner's own look finds it: so nothing stands still when River's
//     leader is gone, which moves jobs to the time of their task. [Jobs.Fill] gives each task that waits a job, as
//     where another node or an earlier version left one without.
//   - A task that is due when it begins to wait is leased by who made it so. Its job comes a moment later, for when
//     that one could not.
package riverjobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"callgate/internal/storage/postgres/pgnode"
)

// Grace is how much later than its task a job comes whose task is due at once.
const Grace = 3 * time.Second

// maxSchema is the longest name of a schema whose channels have names that PostgreSQL takes. In a schema with a longer
// one River tells nobody anything: jobs are kept, and runners look by themselves.
const maxSchema = 46

// maxAttempts is more often than a job is ever told: one that cannot be leased is put off, which is no attempt.
const maxAttempts = 1000

// args are what a job says.
type args struct {
	Node string `json:"node"`
	Task int64  `json:"task"` // the number of its row
	wait Wait
	told bool // somebody may be told of it
}

// Kind is what River calls such jobs.
func (args) Kind() string { return "callgate_task" }

// Jobs are the jobs of a node.
type Jobs struct {
	db     *pgnode.DB
	queue  string
	insert *river.Client[pgx.Tx] // it works nothing
}

// Of returns the jobs of the node that has a database open.
func Of(db *pgnode.DB) (*Jobs, error) {
	client, err := river.NewClient(riverpgxv5.New(db.Pool()), &river.Config{
		Logger: slog.New(slog.DiscardHandler), // it says nothing but what it returns
		Hooks:  []rivertype.Hook{river.HookInsertBeginFunc(complete)},
	})
	if err != nil {
		return nil, pgnode.ConvertError("riverjobs.Of", err)
	}
	return &Jobs{db: db, queue: queueOf(db.NodeID()), insert: client}, nil
}

// works reports whether River can work in the schema.
func (j *Jobs) works() bool { return len(j.db.Schema()) <= maxSchema }

// complete gives a job what River cannot be told otherwise: the number that the task's row has, and a time by the
// server's clock, also where it is past.
func complete(_ context.Context, p *rivertype.JobInsertParams) error {
	a, is := p.Args.(args)
	if !is {
		return nil
	}
	p.ID, p.ScheduledAt, p.State = &a.wait.Job, &a.wait.Due, rivertype.JobStateScheduled
	if a.wait.Now && a.told {
		p.State = rivertype.JobStateAvailable
	}
	return nil
}

// queueOf is the queue of a node. River's names are short and have few letters.
func queueOf(node string) string {
	sum := sha256.Sum256([]byte(node))
	return "node_" + hex.EncodeToString(sum[:8])
}

// Next is, in a statement that makes a task wait, the number of its job.
const Next = "nextval('river_job_id_seq')"

// Returned is what such a statement returns for [ScanWait].
const Returned = "tasks.num, tasks.job, coalesce(due, 0), coalesce(due <= " + now + ", false)"

// now is the server's clock in nanoseconds.
const now = "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint * 1000"

// Wait is a task that waits: the number of its row and of its job, and when it is due.
type Wait struct {
	Task, Job int64
	Due       time.Time
	Now       bool // it is due already
}

// ScanWait reads a row of [Returned].
func ScanWait(row pgx.CollectableRow) (w Wait, err error) {
	var due int64
	err = row.Scan(w.Into(&due)...)
	w.DueAt(due)
	return w, err
}

// Into is where the columns of [Returned] are read to; DueAt is given the due that was read.
func (w *Wait) Into(due *int64) []any { return []any{&w.Task, &w.Job, due, &w.Now} }

// DueAt sets when the task is due, in nanoseconds.
func (w *Wait) DueAt(nanos int64) { w.Due = time.Unix(0, nanos) }

// Insert inserts the jobs of tasks that wait, in the transaction that makes them wait. The one of a task that is due
// already comes a moment later.
func (j *Jobs) Insert(ctx context.Context, x *pgnode.Tx, waits ...Wait) error {
	for i := range waits {
		if waits[i].Now {
			waits[i].Due, waits[i].Now = waits[i].Due.Add(Grace), false
		}
	}
	return j.insertAll(ctx, x, waits)
}

func (j *Jobs) insertAll(ctx context.Context, x *pgnode.Tx, waits []Wait) error {
	lent, err := x.Pgx(ctx)
	if err != nil || len(waits) == 0 {
		return err
	}
	all := make([]river.InsertManyParams, len(waits))
	for i, w := range waits {
		all[i] = river.InsertManyParams{
			Args:       args{Node: j.db.NodeID(), Task: w.Task, wait: w, told: j.works()},
			InsertOpts: &river.InsertOpts{Queue: j.queue, MaxAttempts: maxAttempts},
		}
	}
	_, err = j.insert.InsertManyTx(ctx, lent, all)
	return err
}
