package ending_test

import (
	"testing"

	"callgate/internal/sandbox/ending"
)

func TestCutOff(t *testing.T) {
	t.Parallel()
	for signal, want := range map[string]bool{
		"SIGKILL": true, "SIGTERM": true, "SIGHUP": true, "SIGINT": true, "SIGQUIT": true,
		"SIGSEGV": false, "SIGABRT": false, "SIGXCPU": false, "SIGSYS": false, "": false,
	} {
		if got := ending.CutOff(signal); got != want {
			t.Errorf("%q: %v", signal, got)
		}
	}
}
