package storagetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/internal/storage"
	"callgate/tool"
)

func sharedDocuments(t *testing.T, a, b storage.Driver) {
	v := mustWrite(t, a.Stores().Documents, put("a", "1"))
	got, err := b.Stores().Documents.Get(t.Context(), "c", "a")
	if err != nil || got.Version != v || string(got.Data) != "1" {
		t.Fatalf("the other handle reads %+v, %v", got, err)
	}
	mustWrite(t, b.Stores().Documents, document.Change{Collection: "c", Key: "a", If: v, Data: []byte("2")})
	_, err = a.Stores().Documents.Write(t.Context(), document.Change{Collection: "c", Key: "a", If: v, Data: []byte("3")})
	isKind(t, "after the other handle's change", err, tool.Conflict)
}

func sharedWriters(t *testing.T, a, b storage.Driver) { countUp(t, a, b) }

// sharedApprovals: of two processes that answer at once, one is first.
func sharedApprovals(t *testing.T, a, b storage.Driver) {
	mustCreate(t, a.Stores().Approvals, "a")
	var wg sync.WaitGroup
	var first atomic.Int32
	for _, d := range []storage.Driver{a, b, a, b} {
		wg.Go(func() {
			moved, err := d.Stores().Approvals.Settle(context.Background(), "a", approval.Pending, approval.Approved, nil)
			if err != nil {
				t.Error(err)
			}
			if moved {
				first.Add(1)
			}
		})
	}
	wg.Wait()
	if first.Load() != 1 {
		t.Errorf("%d were first", first.Load())
	}
}
