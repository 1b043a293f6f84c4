package amount_test

import (
	"testing"
	"time"

	"callgate/internal/amount"
)

func TestParseSpan(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "0d": 0, "30d": 30 * day, "2w": 14 * day, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute, "36500d": 36500 * day,
	} {
		if got, ok := amount.ParseSpan(text); !ok || got != want {
			t.Errorf("%q is %v (%v), want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "d", "-1d", "-1h", "1.5d", "36501d", "99999999999999999999d", "30", "soon", "1 d"} {
		if got, ok := amount.ParseSpan(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}
