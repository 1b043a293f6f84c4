package visible_test

import (
	"encoding/json"
	"slices"
	"strings"
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
		"not UTF-8":         {"a\xff\xfeb", "a⟨not UTF-8: FF FE⟩b"},
		"private":           {"\ue000", "⟨U+E000⟩"},
	} {
		if got := visible.Text(c.in); got != c.want {
			t.Errorf("%s: %q became %q, want %q", name, c.in, got, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"lines and tabs":    {"one\n\ttwo\n", "one\n\ttwo\n"},
		"other spaces":      {"a\u00a0b\u3000c", "a\u00a0b\u3000c"},
		"a command":         {"\x1b[2Jgone", "⟨U+001B⟩[2Jgone"},
		"an 8-bit command":  {"a\u009b2J", "a⟨U+009B⟩2J"},
		"a return":          {"good\rbad", "good⟨U+000D⟩bad"},
		"bidi":              {"user\u202egnp\u2066", "user⟨U+202E⟩gnp⟨U+2066⟩"},
		"zero width":        {"a\u200b\u200f\ufeff\u2060b", "a⟨U+200B⟩⟨U+200F⟩⟨U+FEFF⟩⟨U+2060⟩b"},
		"line separator":    {"a\u2028b", "a⟨U+2028⟩b"},
		"tags":              {"x\U000e0068\U000e0069", "x⟨U+E0068… tags \"hi\"⟩"},
		"hidden selectors":  {"a\U000e0100\ufe01", "a⟨U+E0100⟩⟨U+FE01⟩"},
		"a new picture":     {"\U0001fae9", "\U0001fae9"},
		"filler, no letter": {"\u2800\ufe0f", "⟨U+2800⟩⟨U+FE0F⟩"},
		"not UTF-8":         {"a\xff\xfeb", "a⟨not UTF-8: FF FE⟩b"},
	} {
		if got := visible.Lines(c.in); got != c.want {
			t.Errorf("%s: %q became %q, want %q", name, c.in, got, c.want)
		}
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ got, want string }{
		"short":        {visible.Clip("four", 4), "four"},
		"long":         {visible.Clip("你好世界!", 2), "你好… ⟨3 more characters⟩"},
		"one line":     {visible.Clip("a\nb", 20), "a⟨U+000A⟩b"},
		"lines":        {visible.ClipLines("a\nb\nc", 3), "a\nb… ⟨2 more characters⟩"},
		"escapes grow": {visible.Clip("\u202eab", 8), "⟨U+202E⟩… ⟨2 more characters⟩"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	const in = "{\n\t\"a\": \"x\u202ey\u200b\U000e0041é\"\n}"
	const want = "{\n\t\"a\": \"x\\u202ey\\u200b\\udb40\\udc41é\"\n}"
	got := visible.JSON(in)
	if got != want {
		t.Errorf("%q became %q, want %q", in, got, want)
	}
	var before, after map[string]string
	if json.Unmarshal([]byte(in), &before) != nil || json.Unmarshal([]byte(got), &after) != nil ||
		before["a"] != after["a"] {
		t.Errorf("%q means %q, want %q", got, after["a"], before["a"])
	}
}

// An emoji of several characters stays whole; a joiner elsewhere is an escape.
func TestJSONKeepsEmoji(t *testing.T) {
	t.Parallel()
	if got, want := visible.JSON("\"👨\u200d👩\u200d👧 a\u200db ⚠️\""), "\"👨\u200d👩\u200d👧 a\\u200db ⚠️\""; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzWriter(f *testing.F) {
	f.Add("a\u200b\n\U000e0041\x1b⚠️", 2)
	f.Fuzz(func(t *testing.T, s string, size int) {
		var b strings.Builder
		w := visible.Writer{W: &b}
		for piece := range slices.Chunk([]byte(s), max(size, 1)) {
			if _, err := w.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if visible.Lines(b.String()) != b.String() {
			t.Errorf("%q became %q, which still hides something", s, b.String())
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("a\u200b\U000e0041\x1b⚠️")
	f.Fuzz(func(t *testing.T, s string) {
		for _, show := range []func(string) string{visible.Text, visible.Lines} {
			if shown := show(s); !utf8.ValidString(shown) || show(shown) != shown {
				t.Errorf("%q became %q, which still hides something", s, shown)
			}
		}
	})
}
