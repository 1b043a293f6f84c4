package termtext_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"callgate/internal/tui/termtext"
)

func TestSafe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"words", "two\nlines", "two\nlines"},
		{"other tongues", "héllo, 世界 ☂", "héllo, 世界 ☂"},
		{"a tab", "a\tb", "a    b"},
		{"a command", "a\x1b[2Jb", "a⟨U+001B⟩[2Jb"},
		{"one of the eight-bit commands", "a\u009b2Jb", "a⟨U+009B⟩2Jb"},
		{"a return", "good\rbad", "good⟨U+000D⟩bad"},
		{"reversed text", "a\u202eb", "a⟨U+202E⟩b"},
		{"an unseen mark", "a\U000e0041b", `a⟨U+E0041… tags "A"⟩b`},
		{"no text at all", "a\xffb", "a⟨not UTF-8: FF⟩b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := termtext.Safe(c.text); got != c.want {
				t.Errorf("%q became %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestStripCommandsLeavesColours(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"colours", "\x1b[1;31mred\x1b[m \x1b[38;5;8mgrey\x1b[0m", "\x1b[1;31mred\x1b[m \x1b[38;5;8mgrey\x1b[0m"},
		{"hidden text", "\x1b[8mhidden\x1b[m", "hidden\x1b[m"},
		{"a link", "\x1b]8;;http://bad.example\x07good\x1b]8;;\x07", "good"},
		{"movement", "a\x1b[2J\x1b[Hb\x1bcc", "abc"},
		{"a title", "\x1b]0;title\x07x", "x"},
		{"a bell and a return", "a\x07\rb", "ab"},
		{"lines", "a\nb", "a\nb"},
		{"reversed text", "a\u202eb", "ab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := termtext.StripCommands(c.text); strings.ReplaceAll(got, "⟨U+202E⟩", "") != c.want {
				t.Errorf("%q became %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestWidths(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "short", strings.Repeat("long words ", 20), strings.Repeat("長", 40),
		strings.Repeat("x", 100)} {
		for _, width := range []int{1, 2, 7, 40} {
			if got := termtext.Width(termtext.Pad(text, width)); got != width {
				t.Errorf("%q filled to %d is %d wide", text, width, got)
			}
			if width == 1 {
				continue // there is no room for a wide character
			}
			for _, line := range termtext.Wrap(text, width) {
				if termtext.Width(line) > width {
					t.Errorf("%q wrapped at %d has the line %q", text, width, line)
				}
			}
		}
	}
}

func FuzzNothingIsObeyed(f *testing.F) {
	f.Add("a\x1b[2Jb \u202e \x9b31m \x1b]52;c;AAAA\x07")
	f.Add("\x1b[8mx\x1bPq\x1b\\")
	f.Fuzz(func(t *testing.T, text string) {
		for _, got := range []string{termtext.Safe(text), termtext.StripCommands(text),
			termtext.StripCommands(termtext.Safe(text))} {
			bare := ansi.Strip(got)
			if safe := termtext.Safe(bare); safe != bare {
				t.Errorf("%q became %q, of which %q is left", text, got, bare)
			}
		}
	})
}

func TestWrapListHangsTheSecondColumn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/plan       let it plan only, and more": "/plan       let it plan\n            only, and more",
		"one word after the other, one space":    "one word after the other,\none space",
	} {
		if got := strings.Join(termtext.WrapList(text, 26), "\n"); got != want {
			t.Errorf("%q became\n%s\nwant\n%s", text, got, want)
		}
	}
}
