package queue_test

import (
	"context"
	"sync/atomic"
	"testing"

	"callgate/internal/provider/queue"
)

// BenchmarkTurn is what a turn costs: alone, and among a thousand that wait for eight places.
func BenchmarkTurn(b *testing.B) {
	limits := queue.Limits{RPM: 1 << 40, TPM: 1 << 50, MaxConcurrent: 8}
	b.Run("alone", func(b *testing.B) {
		var q queue.Queue
		r := queue.Request{Tokens: 100, Meters: []*queue.Meter{queue.NewMeter(queue.Limits{MaxConcurrent: 8})}}
		for b.Loop() {
			ticket, err := q.Wait(b.Context(), r)
			if err != nil {
				b.Fatal(err)
			}
			ticket.Done(works)
		}
	})
	b.Run("of a thousand", func(b *testing.B) {
		var q queue.Queue
		meters := []*queue.Meter{queue.NewMeter(limits), queue.NewMeter(queue.Limits{MaxConcurrent: 8})}
		var n atomic.Int32
		b.SetParallelism(500) // on two cores a thousand
		b.RunParallel(func(pb *testing.PB) {
			r := queue.Request{Level: queue.Level(n.Add(1) % 2), Tokens: 100, Meters: meters}
			for pb.Next() {
				ticket, err := q.Wait(context.Background(), r)
				if err != nil {
					b.Error(err)
					return
				}
				ticket.Done(works)
			}
		})
	})
}
