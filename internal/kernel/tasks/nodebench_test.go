package tasks_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"callgate/internal/kernel/background"
	"callgate/internal/kernel/tasks"
	"callgate/internal/storage/postgres"
	"callgate/internal/task"
)

// BenchmarkNode is what tasks take on PostgreSQL: how long starting one takes, how many are done in a second by 16 who
// start them, and how late those are begun that wait for their time.
func BenchmarkNode(b *testing.B) {
	db, err := postgres.Open(b.Context(), server.URL(b), postgres.Node{ID: "n", Lease: time.Hour})
	ok(b, err)
	defer db.Close()
	s := db.Stores()
	group := background.New(b.Context())
	defer group.Close()
	r := tasks.New(carried(db, tasks.Options{
		Store: s.Tasks, Queue: s.Queue, Leases: s.Leases, Logs: s.TaskLogs, Holder: "n", Go: group.Go, Log: quiet(),
	}))
	var ended sync.WaitGroup
	late := make(chan time.Duration, 1000)
	r.Handle("now", func(context.Context, *tasks.Run) task.Outcome {
		ended.Done()
		return task.Outcome{State: task.Done}
	})
	r.Handle("later", func(_ context.Context, one *tasks.Run) task.Outcome {
		late <- time.Since(one.RunAt)
		return task.Outcome{State: task.Done}
	})
	r.Run()
	n := 0
	for b.Loop() {
		n++
		start := func(id string) time.Duration {
			ended.Add(1)
			began := time.Now()
			_, err := r.Start(b.Context(), task.Task{ID: id, Kind: "now"})
			ok(b, err)
			return time.Since(began)
		}
		var took []time.Duration
		for i := range 200 {
			took = append(took, start(fmt.Sprint("one-", n, "-", i)))
		}
		ended.Wait()
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/start")

		began := time.Now()
		var callers sync.WaitGroup
		for c := range 16 {
			callers.Go(func() {
				for i := range 60 {
					start(fmt.Sprint("many-", n, "-", c, "-", i))
				}
			})
		}
		callers.Wait()
		ended.Wait()
		for r.Running() > 0 {
			<-time.After(time.Millisecond)
		}
		b.ReportMetric(16*60/time.Since(began).Seconds(), "tasks/s")

		const waits = 200
		due := time.Now().Add(2 * time.Second)
		for i := range waits {
			at := due.Add(time.Duration(i) * 10 * time.Millisecond)
			_, err := r.Start(b.Context(), task.Task{ID: fmt.Sprint("later-", n, "-", i), Kind: "later", RunAt: at})
			ok(b, err)
		}
		var all []time.Duration
		for range waits {
			all = append(all, <-late)
		}
		slices.Sort(all)
		b.ReportMetric(float64(all[waits/2].Microseconds()), "µs-late")
		b.ReportMetric(float64(all[waits*99/100].Microseconds()), "µs-late-p99")
	}
}
