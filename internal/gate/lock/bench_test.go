package lock_test

import (
	"context"
	"fmt"
	"testing"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

func threeClaims() []tool.Claim {
	return []tool.Claim{
		{Resource: "file:/home/u/work/project/internal/x.go", Mode: tool.X},
		{Resource: "file:/home/u/work/project/internal/y.go", Mode: tool.S},
		{Resource: "file:/home/u/work/project/go.mod", Mode: tool.S},
	}
}

func BenchmarkAcquireRelease3(b *testing.B) {
	ctx, table := b.Context(), lock.New()
	request := lock.Request{Claims: threeClaims(), Holder: lock.Holder{Call: "c1"}}
	b.ReportAllocs()
	for b.Loop() {
		lease, err := table.Acquire(ctx, request)
		if err != nil {
			b.Fatal(err)
		}
		lease.Release()
	}
}

// The same while another call holds a file in the folder, as in a busy kernel.
func BenchmarkAcquireRelease3Beside(b *testing.B) {
	ctx, table := b.Context(), lock.New()
	other := mustAcquire(b, table, tool.Claim{Resource: "file:/home/u/work/project/internal/z.go", Mode: tool.X})
	defer other.Release()
	request := lock.Request{Claims: threeClaims(), Holder: lock.Holder{Call: "c1"}}
	b.ReportAllocs()
	for b.Loop() {
		lease, err := table.Acquire(ctx, request)
		if err != nil {
			b.Fatal(err)
		}
		lease.Release()
	}
}

func BenchmarkAcquireNothing(b *testing.B) {
	ctx, table := b.Context(), lock.New()
	b.ReportAllocs()
	for b.Loop() {
		lease, err := table.Acquire(ctx, lock.Request{})
		if err != nil {
			b.Fatal(err)
		}
		lease.Release()
	}
}

// One round queues n requests behind a holder of the whole workspace and serves
// them. The cost of each must not grow with n.
func BenchmarkDrain(b *testing.B) {
	const workspace = "file:/home/u/work/project"
	shapes := []struct {
		name  string
		claim func(i int) tool.Claim
	}{
		{"same file X", func(int) tool.Claim { return tool.Claim{Resource: workspace + "/a.go", Mode: tool.X} }},
		{"same file S and X", func(i int) tool.Claim {
			return tool.Claim{Resource: workspace + "/a.go", Mode: []tool.Mode{tool.S, tool.X}[i%2]}
		}},
		{"distinct files X", func(i int) tool.Claim {
			return tool.Claim{Resource: fmt.Sprintf("%s/dir/f%d.go", workspace, i), Mode: tool.X}
		}},
	}
	ends := []struct {
		name string
		end  func(ctx context.Context, tickets []*lock.Ticket) error
	}{
		{"served", func(ctx context.Context, tickets []*lock.Ticket) error {
			for _, ticket := range tickets {
				lease, err := ticket.Wait(ctx)
				if err != nil {
					return err
				}
				lease.Release()
			}
			return nil
		}},
		{"cancelled backwards", func(_ context.Context, tickets []*lock.Ticket) error {
			for i := range tickets {
				tickets[len(tickets)-1-i].Cancel()
			}
			return nil
		}},
	}
	for _, shape := range shapes {
		for _, end := range ends {
			for _, n := range []int{1_000, 10_000} {
				claims := make([][]tool.Claim, n)
				for i := range claims {
					claims[i] = []tool.Claim{shape.claim(i)}
				}
				b.Run(fmt.Sprintf("%s/%s/%d", shape.name, end.name, n), func(b *testing.B) {
					ctx, table := b.Context(), lock.New()
					tickets := make([]*lock.Ticket, n)
					b.ReportAllocs()
					for b.Loop() {
						holder := mustAcquire(b, table, tool.Claim{Resource: workspace, Mode: tool.X})
						for i := range tickets {
							var err error
							if tickets[i], err = table.Enqueue(lock.Request{Claims: claims[i]}); err != nil {
								b.Fatal(err)
							}
						}
						holder.Release()
						if err := end.end(ctx, tickets); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/waiter")
				})
			}
		}
	}
}

func mustAcquire(tb testing.TB, table *lock.Table, claims ...tool.Claim) *lock.Lease {
	tb.Helper()
	lease, err := table.Acquire(tb.Context(), lock.Request{Claims: claims})
	if err != nil {
		tb.Fatal(err)
	}
	return lease
}
