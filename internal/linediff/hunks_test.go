package linediff_test

import (
	"fmt"
	"strings"
	"testing"

	"callgate/internal/linediff"
)

func numbered(change func(line int) string) string {
	var b strings.Builder
	for i := 1; i <= 60; i++ {
		b.WriteString(change(i))
	}
	return b.String()
}

func plain(i int) string { return fmt.Sprintf("line %d\n", i) }

// Hunks can be applied one by one, in any order, and keep their IDs meanwhile.
func TestHunksOneByOne(t *testing.T) {
	t.Parallel()
	old := numbered(plain)
	next := numbered(func(i int) string {
		switch i {
		case 5:
			return "five\n"
		case 30:
			return ""
		case 50:
			return plain(i) + "new\nnew\n"
		}
		return plain(i)
	})
	all := linediff.Hunks(old, next)
	if len(all) != 3 {
		t.Fatalf("%d hunks", len(all))
	}
	for _, first := range all {
		if len(first.ID) != 12 {
			t.Errorf("the ID %q", first.ID)
		}
		now := linediff.Apply(old, all, func(h linediff.Hunk) bool { return h.ID == first.ID })
		rest := linediff.Hunks(now, next)
		if len(rest) != 2 {
			t.Fatalf("%d hunks are left after %s", len(rest), first.Head)
		}
		for _, h := range rest {
			if h.ID == first.ID || h.ID != all[0].ID && h.ID != all[1].ID && h.ID != all[2].ID {
				t.Errorf("after %s there is a hunk %s, %s", first.Head, h.ID, h.Head)
			}
		}
		if got := linediff.Apply(now, rest, func(linediff.Hunk) bool { return true }); got != next {
			t.Errorf("after %s: %q", first.Head, got)
		}
	}
}

// The same change in two places is two hunks.
func TestHunksWithTheSameLines(t *testing.T) {
	t.Parallel()
	block := strings.Repeat("a\n", 10)
	all := linediff.Hunks(block+"x\n"+block+"b\n"+block+"x\n"+block, block+"y\n"+block+"b\n"+block+"y\n"+block)
	if len(all) != 2 || all[0].ID == all[1].ID {
		t.Errorf("%+v", all)
	}
}

// Two hunks whose lines were made so that the beginnings of their sums are the same are two.
func TestHunksWithTheSameSum(t *testing.T) {
	t.Parallel()
	const good, bad = "000000a0fe0f", "000001af7fb1"
	block := strings.Repeat("a\n", 10)
	old := block + "x\n" + block + "b\n" + block + "x\n" + block
	all := linediff.Hunks(old, block+good+"\n"+block+"b\n"+block+bad+"\n"+block)
	if len(all) != 2 || all[0].ID == all[1].ID || len(all[1].ID) != 12 {
		t.Fatalf("%+v", all)
	}
	if alone := linediff.Hunks(old, block+"x\n"+block+"b\n"+block+bad+"\n"+block); alone[0].ID != all[0].ID {
		t.Fatalf("the sums %s and %s differ: the test is void", alone[0].ID, all[0].ID)
	}
	got := linediff.Apply(old, all, func(h linediff.Hunk) bool { return h.ID == all[0].ID })
	if !strings.Contains(got, good) || strings.Contains(got, bad) {
		t.Errorf("one hunk makes %q", got)
	}
}

func FuzzHunks(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc\n", uint16(1))
	f.Add("a", "a\n", uint16(0))
	f.Add("", "x", uint16(3))
	f.Add("x\ny", "", uint16(1))
	f.Add("a\n\n\n\n\n\n\n\n\nb", "A\n\n\n\n\n\n\n\n\nb\n", uint16(2))
	f.Add("a\\ no newline at the end", "b\n\\ no newline at the end\n", uint16(1))
	f.Fuzz(func(t *testing.T, old, new string, choice uint16) {
		all := linediff.Hunks(old, new)
		if (len(all) == 0) != (old == new) {
			t.Fatalf("%d hunks between %q and %q", len(all), old, new)
		}
		if got := linediff.Apply(old, all, func(linediff.Hunk) bool { return true }); got != new {
			t.Errorf("all hunks of %q and %q make %q", old, new, got)
		}
		if got := linediff.Apply(old, all, func(linediff.Hunk) bool { return false }); got != old {
			t.Errorf("no hunk of %q and %q makes %q", old, new, got)
		}
		bit := map[string]int{}
		for i, h := range all {
			if _, twice := bit[h.ID]; twice {
				t.Errorf("two hunks are %s", h.ID)
			}
			bit[h.ID] = i
		}
		some := linediff.Apply(old, all, func(h linediff.Hunk) bool { return choice>>(bit[h.ID]%16)&1 == 1 })
		rest := linediff.Hunks(some, new)
		if got := linediff.Apply(some, rest, func(linediff.Hunk) bool { return true }); got != new {
			t.Errorf("the rest of %q and %q after %q makes %q", old, new, some, got)
		}
	})
}
