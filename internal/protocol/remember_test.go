package protocol_test

import (
	"testing"
	"time"

	"callgate/internal/protocol"
)

func TestParseRemember(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	a := protocol.Approval{Choices: make([]protocol.Choice, 3)}
	for _, c := range []struct {
		word   string
		choice int // 0: not a choice
		until  time.Time
		wrong  bool
	}{
		{word: "a"}, {word: ""}, {word: "30d"}, {word: "two"},
		{word: "1", choice: 1}, {word: " 3 ", choice: 3},
		{word: "2 30d", choice: 2, until: now.Add(30 * 24 * time.Hour)},
		{word: "2  2026-08-01", choice: 2, until: time.Date(2026, 8, 2, 0, 0, 0, 0, time.UTC)},
		{word: "0", wrong: true}, {word: "4", wrong: true}, {word: "-1", wrong: true}, {word: "1 soon", wrong: true},
		{word: "1 0d", wrong: true}, {word: "1 30d 2", wrong: true},
	} {
		got, ok, err := a.ParseRemember(c.word, now)
		switch {
		case c.wrong:
			if !ok || err == nil {
				t.Errorf("%q: %+v, %v, %v, want an error", c.word, got, ok, err)
			}
		case ok != (c.choice > 0) || err != nil || ok && (got.Choice != c.choice || !got.Until.Equal(c.until)):
			t.Errorf("%q: %+v, %v, %v", c.word, got, ok, err)
		}
	}
}
