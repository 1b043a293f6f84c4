package command_test

import (
	"strings"
	"testing"
	"time"

	"callgate/internal/cli/command"
	"callgate/tool"
)

func TestParseAge(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for age, want := range map[string]time.Duration{
		"30d": 30 * day, "2w": 14 * day, "12h": 12 * time.Hour, "0d": 0, "0": 0, "1h30m": 90 * time.Minute, "36500d": 36500 * day, "5214w": 36498 * day,
	} {
		if got, err := command.ParseAge(age); err != nil || got != want {
			t.Errorf("%s is %v, want %v: %v", age, got, want, err)
		}
	}
	for _, age := range []string{"", "d", "-1d", "-1h", "1.5d", "36501d", "5215w", "20000w", "36500w", "99999999999999999999d", "30", "yesterday", "1 d"} {
		got, err := command.ParseAge(age)
		if tool.KindOf(err) != tool.Invalid || got != 0 || !strings.Contains(err.Error(), "30d") {
			t.Errorf("%q is %v: %v", age, got, err)
		}
	}
}

func FuzzParseAge(f *testing.F) {
	for _, seed := range []string{"30d", "2w", "12h", "-1d", "20000w", "1e9h", "9223372036854775807ns"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, age string) {
		if got, err := command.ParseAge(age); got < 0 || err != nil && got != 0 {
			t.Errorf("%q is %v: %v", age, got, err)
		}
	})
}
