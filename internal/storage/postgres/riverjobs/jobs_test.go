package riverjobs_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/riverjobs"
	"callgate/internal/task"
)

// wrong counts the tasks that wait without a job at their time, or a moment later where they were due at once, and the
// jobs that no waiting task has.
const wrong = `SELECT (SELECT count(*) FROM tasks AS t WHERE due IS NOT NULL AND state = 'queued' AND NOT EXISTS (
		SELECT FROM river_job AS j WHERE j.id = t.job AND j.finalized_at IS NULL
		AND (j.args ->> 'task')::bigint = t.num AND j.args ->> 'node' = t.node
		AND extract(epoch FROM j.scheduled_at) - t.due / 1000000000.0 BETWEEN -0.001 AND $1))
	+ (SELECT count(*) FROM river_job AS j WHERE finalized_at IS NULL AND NOT EXISTS (
		SELECT FROM tasks AS t WHERE t.job = j.id AND t.state = 'queued'))`

func check(t *testing.T, db *postgres.DB, after string) {
	t.Helper()
	if n := ask(t, db, wrong, riverjobs.Grace.Seconds()+0.001); n != 0 {
		t.Fatalf("after %s, %d tasks and jobs do not fit", after, n)
	}
}

// A task has a job while it waits, and none when it is leased or has ended, whatever happens to it.
func TestAJobForEachTaskThatWaits(t *testing.T) {
	t.Parallel()
	db := openNode(t, place(t), "n")
	s := db.Stores()
	dice := rand.New(rand.NewPCG(1, 2))
	later := func() time.Time {
		if dice.IntN(2) == 0 {
			return time.Time{}
		}
		return time.Now().Add(time.Duration(dice.IntN(7200)-3600) * time.Second)
	}
	held := map[string]uint64{}
	begin := func(r task.Request) {
		leased, _, err := s.Queue.Lease(t.Context(), r)
		ok(t, err)
		for _, one := range leased {
			held[one.ID] = one.Lease.Fence
		}
	}
	one := func() (id string, fence uint64) {
		for id, fence := range held {
			delete(held, id)
			return id, fence
		}
		return "", 0
	}
	for i := range 150 {
		what := []string{"create", "create", "notice", "lease", "lease one", "again", "retry", "release", "end", "cancel"}[dice.IntN(10)]
		id, fence := fmt.Sprint("t", i), uint64(0)
		switch what {
		case "again", "retry", "release", "end":
			if id, fence = one(); id == "" {
				continue
			}
		}
		var err error
		switch what {
		case "create":
			_, _, err = s.Tasks.Create(t.Context(), task.Task{ID: id, Kind: "k", RunAt: later(), MaxAttempts: dice.IntN(3)})
		case "notice":
			o := task.Outcome{State: task.Done}
			_, _, err = s.Tasks.Create(t.Context(), task.Task{ID: id, Kind: task.Notice, Outcome: &o})
		case "lease":
			begin(task.Request{Holder: "n", N: 3, For: time.Hour})
		case "lease one":
			begin(task.Request{Holder: "n", ID: fmt.Sprint("t", dice.IntN(i+1)), For: time.Hour})
		case "again":
			err = s.Leases.Again(t.Context(), id, fence, later(), nil)
		case "retry":
			err = s.Leases.Retry(t.Context(), id, fence, later(), "why")
		case "release":
			err = s.Leases.Release(t.Context(), id, fence)
		case "end":
			err = s.Leases.End(t.Context(), id, fence, task.Outcome{State: task.Done})
		case "cancel":
			all, listed := s.Tasks.List(t.Context(), task.Query{State: task.Queued})
			ok(t, listed)
			if len(all) > 0 {
				err = s.Tasks.Cancel(t.Context(), all[dice.IntN(len(all))].ID, "ada")
			}
		}
		ok(t, err)
		check(t, db, what)
	}
	if n := ask(t, db, "SELECT count(*) FROM river_job"); n == 0 {
		t.Error("no job is left to compare with")
	}
}

