package undoing_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/undo"
)

// BenchmarkCapture writes a file again and again, in turns with and without keeping what it
// was, and reports the medians and their ratio: what the images cost a write.
func BenchmarkCapture(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			write := func(l undo.Limits) func(int) time.Duration {
				_, s := openWith(b, kernel.Config{State: kerneltest.StateDir(b), Undo: l}, b.TempDir())
				return func(i int) time.Duration {
					text := fmt.Sprintln(i) + strings.Repeat("0123456789abcde\n", size/16)
					args, err := json.Marshal(map[string]string{"path": "a.txt", "content": text})
					ok(b, err)
					began := time.Now()
					call(b, s, "filesystem.write", string(args))
					return time.Since(began)
				}
			}
			kept, bare := write(undo.Limits{}), write(undo.Limits{Off: true})
			kept(-1)
			bare(-1)
			var with, without []time.Duration
			b.ResetTimer()
			for i := range b.N {
				with = append(with, kept(i))
				without = append(without, bare(i))
			}
			b.ReportMetric(float64(median(with).Microseconds()), "kept-µs")
			b.ReportMetric(float64(median(without).Microseconds()), "bare-µs")
			b.ReportMetric(float64(median(with))/float64(median(without)), "kept/bare")
		})
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
