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
		if err := r.Wait(t.Context(), "", time.Minute); err != nil {
			t.Errorf("without a retry: %v", err)
		}
		table := lock.New()
		one, two := begin(t, &r, table, "one"), begin(t, &r, table, "two")
		if err := r.Wait(t.Context(), "one", time.Minute); err != nil {
			t.Errorf("a call that a retry makes: %v", err)
		}
		done := make(chan error, 1)
		go func() { done <- r.Wait(t.Context(), "other", time.Minute) }()
		for _, place := range []lockqueue.Ticket{one, two} {
			synctest.Wait()
			if len(done) > 0 || r.Ahead("other") == "" {
				t.Error("it does not wait for all")
			}
			place.Cancel()
			place.Cancel()
		}
		if err := <-done; err != nil || r.Ahead("other") != "" {
			t.Error(err)
		}
	})
}

func TestWaitForRetriesEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r lockqueue.Retries
		defer begin(t, &r, lock.New(), "one").Cancel()
		err := r.Wait(t.Context(), "", time.Minute)
		if tool.KindOf(err) != tool.Busy || !strings.Contains(err.Error(), "call one") {
			t.Errorf("when its patience is over: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Wait(ctx, "", time.Minute); tool.KindOf(err) != tool.Timeout {
			t.Errorf("when its time is over: %v", err)
		}
	})
}

func TestIsOpaque(t *testing.T) {
	t.Parallel()
	for claims, want := range map[string]bool{
		"": false, "module:notes": true, "server:user/soak": true, "server:user/soak/file/a server:user/soak": true,
		"file:/a": false, "server:user/files file:/a": false, "db:main": false,
	} {
		var of []tool.Claim
		for _, resource := range strings.Fields(claims) {
			of = append(of, tool.Claim{Resource: resource, Mode: tool.X})
		}
		if got := lockqueue.IsOpaque(of); got != want {
			t.Errorf("%q: %v", claims, got)
		}
	}
}
