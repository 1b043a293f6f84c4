package journal_test

import (
	"testing"
	"time"

	"callgate/internal/cli/journal"
)

func TestReadTime(t *testing.T) {
	t.Parallel()
	place := time.FixedZone("there", 3*60*60)
	now := time.Date(2026, 3, 1, 1, 30, 0, 0, place)
	for words, want := range map[string]string{
		"today": "2026-03-01T00:00:00+03:00", "yesterday": "2026-02-28T00:00:00+03:00",
		" 12h ": "2026-02-28T13:30:00+03:00", "2d": "2026-02-27T01:30:00+03:00",
		"2026-01-31": "2026-01-31T00:00:00+03:00", "2026-01-31 09:00": "2026-01-31T09:00:00+03:00",
		"2026-01-31T09:00": "2026-01-31T09:00:00+03:00", "2026-01-31T09:00:00Z": "2026-01-31T09:00:00Z",
	} {
		if at, err := journal.ReadTime(words, now); err != nil || at.Format(time.RFC3339) != want {
			t.Errorf("%q is %s (%v), want %s", words, at.Format(time.RFC3339), err, want)
		}
	}
	for _, words := range []string{"", "soon", "31.01.2026", "-1h"} {
		if at, err := journal.ReadTime(words, now); err == nil {
			t.Errorf("%q is %s", words, at)
		}
	}
}
