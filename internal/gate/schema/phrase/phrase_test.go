package phrase_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/gate/schema/phrase"
)

func TestTruncate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"short", 10, "short"}, {"exactly", 7, "exactly"},
		{"too long", 3, "too…"}, {"éé", 3, "é…"}, {"", 0, ""}, {"x", 0, "…"},
		{"a\nb\tc\u2028d\x7fe", 20, "a b c d e"}, {"a\xffb", 20, "a\uFFFDb"},
	} {
		if got := phrase.Truncate(tt.text, tt.most); got != tt.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	doc := map[string]any{"edits": []any{map[string]any{"line": nil}}, "0": map[string]any{}}
	for want, path := range map[string][]string{
		"":                   nil,
		"edits[0].line":      {"edits", "0", "line"},
		"0.a-b":              {"0", "a-b"},
		`["a b"].c`:          {"a b", "c"},
		`[""]`:               {""},
		`edits[0]["\u00a0"]`: {"edits", "0", "\u00a0"},
	} {
		if got := phrase.Path(doc, path); got != want {
			t.Errorf("Path(%q) = %s, want %s", path, got, want)
		}
	}
	if got := phrase.Subject(doc, nil); got != "the arguments" {
		t.Errorf("Subject = %q", got)
	}
}

// For any value the text is short, on one line and valid UTF-8.
func TestDescriptionsOfValues(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é\n", 5000)
	many := map[string]any{}
	for i := range 500 {
		many[strings.Repeat("k", i)] = long
	}
	for _, tt := range []struct {
		value               any
		literal, got, quote string
	}{
		{nil, "null", "null", "null"},
		{true, "true", "true", "true"},
		{json.Number("1.50"), "1.50", "the number 1.50", "the number 1.50"},
		{"a<b", `"a<b"`, `text "a<b"`, `"a<b" (text)`},
		{[]any{1}, "a list of 1 item", "a list of 1 item", "a list of 1 item"},
		{map[string]any{}, "an empty object", "an empty object", "an empty object"},
		{map[string]any{"b": 1, "a": 2}, "an object with a, b", "an object with a, b", "an object with a, b"},
	} {
		l, g, q := phrase.Literal(tt.value), phrase.Actual(tt.value), phrase.Quote(tt.value)
		if l != tt.literal || g != tt.got || q != tt.quote {
			t.Errorf("%v: %q, %q, %q", tt.value, l, g, q)
		}
	}
	for _, value := range []any{long, many, json.Number(strings.Repeat("9", 900)), []any{long, long}} {
		for _, said := range []string{
			phrase.Literal(value), phrase.Actual(value), phrase.Quote(value), phrase.Enum([]any{value, value}),
		} {
			if len(said) > 120 || strings.ContainsAny(said, "\n") || !utf8.ValidString(said) {
				t.Errorf("%d bytes: %q", len(said), said)
			}
		}
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"a, b or c":                         phrase.Or([]string{"a", "b", "c"}),
		"a":                                 phrase.Or([]string{"a"}),
		"null, true or false or a list":     phrase.Types([]string{"null", "boolean", "array"}),
		"a, b and 2 more":                   phrase.List([]string{"a", "b", "c", "d"}, 2),
		"1 item":                            phrase.Count(1, "item"),
		"0 items":                           phrase.Count(0, "item"),
		`one of 1, "a"`:                     phrase.Enum([]any{json.Number("1"), "a", "a"}),
		"an email such as name@example.com": phrase.Format("email"),
		"a phone":                           phrase.Format("phone"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
