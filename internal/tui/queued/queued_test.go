package queued_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"callgate/internal/tui/queued"
)

func shown(l *queued.List) string { return ansi.Strip(strings.Join(l.Rows(40, 8), "|")) }

func TestWordsAreInOnePlace(t *testing.T) {
	t.Parallel()
	var l queued.List
	a, b := l.Add("one"), l.Add("two")
	l.Accept(a, 7)
	l.Accept(b, 9)
	if got := shown(&l); got != "queued: one|queued: two  (up takes it back)" {
		t.Errorf("%q waits", got)
	}
	if it := l.Take(7); it != a {
		t.Errorf("took %v", it)
	}
	if it := l.Take(7); it != nil {
		t.Errorf("took it twice: %v", it)
	}
	if all := l.TakeAll(); len(all) != 1 || all[0] != b || !l.Empty() {
		t.Errorf("%v was left", all)
	}
}

// The turn may take words before their acceptance is heard.
func TestTakenBeforeItWasAccepted(t *testing.T) {
	t.Parallel()
	var l queued.List
	a, b := l.Add("one"), l.Add("two")
	if it := l.Take(3); it != a {
		t.Fatalf("took %v", it)
	}
	l.Accept(a, 3)
	l.Accept(b, 4)
	if got := shown(&l); got != "queued: two  (up takes it back)" {
		t.Errorf("%q waits", got)
	}
	if l.Remove(a) || !l.Remove(b) {
		t.Error("removed something else")
	}
}
