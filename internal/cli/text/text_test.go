package text_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"callgate/internal/cli/text"
)

func TestSafe(t *testing.T) {
	for in, want := range map[string]string{
		"plain ✓ text\n\tmore":    "plain ✓ text\n\tmore",
		"\x1b[2Jgone":             "⟨U+001B⟩[2Jgone",
		"\x9b2J":                  "⟨not UTF-8: 9B⟩2J",
		"a\u009bb":                "a⟨U+009B⟩b",
		"user\u202egnp.exe":       "user⟨U+202E⟩gnp.exe",
		"line\u2028sep\r\n":       "line⟨U+2028⟩sep⟨U+000D⟩\n",
		"tag\U000e0041":           `tag⟨U+E0041… tags "A"⟩`,
		string([]byte{0xff, 0}):   "⟨not UTF-8: FF⟩⟨U+0000⟩",
		"replacement � is a rune": "replacement � is a rune",
	} {
		if got := text.Safe(in); got != want {
			t.Errorf("Safe(%q) is %q, want %q", in, got, want)
		}
	}
}

func FuzzSafe(f *testing.F) {
	f.Add("\x1b[31m\x00\xff\u202e")
	f.Fuzz(func(t *testing.T, in string) {
		got := text.Safe(in)
		if !utf8.ValidString(got) {
			t.Errorf("Safe(%q) is not UTF-8", in)
		}
		raw := func(r rune) bool {
			return r < ' ' && r != '\n' && r != '\t' || 0x7f <= r && r <= 0x9f || r == '\u202e'
		}
		if strings.ContainsFunc(got, raw) {
			t.Errorf("Safe(%q) is %q", in, got)
		}
	})
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 900 * time.Microsecond: "900 µs", 42 * time.Millisecond: "42 ms",
		1540 * time.Millisecond: "1.5 s", 12900 * time.Millisecond: "12 s", 90 * time.Second: "90 s",
		3 * time.Minute: "3 min", 5 * time.Hour: "5 h", 72 * time.Hour: "3 days",
	} {
		if got := text.Duration(d); got != want {
			t.Errorf("Duration(%d) is %q, want %q", d, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", "\n"},
		{"short", "one two", "one two\n"},
		{"several lines", "one two three four five", "one two\n  three four\n  five\n"},
		{"a long word", "see https://example.com/long now", "see\n  https://example.com/long\n  now\n"},
		{"unsafe", "a\x1b[2J", "a⟨U+001B⟩[2J\n"},
	} {
		if got := text.Wrap(c.in, 12, "  "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
