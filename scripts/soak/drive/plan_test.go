//go:build linux

package drive

import (
	"strings"
	"testing"

	"callgate/scripts/soak/history"
)

// A seed repeats a plan, every fault comes in it, and each life ends in a kill.
func TestSeedRepeatsThePlan(t *testing.T) {
	t.Parallel()
	plan := func(seed uint64) string {
		var b strings.Builder
		PrintPlan(&b, Config{Seed: seed, Groups: 2}, 200)
		return b.String()
	}
	first, again, other := plan(1), plan(1), plan(2)
	if first != again || first == other {
		t.Error("a plan does not follow from its seed")
	}
	for _, w := range weights {
		if !strings.Contains(plan(1), string(w.fault)) {
			t.Errorf("%q never comes", w.fault)
		}
	}
	for line := range strings.Lines(plan(1)) {
		if !strings.HasSuffix(strings.TrimSpace(line), string(killKernel)) {
			t.Errorf("%q does not end in a kill", line)
		}
	}
}

func TestWhatWordsTell(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]history.Told{
		"unavailable: the server cannot be started":        history.NotBegun,
		"in_doubt: the server ended during the call\nhint": history.InDoubt,
		"cancelled: the asker went away":                   history.Stopped,
		"words of a tool":                                  history.NotBegun,
	} {
		if got := toldByWords(text); got != want {
			t.Errorf("%q tells %s, want %s", text, got, want)
		}
	}
}
