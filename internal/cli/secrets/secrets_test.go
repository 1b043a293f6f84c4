package secrets

import (
	"strings"
	"testing"

	"callgate/tool"
)

// An argument that may be a value is refused and never repeated.
func TestOneName(t *testing.T) {
	t.Parallel()
	if err := oneName(nil, []string{"TOKEN"}); err != nil {
		t.Errorf("a name: %v", err)
	}
	const value = "hunter2"
	for _, args := range [][]string{nil, {"TOKEN", value}, {"TOKEN=" + value}, {value, "=", value}} {
		err := oneName(nil, args)
		if tool.KindOf(err) != tool.Invalid || strings.Contains(err.Error(), value) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
