package journal_test

import (
	"strings"
	"testing"

	"callgate/internal/journal"
	"callgate/tool"
)

// A journal whose store lost records takes none until a person accepts the loss. What
// there is can be read, each start finds the same, and a store that is restored ends it.
func TestLossIsHeldUntilItIsAccepted(t *testing.T) {
	opts := options(t)
	opts.HoldLoss = true
	store := &memory{}
	j := open(t, store, opts)
	for _, call := range []string{"a", "b", "c"} {
		commit(t, j, begun(call))
		commit(t, j, ended(call))
	}
	ok(t, j.Close())
	empty := &memory{}
	for range 2 {
		j = open(t, empty, opts)
		if err := j.Held(); err == nil || !strings.Contains(err.Error(), "record 7") {
			t.Fatalf("the loss: %v", err)
		}
		_, err := j.Commit(t.Context(), begun("d"))
		isKind(t, err, tool.Unavailable)
		if !strings.Contains(err.Error(), "accept-loss") {
			t.Errorf("a call is told %v", err)
		}
		isKind(t, j.Append(asked("d")), tool.Unavailable)
		_, err = j.Recover(t.Context())
		isKind(t, err, tool.Unavailable)
		ok(t, j.Flush(t.Context()))
		if records, err := j.Read(t.Context(), journal.Query{}); err != nil || len(records) != 0 {
			t.Errorf("%v, %v", records, err)
		}
		ok(t, j.Close())
	}
	j = open(t, store, opts) // restored
	ok(t, j.Held())
	ok(t, j.Close())

	j = open(t, empty, opts)
	ok(t, j.AcceptLoss(t.Context(), "anna accepted it"))
	isKind(t, j.AcceptLoss(t.Context(), "again"), tool.Conflict)
	commit(t, j, begun("d"))
	records, err := j.Read(t.Context(), journal.Query{})
	if err != nil || len(records) != 3 || records[0].Opening == nil || records[0].Opening.Cut == nil ||
		records[0].Opening.Cut.Anchor != 7 || records[1].Note != "anna accepted it" {
		t.Fatalf("%+v, %v", records, err)
	}
	ok(t, j.Close())
	j = open(t, empty, opts)
	ok(t, j.Held())
	ok(t, j.Close())
}

// An acceptance that cannot be written accepts nothing.
func TestLossIsNotAcceptedWithoutARecord(t *testing.T) {
	opts := options(t)
	opts.HoldLoss = true
	j := open(t, &memory{}, opts)
	commit(t, j, begun("a"))
	ok(t, j.Close())
	j = open(t, &memory{failAppend: errFull}, opts)
	isKind(t, j.AcceptLoss(t.Context(), "anna accepted it"), tool.Unavailable)
	if j.Held() == nil {
		t.Error("the loss counts as accepted")
	}
	_ = j.Close()
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
