package lockqueue_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/gate/lock"
	"callgate/internal/gate/lockqueue"
	"callgate/tool"
)

// begin begins the retry of a call that writes one file.
func begin(t *testing.T, r *lockqueue.Retries, table *lock.Table, call string) lockqueue.Ticket {
	t.Helper()
	place, err := lockqueue.Local(table).Enqueue(lock.Request{
		Claims: []tool.Claim{{Resource: "file:/" + call, Mode: tool.X}}, Holder: lock.Holder{Call: call},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.Begin(call, place)
}

func TestRetriesAreWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r lockqueue.Retries
		if err := r.Wait(t.Context(), time.Minute); err != nil {
			t.Errorf("without a retry: %v", err)
		}
		table := lock.New()
		one, two := begin(t, &r, table, "one"), begin(t, &r, table, "two")
		done := make(chan error, 1)
		go func() { done <- r.Wait(t.Context(), time.Minute) }()
		for _, place := range []lockqueue.Ticket{one, two} {
			synctest.Wait()
			if len(done) > 0 || r.Running() == "" {
				t.Error("it does not wait for all")
			}
			place.Cancel()
			place.Cancel()
		}
		if err := <-done; err != nil || r.Running() != "" {
			t.Error(err)
		}
	})
}

// A retry that has its locks has ended when they are released, which may be long after it was answered, and not when
// its place is cancelled.
func TestRetriesEndWithTheirLocks(t *testing.T) {
	t.Parallel()
	var r lockqueue.Retries
	place := begin(t, &r, lock.New(), "one")
	lease, err := place.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	place.Cancel()
	if r.Running() != "one" {
		t.Error("it has ended, and holds its locks")
	}
	lease.Release()
	lease.Release()
	if got := r.Running(); got != "" {
		t.Errorf("%s has not ended", got)
	}
}

func TestWaitForRetriesEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r lockqueue.Retries
		defer begin(t, &r, lock.New(), "one").Cancel()
		err := r.Wait(t.Context(), time.Minute)
		if tool.KindOf(err) != tool.Busy || !strings.Contains(err.Error(), "call one") {
			t.Errorf("when its patience is over: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Wait(ctx, time.Minute); tool.KindOf(err) != tool.Timeout {
			t.Errorf("when its time is over: %v", err)
		}
	})
}

func TestIsOpaque(t *testing.T) {
	t.Parallel()
	says := tool.Runtime{Effects: []tool.Effect{{Resource: "module:notes", Mode: tool.IX}}}
	if lockqueue.IsOpaque(&tool.Tool{Runtime: says}, []tool.Claim{{Resource: "module:notes", Mode: tool.IX}}) {
		t.Error("a tool that says that it touches its module says what it touches")
	}
	for claims, want := range map[string]bool{
		"": false, "module:notes": true, "server:user/soak": true, "server:user/soak/file/a server:user/soak": true,
		"file:/a": false, "server:user/files file:/a": false, "db:main": false,
	} {
		var of []tool.Claim
		for _, resource := range strings.Fields(claims) {
			of = append(of, tool.Claim{Resource: resource, Mode: tool.X})
		}
		if got := lockqueue.IsOpaque(&tool.Tool{}, of); got != want {
			t.Errorf("%q: %v", claims, got)
		}
	}
}
