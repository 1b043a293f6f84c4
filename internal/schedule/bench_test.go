package schedule_test

import (
	"testing"
	"time"

	"callgate/internal/schedule"
)

func BenchmarkNext(b *testing.B) {
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	for _, text := range []string{"*/5 * * * *", "0 9 * * 1-5", "0 2 29 2 *"} {
		p, err := schedule.Parse(text, schedule.Options{Now: now, Zone: zoneOf(b, "Europe/Berlin")})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Next(now)
			}
		})
	}
}
