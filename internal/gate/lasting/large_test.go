package lasting_test

import (
	"strings"
	"testing"

	"callgate/internal/gate/lasting"
	"callgate/internal/gate/match"
)

// TestLargeCallsAreNotKept: a call with large arguments is approved once; nobody is
// offered to approve exactly these arguments for good.
func TestLargeCallsAreNotKept(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"small": true, strings.Repeat("x", 100<<10): false} {
		c := &lasting.Call{Call: &match.Call{
			Module: "m", Action: "a", Workspace: t.TempDir(), Args: map[string]any{"list": []any{text}},
		}}
		exact, size := false, 0
		for _, choice := range lasting.Choices(c) {
			exact = exact || choice.Exact
			size += len(choice.Match)
		}
		if exact != want || size > 1<<10 {
			t.Errorf("%d bytes: exact %v, choices of %d bytes", len(text), exact, size)
		}
	}
}
