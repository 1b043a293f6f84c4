//go:build unix

package sqlite_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"callgate/internal/storage"
	"callgate/internal/storage/sqlite"
	"callgate/internal/task"
)

// fillTasks makes a database with tasks that have ended, told and not too old, and tasks
// that are due in ten years.
func fillTasks(b *testing.B, ended, queued int) (path string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "state.db")
	db, err := sqlite.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	now, later := time.Now().UnixNano(), time.Now().AddDate(10, 0, 0).UnixNano()
	const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d) `
	const asker = `CAST('{"principal":{"user":"ada","session":"s'||(i%%100)||'"}}' AS BLOB)`
	old := raw(b, path)
	if ended > 0 {
		run(b, old, fmt.Sprintf(numbers+`INSERT INTO tasks
			(id, kind, label, parent, session, asker, input, state, run_at, max_attempts, outcome, created, started, ended, told)
			SELECT 'ended-'||i, 'watch', 'a label', 's'||(i%%100), 's'||(i%%100), `+asker+`, randomblob(300), 'done', %d, 1,
			CAST('{"state":"done","summary":"all is well"}' AS BLOB), %d, %d, %d, %d FROM n`, ended, now, now, now, now, now))
	}
	if queued > 0 {
		run(b, old, fmt.Sprintf(numbers+`INSERT INTO tasks
			(id, kind, label, parent, session, asker, state, run_at, due, max_attempts, created)
			SELECT 'queued-'||i, 'schedule', 'a label', 's'||(i%%100), 's'||(i%%100), `+asker+`, 'queued', %d+i, %d+i, 0, %d
			FROM n`, queued, later, later, now))
	}
	if err := old.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

func value[T any](b *testing.B) func(T, error) T {
	return func(v T, err error) T {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
}

// cpu reports the processor time of an operation, which says more than the time it took on
// a machine that does other work too. It is called first, and what it returns last.
func cpu(b *testing.B) (report func()) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := used()
	return func() { b.ReportMetric(float64(used()-began)/float64(b.N)/1e3, "cpu-µs/op") }
}

// BenchmarkTaskStart is what a start asks of the tasks: the file is opened, what a dead
// process held is resolved, and what is active, owed and due is read.
func BenchmarkTaskStart(b *testing.B) {
	for _, ended := range []int{0, 100_000} {
		b.Run(fmt.Sprint("ended=", ended), func(b *testing.B) {
			path := fillTasks(b, ended, 100)
			defer cpu(b)()
			for b.Loop() {
				db := value[*sqlite.DB](b)(sqlite.Open(b.Context(), path))
				s := db.Stores()
				r := task.Request{Holder: "h", Kinds: []string{"watch", "schedule"}, Own: true, For: time.Minute, N: 32}
				if _, _, err := s.Queue.Lease(b.Context(), r); err != nil {
					b.Fatal(err)
				}
				value[time.Time](b)(s.Queue.Next(b.Context(), "h", "watch", "schedule"))
				value[[]task.Task](b)(s.Tasks.List(b.Context(), task.Query{Active: true}))
				value[[]task.Task](b)(s.Tasks.List(b.Context(), task.Query{Active: true, Session: "s1"}))
				value[[]task.Task](b)(s.Tasks.List(b.Context(), task.Query{Active: true, Parent: "s1"}))
				value[[]task.Task](b)(s.Tasks.List(b.Context(), task.Query{Owed: true}))
				value[int](b)(s.Queue.Prune(b.Context(), time.Now().Add(-time.Hour)))
				if err := db.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// leaseAll makes n tasks and holds them.
func leaseAll(b *testing.B, s storage.Stores, n int) (held []task.Renewal) {
	b.Helper()
	for i := range n {
		one := task.Task{ID: fmt.Sprint(i), Kind: "watch", Label: "a label", Parent: "p"}
		if _, _, err := s.Tasks.Create(b.Context(), one); err != nil {
			b.Fatal(err)
		}
	}
	leased, _, err := s.Queue.Lease(b.Context(), task.Request{Holder: "h", For: time.Minute, N: n})
	if err != nil || len(leased) != n {
		b.Fatal(len(leased), err)
	}
	for _, t := range leased {
		held = append(held, task.Renewal{ID: t.ID, Fence: t.Lease.Fence})
	}
	return held
}

// BenchmarkHeartbeat renews leases, all in one transaction.
func BenchmarkHeartbeat(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprint("leases=", n), func(b *testing.B) {
			s := value[*sqlite.DB](b)(sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "state.db")))
			defer s.Close()
			held := leaseAll(b, s.Stores(), n)
			defer cpu(b)()
			for b.Loop() {
				found, err := s.Stores().Queue.Renew(b.Context(), held, time.Minute)
				if err != nil || len(found.Lost) > 0 {
					b.Fatal(found, err)
				}
			}
		})
	}
}

// BenchmarkTaskNext is what an idle runner asks every ten seconds.
func BenchmarkTaskNext(b *testing.B) {
	for _, queued := range []int{1, 10_000} {
		b.Run(fmt.Sprint("queued=", queued), func(b *testing.B) {
			db := value[*sqlite.DB](b)(sqlite.Open(b.Context(), fillTasks(b, 0, queued)))
			defer db.Close()
			defer cpu(b)()
			for b.Loop() {
				value[time.Time](b)(db.Stores().Queue.Next(b.Context(), "h", "watch", "schedule"))
			}
		})
	}
}

// BenchmarkTaskLaunch is what a task costs from its creation to its end: it waits for the
// disk when it is created, and when it ends.
func BenchmarkTaskLaunch(b *testing.B) {
	for _, ended := range []int{0, 100_000} {
		b.Run(fmt.Sprint("ended=", ended), func(b *testing.B) {
			db := value[*sqlite.DB](b)(sqlite.Open(b.Context(), fillTasks(b, ended, ended/10)))
			defer db.Close()
			s := db.Stores()
			n := 0
			defer cpu(b)()
			for b.Loop() {
				n++
				id := fmt.Sprint("launched-", n)
				if _, _, err := s.Tasks.Create(b.Context(), task.Task{ID: id, Kind: "background", Parent: "p"}); err != nil {
					b.Fatal(err)
				}
				leased, _, err := s.Queue.Lease(b.Context(), task.Request{Holder: "h", ID: id, For: time.Minute})
				if err != nil || len(leased) != 1 {
					b.Fatal(leased, err)
				}
				if err := s.Leases.End(b.Context(), id, leased[0].Lease.Fence, task.Outcome{State: task.Done}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTaskAgain is a run of a task that gives itself back: 32 are leased at once, and
// each is given back with new data.
func BenchmarkTaskAgain(b *testing.B) {
	db := value[*sqlite.DB](b)(sqlite.Open(b.Context(), fillTasks(b, 100_000, 10_000)))
	defer db.Close()
	s := db.Stores()
	for i := range 1000 {
		one := task.Task{ID: fmt.Sprint(i), Kind: "watch", Label: "a label", Parent: "p"}
		if _, _, err := s.Tasks.Create(b.Context(), one); err != nil {
			b.Fatal(err)
		}
	}
	data := []byte(`{"checks":17,"last":"2026-07-28T12:00:00Z","hash":"0123456789abcdef"}`)
	var held []task.Task
	defer cpu(b)()
	for b.Loop() {
		if len(held) == 0 {
			var err error
			r := task.Request{Holder: "h", Kinds: []string{"watch"}, For: time.Minute, N: 32}
			if held, _, err = s.Queue.Lease(b.Context(), r); err != nil || len(held) == 0 {
				b.Fatal(len(held), err)
			}
		}
		if err := s.Leases.Again(b.Context(), held[0].ID, held[0].Lease.Fence, time.Time{}, data); err != nil {
			b.Fatal(err)
		}
		held = held[1:]
	}
}

// BenchmarkTaskPrune removes 100,000 tasks, and reports how long another writer waited at
// most.
func BenchmarkTaskPrune(b *testing.B) {
	var worst atomic.Int64
	defer cpu(b)()
	for b.Loop() {
		b.StopTimer()
		db := value[*sqlite.DB](b)(sqlite.Open(b.Context(), fillTasks(b, 100_000, 0)))
		s := db.Stores()
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-tick.C:
				}
				began := time.Now()
				if _, _, err := s.Tasks.Create(b.Context(), task.Task{ID: fmt.Sprint(n), Kind: "k"}); err != nil {
					b.Error(err)
				}
				worst.Store(max(worst.Load(), int64(time.Since(began))))
			}
		}()
		b.StartTimer()
		if n, err := s.Queue.Prune(b.Context(), time.Now().Add(time.Hour)); err != nil || n < 100_000 {
			b.Fatal(n, err)
		}
		b.StopTimer()
		close(stop)
		<-stopped
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(worst.Load())/1e6, "ms-worst-wait")
}
