package riverjobs

import (
	"context"

	"callgate/internal/storage/postgres/pgnode"
)

// filled is how many tasks one transaction gives jobs to.
const filled = 1000

// Fill gives a job to each task of the node that waits and has none in the node's queue: one that another driver or an
// earlier version kept, one that was another node's, and one whose job was lost. Jobs in other queues that such tasks
// had are removed.
func (j *Jobs) Fill(ctx context.Context) error {
	for {
		n, err := j.fillSome(ctx)
		if err != nil || n < filled {
			return pgnode.ConvertError("riverjobs.Fill", err)
		}
	}
}

// lacking are the tasks of a node without a job. One that somebody changes just then is passed over: that one sees to
// it. One that is leased waits if another holder has it than the node, which looks after its own.
const lacking = "SELECT num, job FROM tasks WHERE node = $1 AND due IS NOT NULL " +
	"AND (state = 'queued' OR holder <> convert_to($1, 'UTF8')) AND NOT EXISTS (SELECT FROM river_job AS j " +
	"WHERE j.id = tasks.job AND j.queue = $2 AND j.finalized_at IS NULL) " +
	"ORDER BY due LIMIT $3 FOR UPDATE SKIP LOCKED"

func (j *Jobs) fillSome(ctx context.Context) (n int, err error) {
	const give = "WITH lacking AS (" + lacking + "), gone AS (DELETE FROM river_job USING lacking " +
		"WHERE river_job.id = lacking.job AND state <> 'running') " +
		"UPDATE tasks SET job = " + Next + " FROM lacking WHERE tasks.num = lacking.num RETURNING " + Returned
	err = j.db.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
		waits, err := pgnode.QueryTx(ctx, x, ScanWait, give, j.db.NodeID(), j.queue, filled)
		if err != nil {
			return err
		}
		n = len(waits)
		return j.insertAll(ctx, x, waits)
	})
	return n, err
}

// takeBack has the jobs told again that a former process of the node was being told when it ended. River would by
// itself, an hour later.
func (j *Jobs) takeBack(ctx context.Context) error {
	return pgnode.ConvertError("riverjobs.takeBack", j.db.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
		_, err := x.Exec(ctx, "DELETE FROM river_job WHERE queue = $1 AND state = 'running'", j.queue)
		return err
	}))
}
