package lock_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

// advance moves the clock of a bubble, and waits until all that was due then has
// happened.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestExpiredLeaseStopsItsHandlerBeforeItsLocksGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table, start := lock.New(), time.Now()
		lease := acquire(t, table, "a", "X file:/f")
		ctx, cancel := lease.WithExpiry(t.Context(), 30*time.Second)
		defer cancel()
		next := enqueue(t, table, "b", "X file:/f")
		stopped := make(chan struct{})
		go func() { // the handler, slow to stop
			<-ctx.Done()
			<-time.After(5 * time.Second)
			close(stopped)
		}()
		advance(29 * time.Second)
		held := table.Snapshot().Held[0]
		if held.Expired || !held.Until.Equal(start.Add(30*time.Second)) || ctx.Err() != nil {
			t.Errorf("before its end the lease is %+v", held)
		}
		advance(2 * time.Second)
		if tool.KindOf(context.Cause(ctx)) != tool.Timeout {
			t.Errorf("the handler was ended by %v, want a Timeout", context.Cause(ctx))
		}
		snapshot := table.Snapshot()
		if !snapshot.Held[0].Expired || !snapshot.Waiting[0].Behind.Expired {
			t.Errorf("past its end the lease does not show as expired: %+v", snapshot)
		}
		wantWho(t, table, "a | b")
		_, err := table.Acquire(t.Context(), lock.Request{Claims: claims("S file:/f"), Wait: -1})
		want := "call a is being stopped, its time being up, and still holds X"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		<-stopped
		wantWho(t, table, "a | b")
		lease.Release()
		mustWait(t, next).Release()
		if time.Since(start) != 35*time.Second {
			t.Errorf("the next had the lock after %v, want 35s", time.Since(start))
		}
		empty(t, table)
	})
}

func TestHandlerThatEndsInTimeStopsTheExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := lock.New()
		lease := acquire(t, table, "a", "X file:/f")
		ctx, cancel := lease.WithExpiry(t.Context(), time.Minute)
		cancel()
		lease.Release()
		if got := context.Cause(ctx); !errors.Is(got, context.Canceled) {
			t.Errorf("the cause is %v, want a plain cancel", got)
		}
		empty(t, table)
	})
}

func TestSnapshotListsHoldersWaitersAndBlockers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := lock.New()
		first, err := table.Acquire(t.Context(), lock.Request{
			Claims: claims("X file:/w/a, S db:main"),
			Holder: lock.Holder{Call: "c1", Tool: "fs.write", Principal: "agent one"},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, cancel := first.WithExpiry(t.Context(), time.Minute)
		defer cancel()
		advance(time.Second)
		second, err := table.Enqueue(lock.Request{
			Claims: claims("S file:/w"), Holder: lock.Holder{Call: "c2"}, Wait: 9 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		advance(time.Second)
		third := enqueue(t, table, "c3", "IX file:/w, U file:/w")
		fourth := enqueue(t, table, "c4", "S file:/w/b, IS file:/w")
		fifth := enqueue(t, table, "c5", "X file:/w/b")

		var lines []string
		snapshot := table.Snapshot()
		for _, held := range snapshot.Held {
			lines = append(lines, asJSON(t, held))
		}
		for _, waiting := range snapshot.Waiting {
			lines = append(lines, asJSON(t, waiting))
		}
		if diff := cmp.Diff(snapshotLines, lines); diff != "" {
			t.Error(diff)
		}
		first.Release()
		for _, ticket := range []*lock.Ticket{second, third, fourth, fifth} {
			ticket.Cancel()
		}
		empty(t, table)
	})
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The parts of the lines of the snapshot.
const (
	firstCall  = `"holder":{"call":"c1","tool":"fs.write","principal":"agent one"},"since":"2000-01-01T00:00:00Z"`
	fourthCall = `"holder":{"call":"c4"},"since":"2000-01-01T00:00:02Z"`

	behindFirst  = `,"behind":{"resource":"file:/w/a","mode":"X",` + firstCall + `}}`
	behindFourth = `,"behind":{"resource":"file:/w/b","mode":"S",` + fourthCall + `}}`
)

var snapshotLines = []string{
	`{"resource":"file:/w/a","mode":"X",` + firstCall + `,"until":"2000-01-01T00:01:00Z"}`,
	`{"resource":"db:main","mode":"S",` + firstCall + `,"until":"2000-01-01T00:01:00Z"}`,
	`{"resource":"file:/w/b","mode":"S",` + fourthCall + `}`,
	`{"resource":"file:/w","mode":"IS",` + fourthCall + `}`,
	`{"resource":"file:/w","mode":"S","holder":{"call":"c2"},` +
		`"since":"2000-01-01T00:00:01Z","until":"2000-01-01T00:00:10Z","position":1` + behindFirst,
	`{"resource":"file:/w","mode":"IX","holder":{"call":"c3"},"since":"2000-01-01T00:00:02Z","position":2` + behindFirst,
	`{"resource":"file:/w","mode":"U","holder":{"call":"c3"},"since":"2000-01-01T00:00:02Z","position":2` + behindFirst,
	`{"resource":"file:/w/b","mode":"X","holder":{"call":"c5"},"since":"2000-01-01T00:00:02Z","position":1` + behindFourth,
}
