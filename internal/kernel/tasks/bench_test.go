//go:build unix

package tasks_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"callgate/internal/kernel/background"
	"callgate/internal/kernel/tasks"
	"callgate/internal/storage/sqlite"
	"callgate/internal/task"
)

// BenchmarkIdle is the share of one processor that a runner takes, in a second with
// nothing due: 10,000 schedules wait, and 1,000 tasks run that do nothing.
func BenchmarkIdle(b *testing.B) {
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "tasks.db"))
	ok(b, err)
	defer db.Close()
	s := db.Stores()
	later := time.Now().Add(24 * time.Hour)
	for i := range 10_000 {
		one := task.Task{ID: fmt.Sprint("schedule-", i), Kind: "schedule", RunAt: later.Add(time.Duration(i) * time.Second)}
		_, _, err := s.Tasks.Create(b.Context(), one)
		ok(b, err)
	}
	group := background.New(b.Context())
	r := tasks.New(tasks.Options{
		Store: s.Tasks, Queue: s.Queue, Leases: s.Leases, Logs: s.TaskLogs, Holder: "k",
		Log: slog.New(slog.DiscardHandler), Go: group.Go,
	})
	r.Handle("schedule", func(context.Context, *tasks.Run) task.Outcome { return task.Outcome{State: task.Done} })
	r.Handle("watch", wait)
	r.Run()
	for i := range 1000 {
		_, err := r.Start(b.Context(), task.Task{ID: fmt.Sprint("watch-", i), Kind: "watch"})
		ok(b, err)
	}
	used := func() time.Duration {
		var u syscall.Rusage
		ok(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before, began := used(), time.Now()
	for b.Loop() {
		<-time.After(time.Second)
	}
	b.ReportMetric(100*float64(used()-before)/float64(time.Since(began)), "%-of-a-core")
	group.Close()
}
