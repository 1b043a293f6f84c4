package callgate_test

import (
	"os/exec"
	"testing"
)

// The program that embeds Callgate is a module of its own, whose go.sum must know every
// module that Callgate needs: a new one is added there too.
func TestExampleKnowsItsModules(t *testing.T) {
	t.Parallel()
	list := exec.Command("go", "list", "-deps", ".")
	list.Dir = "examples/embed"
	if out, err := list.CombinedOutput(); err != nil {
		t.Errorf("examples/embed cannot be built: run go get there, as it says: %v\n%s", err, out[:min(len(out), 2000)])
	}
}
