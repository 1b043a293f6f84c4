package sandbox_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"callgate/internal/programtest"
	"callgate/internal/sandbox"
)

// TestNoSignalIsIgnored tests that every run begins with the default action of signals that people send, however it is
// confined.
func TestNoSignalIsIgnored(t *testing.T) {
	t.Parallel()
	check := func(l level, name string, change func(*sandbox.Spec)) {
		t.Run(l.name+", "+name, func(t *testing.T) {
			t.Parallel()
			exit, out, err := newFixture(t).run(l, change, sh("grep SigIgn: /proc/self/status")...)
			digits, _ := strings.CutPrefix(strings.TrimSpace(out), "SigIgn:\t")
			ignored, parseErr := strconv.ParseUint(digits, 16, 64)
			if err != nil || exit.Code != 0 || parseErr != nil {
				t.Fatalf("%+v, %v, %v: %s", exit, err, parseErr, out)
			}
			signals := []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT}
			if name != "unconfined" {
				signals = append(signals, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
			}
			for _, s := range signals {
				if ignored&(1<<(s-1)) != 0 {
					t.Errorf("%v is ignored", s)
				}
			}
		})
	}
	for _, l := range levels(t) {
		if l.name == "process" {
			check(l, "unconfined", nil)
			continue
		}
		check(l, "confined", nil)
		check(l, "contained", func(s *sandbox.Spec) { s.Mode, s.Relaxed = sandbox.Contained, true })
		check(l, "tracked", func(s *sandbox.Spec) { s.Mode = sandbox.Tracked })
	}
}

// TestNoSignalOfTheParentIsIgnored tests the same where this process was started with them ignored.
func TestNoSignalOfTheParentIsIgnored(t *testing.T) {
	t.Parallel()
	programtest.RunIgnoring(t, "TestNoSignalIsIgnored", "HUP", "INT", "QUIT", "TSTP", "TTIN", "TTOU")
}
