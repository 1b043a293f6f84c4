package visible_test

import (
	"testing"
	"unicode/utf8"

	"callgate/internal/visible"
)

func TestText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"plain":             {"Adds two numbers, ça va, 你好.", "Adds two numbers, ça va, 你好."},
		"zero width":        {"a\u200bb", "a⟨U+200B⟩b"},
		"a run":             {"a\u200b\u200b\u200bb", "a⟨U+200B×3⟩b"},
		"bidi":              {"\u202eabc\u202c", "⟨U+202E⟩abc⟨U+202C⟩"},
		"line ends":         {"a\r\nb\tc", "a⟨U+000D⟩⟨U+000A⟩b⟨U+0009⟩c"},
		"escape":            {"\x1b[31mred", "⟨U+001B⟩[31mred"},
		"hard space":        {"a\u00a0b", "a⟨U+00A0⟩b"},
		"tags":              {"x\U000e0068\U000e0069y", "x⟨U+E0068… tags \"hi\"⟩y"},
		"selector":          {"a\ufe0fb", "a⟨U+FE0F⟩b"},
		"emoji":             {"⚠️ 👩\u200d🚒 1️⃣ 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "⚠️ 👩\u200d🚒 1️⃣ 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"},
		"joiner at the end": {"👩\u200d", "👩⟨U+200D⟩"},
		"filler":            {"a\u3164b", "a⟨U+3164⟩b"},
		"not UTF-8":         {"a\xff\xfeb", "a⟨not UTF-8⟩b"},
		"private":           {"\ue000", "⟨U+E000⟩"},
	} {
		if got := visible.Text(c.in); got != c.want {
			t.Errorf("%s: %q became %q, want %q", name, c.in, got, c.want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\u200b\U000e0041\x1b⚠️")
	f.Fuzz(func(t *testing.T, s string) {
		shown := visible.Text(s)
		if !utf8.ValidString(shown) || visible.Text(shown) != shown {
			t.Errorf("%q became %q, which still hides something", s, shown)
		}
	})
}