// A process that does not speak for its node any more inserts no job, and removes none.
func TestAFencedProcessHasNoJobs(t *testing.T) {
	t.Parallel()
	at := place(t)
	old := openNode(t, at, "n")
	_, _, err := old.Stores().Tasks.Create(t.Context(), task.Task{ID: "a", Kind: "k"})
	ok(t, err)
	now := openNode(t, at, "n")
	if _, _, err := old.Stores().Tasks.Create(t.Context(), task.Task{ID: "b", Kind: "k"}); !postgres.Fenced(err) {
		t.Errorf("it creates: %v", err)
	}
	if _, _, err := old.Stores().Queue.Lease(t.Context(), task.Request{Holder: "n"}); !postgres.Fenced(err) {
		t.Errorf("it leases: %v", err)
	}
	if err := old.Jobs().Fill(t.Context()); !postgres.Fenced(err) {
		t.Errorf("it fills: %v", err)
	}
	check(t, now, "the end of a process")
	if n := ask(t, now, "SELECT count(*) FROM river_job"); n != 1 {
		t.Errorf("%d jobs", n)
	}
}

// A task that has none is given a job: one of an earlier version or another driver, one whose job was lost, one that
// was another node's. Doing it again changes nothing.
func TestFill(t *testing.T) {
	t.Parallel()
	at := place(t)
	dead, db := openNode(t, at, "dead"), openNode(t, at, "n")
	later := time.Now().Add(time.Hour)
	for i, node := range []*postgres.DB{dead, db, db, db, db} {
		_, _, err := node.Stores().Tasks.Create(t.Context(), task.Task{ID: fmt.Sprint("t", i), Kind: "k", RunAt: later})
		ok(t, err)
	}
	_, _, err := db.Stores().Tasks.Create(t.Context(), task.Task{ID: "done", Kind: "k", Outcome: &task.Outcome{State: task.Done}})
	ok(t, err)
	run(t, db, "UPDATE tasks SET node = 'n' WHERE node = 'dead'")                            // another node's
	run(t, db, "UPDATE tasks SET job = 0 WHERE id = 't1'")                                   // an earlier version's
	run(t, db, "DELETE FROM river_job WHERE id = (SELECT job FROM tasks WHERE id = 't2')")   // lost
	run(t, db, "UPDATE river_job SET state = 'discarded', finalized_at = now() WHERE id = "+ // given up
		"(SELECT job FROM tasks WHERE id = 't3')")
	last := ask(t, db, "SELECT job FROM tasks WHERE id = 't4'")
	run(t, db, "INSERT INTO tasks (node, id, kind, label, parent, session, asker, state, run_at, due, max_attempts, created) "+
		"SELECT 'n', convert_to('many ' || n, 'UTF8'), 'k', '', '', '', '{}', 'queued', $1, $1, 0, 1 "+
		"FROM generate_series(1, 2100) AS n", later.UnixNano())
	for range 2 {
		ok(t, db.Jobs().Fill(t.Context()))
		run(t, db, "DELETE FROM river_job WHERE finalized_at IS NOT NULL "+
			"OR id NOT IN (SELECT job FROM tasks) AND queue = (SELECT queue FROM river_job WHERE id = $1)", last)
		check(t, db, "filling")
		if n := ask(t, db, "SELECT count(*) FROM river_job"); n != 2105 {
			t.Errorf("%d jobs", n)
		}
		if n := ask(t, db, "SELECT count(DISTINCT queue) FROM river_job"); n != 1 {
			t.Errorf("the jobs are in %d queues", n)
		}
		if now := ask(t, db, "SELECT job FROM tasks WHERE id = 't4'"); now != last {
			t.Errorf("a task that had its job has another: %d, before %d", now, last)
		}
	}
}

// River finds its own tables at the version that it would have made them at.
func TestRiversTables(t *testing.T) {
	t.Parallel()
	db := openNode(t, place(t), "n")
	migrator, err := rivermigrate.New(riverpgxv5.New(db.Pool()), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	ok(t, err)
	result, err := migrator.Validate(t.Context(), nil)
	if err != nil || !result.OK {
		t.Errorf("%+v, %v", result, err)
	}
	made, err := migrator.ExistingVersions(t.Context())
	if all := migrator.AllVersions(); err != nil || len(made) != len(all) {
		t.Errorf("%d of %d versions, %v", len(made), len(all), err)
	}
}
