package storagetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/internal/storage"
	"callgate/internal/task"
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

func sharedHolders(t *testing.T, a, b storage.Driver) { leaseAtOnce(t, a, b) }

// sharedFences: a holder whose lease another process took over is refused.
func sharedFences(t *testing.T, a, b storage.Driver) {
	mustCreateTask(t, a, newTask("a"))
	first := mustLease(t, a, "one", "a", -time.Second)
	second := mustLease(t, b, "two", "a", time.Hour)
	err := a.Stores().Queue.End(t.Context(), "a", first.Lease.Fence, task.Outcome{State: task.Done})
	isKind(t, "the first holder ends it", err, tool.Conflict)
	outcome := task.Outcome{State: task.Done, Summary: "two"}
	if err := b.Stores().Queue.End(t.Context(), "a", second.Lease.Fence, outcome); err != nil {
		t.Error(err)
	}
	if got := mustTask(t, a, "a"); got.Outcome == nil || got.Outcome.Summary != "two" {
		t.Errorf("it ended as %+v", got.Outcome)
	}
}

func sharedCancel(t *testing.T, a, b storage.Driver) {
	mustCreateTask(t, a, newTask("a"))
	held := mustLease(t, a, "one", "a", time.Hour)
	if err := b.Stores().Tasks.Cancel(t.Context(), "a", "ada"); err != nil {
		t.Fatal(err)
	}
	cancelled, err := a.Stores().Queue.Renew(t.Context(), "a", held.Lease.Fence, time.Hour, "")
	if err != nil || !cancelled {
		t.Errorf("its holder sees %v, %v", cancelled, err)
	}
}

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
