package linediff_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/linediff"
)

func write(lines []linediff.Line) string {
	var b strings.Builder
	for _, l := range lines {
		if l.Sign == '@' {
			b.WriteString(l.Text + "\n")
		} else {
			b.WriteString(string(l.Sign) + l.Text + "\n")
		}
	}
	return b.String()
}

func TestUnified(t *testing.T) {
	t.Parallel()
	many := func(change string) string {
		var b strings.Builder
		for i := 1; i <= 30; i++ {
			if i == 5 || i == 25 {
				b.WriteString(change)
			}
			fmt.Fprintln(&b, i)
		}
		return b.String()
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"the same", "a\n", "a\n", ""},
		{"new", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"gone", "a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
		{"one line", "a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"the end of the last line", "a", "a\n", "@@ -1,1 +1,1 @@\n-a\n\\ no newline at the end\n+a\n"},
		{"far apart", many(""), many("x\n"),
			"@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n@@ -22,6 +23,7 @@\n 22\n 23\n 24\n+x\n 25\n 26\n 27\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, write(linediff.Unified(c.old, c.new))); d != "" {
				t.Error(d)
			}
		})
	}
}

// The lines of a diff without the added ones are lines of the old text, and
// without the removed ones lines of the new text.
func TestDiffHoldsBothTexts(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	text := func() (s string) {
		for range random.IntN(12) {
			s += string(rune('a'+random.IntN(3))) + "\n"
		}
		return s
	}
	for range 5_000 {
		old, new := text(), text()
		var a, b string
		changes := 0
		for _, l := range linediff.Unified(old, new) {
			if l.Sign == '-' || l.Sign == ' ' {
				a += l.Text + "\n"
			}
			if l.Sign == '+' || l.Sign == ' ' {
				b += l.Text + "\n"
			}
			if l.Sign == '+' || l.Sign == '-' {
				changes++
			}
		}
		if !strings.Contains(old, a) && len(old) < 14 || !strings.Contains(new, b) && len(new) < 14 {
			t.Fatalf("%q to %q is told as %q to %q", old, new, a, b)
		}
		if (changes == 0) != (old == new) {
			t.Fatalf("%q to %q has %d changes", old, new, changes)
		}
	}
}

func TestHugeDifference(t *testing.T) {
	t.Parallel()
	var a, b strings.Builder
	for i := range 20_000 {
		fmt.Fprintln(&a, "old", i)
		fmt.Fprintln(&b, "new", i)
	}
	if got := len(linediff.Unified(a.String(), b.String())); got != 40_001 {
		t.Errorf("%d lines", got)
	}
}
