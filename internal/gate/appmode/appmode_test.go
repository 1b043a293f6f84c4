package appmode_test

import (
	"math/rand/v2"
	"testing"

	"callgate/internal/gate/appmode"
	"callgate/tool"
)

// random is a limit of a few modules and actions, or none.
func random(r *rand.Rand) map[string][]string {
	if r.IntN(6) == 0 {
		return nil
	}
	only := map[string][]string{}
	for _, module := range []string{"a", "b", "c"} {
		switch r.IntN(3) {
		case 0:
			only[module] = nil
		case 1:
			for _, action := range []string{"x", "y"} {
				if r.IntN(2) == 0 {
					only[module] = append(only[module], action)
				}
			}
			if len(only[module]) == 0 {
				delete(only, module)
			}
		}
	}
	return only
}

// What two limits leave together, each of them leaves; and one is within another if
// nothing shows otherwise.
func TestLimits(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		a, b := random(r), random(r)
		both := appmode.Intersect(a, b)
		within := true
		for _, module := range []string{"a", "b", "c", "d"} {
			for _, action := range []string{"x", "y", "z"} {
				inA, inB := appmode.Gives(a, module, action), appmode.Gives(b, module, action)
				if got := appmode.Gives(both, module, action); got != (inA && inB) {
					t.Fatalf("%v and %v leave %s.%s: %t", a, b, module, action, got)
				}
				within = within && (!inA || inB)
			}
		}
		if appmode.Within(a, b) && !within {
			t.Fatalf("%v is not within %v", a, b)
		}
		if !appmode.Within(both, a) || !appmode.Within(both, b) {
			t.Fatalf("%v is not within %v and %v", both, a, b)
		}
	}
}

// A mode takes neither the kernel's own tools nor what the kernel does itself.
func TestTakes(t *testing.T) {
	t.Parallel()
	var current *appmode.Current
	read := &tool.Tool{ID: tool.ID{Namespace: "filesystem", Name: "read"}}
	if _, taken := current.Takes(read, tool.Principal{}); taken {
		t.Error("no mode took a tool")
	}
	current = &appmode.Current{}
	current.Set(appmode.Mode{Name: "bare", Only: map[string][]string{}})
	d, taken := current.Takes(read, tool.Principal{})
	if !taken || d.Rule != "runtime.modes.bare" {
		t.Errorf("%+v", d)
	}
	if _, taken := current.Takes(read, tool.Principal{Daemon: true}); taken {
		t.Error("it took a tool from the kernel")
	}
	own := &tool.Tool{ID: tool.ID{Namespace: "context_builder", Name: "ask_user"}, Runtime: tool.Runtime{Control: true}}
	if _, taken := current.Takes(own, tool.Principal{}); taken {
		t.Error("it took a control tool")
	}
}
