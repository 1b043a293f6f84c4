package callid_test

import (
	"slices"
	"testing"

	"callgate/internal/protocol/callid"
)

// TestCallIDs gives the calls of a bridge IDs: one after the other in the order of their numbers, others for each
// bridge; and to a bridge of an earlier version those that it was always given, or a call of it would be made twice.
func TestCallIDs(t *testing.T) {
	t.Parallel()
	key, other := callid.NewKey(), callid.NewKey()
	var ids []string
	seen := map[string]bool{}
	for n := range uint64(1000) {
		id := key.CallID(n)
		if !callid.Is(id) || seen[id] {
			t.Fatalf("call %d has the ID %q", n, id)
		}
		if seen[id] = true; seen[other.CallID(n)] {
			t.Errorf("call %d of another bridge has the ID %q, too", n, other.CallID(n))
		}
		ids = append(ids, id)
	}
	if !slices.IsSorted(ids) {
		t.Errorf("the IDs are in no order: %q", ids)
	}
	for n, want := range map[uint64]string{1: "c16cjwvtcor7mm", 2: "c2z9qflmt3nm7w"} {
		if got := callid.Key("KEYOFANEARLIERBRIDGE").CallID(n); got != want {
			t.Errorf("call %d of an earlier bridge has the ID %q; want %q", n, got, want)
		}
	}
}
