package locks_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/internal/gate/lock"
	"callgate/internal/gate/lock/locktest"
	"callgate/internal/storage/postgres/locks"
)

// BenchmarkAcquireRelease is an acquisition and its release at three nodes in turn, by some callers at a time: each of
// its own thing, and all of the same one. The server is that of the tests, which runs with fsync off: a disk adds its
// time to each acquisition, and none to a release.
func BenchmarkAcquireRelease(b *testing.B) {
	for _, callers := range []int{1, 4, 16} {
		for name, resource := range map[string]string{"apart": "X host:api%d.example.org", "same": "X host:api.example.org"} {
			b.Run(fmt.Sprintf("%s/%d", name, callers), func(b *testing.B) {
				l := openTested(b)
				var left atomic.Int64
				left.Store(int64(b.N))
				var all sync.WaitGroup
				b.ResetTimer()
				for caller := range callers {
					text := resource
					if name == "apart" {
						text = fmt.Sprintf(resource, caller)
					}
					request := lock.Request{Claims: locktest.Claims(text), Holder: lock.Holder{Call: "c1", Tool: "http.get"}}
					all.Go(func() {
						for left.Add(-1) >= 0 {
							hold, err := l.nodes[caller%len(l.nodes)].Acquire(b.Context(), request, locks.Watch{})
							if err != nil {
								b.Error(err)
								return
							}
							released := make(chan struct{})
							hold.Release(func() { close(released) })
							<-released
						}
					})
				}
				all.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
			})
		}
	}
}

// BenchmarkTwoRoundTrips is what an acquisition and its release cannot be faster than: two statements that do nothing.
func BenchmarkTwoRoundTrips(b *testing.B) {
	c := newCluster(b)
	for b.Loop() {
		for range 2 {
			c.exec(b, "SELECT 1")
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}
