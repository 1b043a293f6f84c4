package pastes_test

import (
	"strings"
	"testing"

	"callgate/internal/tui/pastes"
)

func TestLongPastesAreCollapsed(t *testing.T) {
	t.Parallel()
	var s pastes.Store
	if got := s.Collapse("one\r\ntwo"); got != "one\ntwo" {
		t.Errorf("a short paste became %q", got)
	}
	long := strings.Repeat("line\n", 120)
	other := strings.Repeat("else\n", 120)
	wide := strings.Repeat("x", 5_000)
	first, again, second, third := s.Collapse(long), s.Collapse(long), s.Collapse(other), s.Collapse(wide)
	if first != "[pasted 120 lines]" || again != first || second != "[pasted 120 lines, 2]" ||
		third != "[pasted 5000 characters]" {
		t.Errorf("the marks are %q, %q, %q, %q", first, again, second, third)
	}
	if got := s.Expand("see " + first + " and " + second + "."); got != "see "+long+" and "+other+"." {
		t.Errorf("expanded to %d characters", len(got))
	}
	nested := s.Collapse(strings.Repeat("a [pasted 120 lines]\n", 10))
	if got := s.Expand(nested); strings.Contains(got, "line\n") && strings.Contains(got, "line\nline") {
		t.Errorf("a mark inside a paste was expanded: %q", got)
	}
	if got := s.Ends("see " + second); got != len(second) {
		t.Errorf("it ends with a mark of %d", got)
	}
	if got := s.Ends("see " + second + " "); got != 0 {
		t.Errorf("it ends with a mark of %d", got)
	}
}
