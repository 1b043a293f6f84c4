package window_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"callgate/internal/journal/outputbus/window"
	"callgate/tool"
)

func pattern(t testing.TB, text string) window.Pattern {
	t.Helper()
	p, err := window.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTail(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pieces []string
		lines  int
		want   string
	}{
		{nil, 10, ""},
		{[]string{"a\nb\nc\n"}, 2, "b\nc\n"},
		{[]string{"a\nb", "\nc"}, 2, "b\nc"},
		{[]string{"a\nb\n"}, 5, "a\nb\n"},
		{[]string{"\n\n\n"}, 1, "\n"},
		{[]string{"a\xffb"}, 0, "a\uFFFDb"},
	} {
		var w window.Window
		for _, p := range test.pieces {
			w.Write([]byte(p))
		}
		if got, total := w.Tail(test.lines); got != test.want || total != int64(len(strings.Join(test.pieces, ""))) {
			t.Errorf("%q, %d lines: %q of %d", test.pieces, test.lines, got, total)
		}
	}
}

// The window holds the last 64 KB, from the beginning of a character.
func TestWindowIsBounded(t *testing.T) {
	t.Parallel()
	var w window.Window
	for _, size := range []int{1, 3, 4096, window.Size - 1, window.Size + 1, 5 * window.Size} {
		for range 7 {
			w.Write([]byte(strings.Repeat("ä", size)))
		}
	}
	text, total := w.Tail(0)
	if len(text) > window.Size || len(text) < window.Size-utf8.UTFMax || strings.Trim(text, "ä") != "" || total < 5*window.Size {
		t.Errorf("%d bytes of %d", len(text), total)
	}
}

// A pattern is found in what the window holds and in what comes, also where it is cut
// in two, and nothing is missed between the two.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern string
		before  string
		pieces  []string
		want    int // the pieces after which it is found; -1: never
	}{
		{"ready", "it is ready", nil, 0},
		{"ready", "not yet\n", []string{"rea", "dy\n"}, 2},
		{"/^listening on \\d+$/", "listening on what\n", []string{"listening on 80", "80\n"}, 1},
		{"/port/", "", []string{"the por", "t is open"}, 2},
		{"ready", "", []string{"READY", "red"}, -1},
		{"/a/b", "", []string{"a/b", "/a/b"}, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			var w window.Window
			w.Write([]byte(test.before))
			found, stop := w.Find(pattern(t, test.pattern))
			defer stop()
			at := -1
			for i := 0; i <= len(test.pieces); i++ {
				if i > 0 {
					w.Write([]byte(test.pieces[i-1]))
				}
				select {
				case <-found:
					if at < 0 {
						at = i
					}
				default:
				}
			}
			if at != test.want {
				t.Errorf("%s in %q %q: found after %d pieces, want %d", test.pattern, test.before, test.pieces, at, test.want)
			}
		})
	}
}

func TestSearchThatWasStopped(t *testing.T) {
	t.Parallel()
	var w window.Window
	found, stop := w.Find(pattern(t, "x"))
	stop()
	w.Write([]byte("x"))
	select {
	case <-found:
		t.Error("it was found after it was given up")
	default:
	}
}

func TestBadPatterns(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "/(/", strings.Repeat("x", 1001)} {
		if _, err := window.ParsePattern(text); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%q: %v", tool.Truncate(text), err)
		}
	}
}

// FuzzPattern: whatever is written is refused with a reason, or looked for.
func FuzzPattern(f *testing.F) {
	for _, seed := range []string{"ready", "/a.*b/", "/", "//", "/(/", "/[[:alpha:]]+$/"} {
		f.Add(seed, "some text\nready a b\n")
	}
	f.Fuzz(func(t *testing.T, text, output string) {
		p, err := window.ParsePattern(text)
		if err != nil {
			if tool.KindOf(err) != tool.Invalid {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		var w window.Window
		w.Write([]byte(output))
		found, stop := w.Find(p)
		defer stop()
		select {
		case <-found:
			if !p.In([]byte(output)) {
				t.Errorf("%q is not in %q", text, output)
			}
		default:
			if len(output) < window.Size && p.In([]byte(output)) {
				t.Errorf("%q is in %q", text, output)
			}
		}
	})
}
