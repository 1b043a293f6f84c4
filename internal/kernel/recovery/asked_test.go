package recovery_test

import (
	"testing"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// Who asks for a call in doubt by its ID, as a bridge does after a crash, is told by
// that: no later kernel makes it again.
func TestCallThatWasAskedForByItsIDIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	workspace, p := t.TempDir(), &putter{}
	left := cutOff(t, kerneltest.StateDir(t), workspace, p, putOld)
	k := kerneltest.OpenWith(t, kernel.Config{State: left, ShortLived: true})
	s := kerneltest.OpenSession(t, k, workspace)
	call := records(t, k, journal.Doubted)[0].Call
	for range 2 {
		if r, err := s.Made(t.Context(), call); err != nil || r == nil || r.Error == nil || r.Error.Kind != tool.InDoubt {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if n := len(records(t, k, journal.Told)); n != 1 {
		t.Errorf("it is on record %d times that its asker was told", n)
	}
	ok(t, k.Close())
	k = kerneltest.Open(t, left, p.tool(t, workspace))
	d, open, err := k.Journal.DoubtOf(t.Context(), call)
	if err != nil || !open || d.State != doubt.Told {
		t.Errorf("in doubt: %v %+v, %v", open, d, err)
	}
	ok(t, k.Close())
	if p.ran() != 0 {
		t.Error("it was made again after its asker had been told")
	}
}
