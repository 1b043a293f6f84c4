package modules_test

import (
	"strings"
	"testing"

	"callgate/internal/kernel/modules"
)

// Every constraint of every module says what of two values is narrower, and the names of the keys agree with it.
func TestEveryConstraintNarrows(t *testing.T) {
	t.Parallel()
	count := 0
	for _, m := range modules.Shipped() {
		for _, f := range m.Fields() {
			if !f.Constraint {
				continue
			}
			count++
			want := map[string]string{"boolean": "true", "integer": "less", "number": "less", "array": "only"}[f.Type]
			switch {
			case strings.HasPrefix(f.Key, "denied_"), strings.HasPrefix(f.Key, "blocked_"), strings.HasPrefix(f.Key, "protected_"):
				want = "more"
			case strings.HasPrefix(f.Key, "private_"), m.Name == "database" && f.Key == "allowed_hosts":
				want = "fewer"
			case f.Type == "boolean" && (strings.HasPrefix(f.Key, "allow_") || f.Key == "network"):
				want = "false"
			}
			if got := f.Narrows(); got != want || want == "" {
				t.Errorf("%s.%s narrows by %q, want %q", m.Name, f.Key, got, want)
			}
		}
	}
	if count < 40 {
		t.Errorf("only %d constraints", count)
	}
}
