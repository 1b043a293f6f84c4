package browser

import (
	"strings"
	"testing"
)

func TestPageOf(t *testing.T) {
	for name, c := range map[string]struct {
		text          string
		offset, limit int
		want          string
		fails         bool
	}{
		"all":    {"héllo", 0, 0, "héllo", false},
		"first":  {"héllo", 0, 2, "hé", false},
		"middle": {"héllo", 1, 3, "éll", false},
		"end":    {"héllo", 3, 10, "lo", false},
		"last":   {"héllo", 4, 1, "o", false},
		"past":   {"héllo", 5, 1, "", true},
		"empty":  {"", 0, 5, "", false},
	} {
		got, _, err := pageOf(c.text, c.offset, c.limit)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if part, total, _ := pageOf(strings.Repeat("漢", 50_000), 0, 50_000); len(part) > maxBytes+4 || total != 50_000 {
		t.Errorf("%d bytes of %d characters", len(part), total)
	}
}
