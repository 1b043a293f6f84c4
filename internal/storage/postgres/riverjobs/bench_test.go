package riverjobs_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"callgate/internal/storage/postgres/riverjobs"
	"callgate/internal/task"
)

// BenchmarkAlone is how late River alone tells of tasks, beside no runner that looks by itself.
func BenchmarkAlone(b *testing.B) {
	db := openNode(b, server.URL(b), "n")
	late := make(chan time.Duration, 100)
	due := map[string]time.Time{}
	begin := time.Now().Add(12 * time.Second)
	for i := range 60 {
		id := fmt.Sprint("t", i)
		due[id] = begin.Add(time.Duration(i) * 333 * time.Millisecond)
		_, _, err := db.Stores().Tasks.Create(b.Context(), task.Task{ID: id, Kind: "k", RunAt: due[id]})
		ok(b, err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		riverjobs.NewCarrier(db.Jobs(), nil).Carry(ctx, func(_ context.Context, id string) error {
			late <- time.Since(due[id])
			return nil
		})
	}()
	for b.Loop() {
		var all []time.Duration
		for range due {
			all = append(all, <-late)
		}
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2].Seconds(), "s-late")
		b.ReportMetric(all[len(all)-1].Seconds(), "s-late-at-most")
	}
	cancel()
	<-done
}
