package kernel_test

import (
	"testing"
	"time"

	"callgate/internal/journal"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/retention"
)

// Of a kernel's records those of ended epochs go, and the end of the last of them is told: what is kept for an undo goes
// so far and no further.
func TestRetainTellsTheLastEpoch(t *testing.T) {
	kerneltest.OnEachStorage(t, testRetainTellsTheLastEpoch)
}

func testRetainTellsTheLastEpoch(t *testing.T) {
	t.Parallel()
	state := kerneltest.StateDir(t)
	note := journal.Record{Kind: journal.Noted, Note: "a record"}
	first := kerneltest.Open(t, state)
	kerneltest.OK(t, first.Journal.Append(note))
	kerneltest.OK(t, first.Close())
	between := time.Now()
	k := kerneltest.Open(t, state)
	kerneltest.OK(t, k.Journal.Append(note))
	later := time.Now().Add(time.Hour)
	records, last, err := retention.Epochs{Journal: k.Journal}.Drop(t.Context(), later, false)
	if err != nil || records == 0 || last.IsZero() || last.After(between) {
		t.Errorf("%d records, up to %v, of an epoch that ended before %v: %v", records, last, between, err)
	}
	records, last, err = retention.Epochs{Journal: k.Journal}.Drop(t.Context(), later, false)
	if err != nil || records != 0 || !last.IsZero() {
		t.Errorf("of the epoch that goes on %d records went, up to %v: %v", records, last, err)
	}
}
