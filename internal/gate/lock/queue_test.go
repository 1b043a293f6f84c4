package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

// who returns the calls that hold and those that wait.
func who(table *lock.Table) string {
	v := viewOf(table.Snapshot())
	return strings.Join(v.Held, " ") + " | " + strings.Join(v.Waiting, " ")
}

func wantWho(t *testing.T, table *lock.Table, want string) {
	t.Helper()
	if got := who(table); got != want {
		t.Errorf("holding | waiting: %q, want %q", got, want)
	}
}

func mustWait(t *testing.T, ticket *lock.Ticket) *lock.Lease {
	t.Helper()
	lease, err := ticket.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// A batch takes its tickets first; the order of the Wait calls makes no difference.
func TestTicketsAreServedInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := lock.New()
		var tickets []*lock.Ticket
		for _, call := range []string{"1", "2", "3", "4", "5"} {
			tickets = append(tickets, enqueue(t, table, call, "X file:/f"))
		}
		served := make(chan int, len(tickets))
		for i, ticket := range slices.Backward(tickets) {
			go func() {
				lease, err := ticket.Wait(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				<-time.After(time.Second)
				served <- i
				lease.Release()
			}()
			synctest.Wait()
		}
		for want := range tickets {
			if got := <-served; got != want {
				t.Errorf("ticket %d was served in turn %d", got, want)
			}
		}
		synctest.Wait()
		empty(t, table)
	})
}

// Readers hold for ten seconds and a new one comes every three, so the file is
// never free. A writer gets it as soon as the readers before it have released.
func TestWriterIsNotStarved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table, start := lock.New(), time.Now()
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			for ; ctx.Err() == nil; <-time.After(3 * time.Second) {
				go func() {
					request := lock.Request{Claims: claims("S file:/w/f"), Holder: lock.Holder{Call: "reader"}}
					lease, err := table.Acquire(ctx, request)
					if err != nil {
						return // stopped
					}
					<-time.After(10 * time.Second)
					lease.Release()
				}()
			}
		}()
		advance(100 * time.Second) // the last reader came at 99 s
		lease, err := table.Acquire(ctx, lock.Request{Claims: claims("X file:/w"), Holder: lock.Holder{Call: "writer"}})
		if err != nil {
			t.Fatal(err)
		}
		if time.Since(start) != 109*time.Second {
			t.Errorf("the writer was granted after %v, want 109s", time.Since(start))
		}
		wantWho(t, table, "writer | reader")
		lease.Release()
		wantWho(t, table, "reader | ")
		stop()
		advance(time.Minute)
		empty(t, table)
	})
}

func TestWaitTimesOutNamingTheHolder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := lock.New()
		first, err := table.Acquire(t.Context(), lock.Request{
			Claims: claims("U file:/home/u/ws"),
			Holder: lock.Holder{Call: "c1", Tool: "shell.run", Principal: "agent builder"},
		})
		if err != nil {
			t.Fatal(err)
		}
		advance(2 * time.Second)
		ticket, err := table.Enqueue(lock.Request{
			Claims: claims("S db:main, X file:/home/u/ws/a.txt"),
			Holder: lock.Holder{Call: "c2"}, Wait: 5 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		behind := enqueue(t, table, "c3", "X db:main")
		advance(time.Second) // the wait counts from Enqueue
		start := time.Now()
		_, err = ticket.Wait(t.Context())
		if tool.KindOf(err) != tool.Busy || time.Since(start) != 4*time.Second {
			t.Fatalf("after %v: %v, want Busy after 4s", time.Since(start), err)
		}
		want := `"file:/home/u/ws/a.txt" stayed locked for 5s: X wanted, ` +
			`but call c1 (shell.run, for agent builder) has held U on "file:/home/u/ws" since 2000-01-01T00:00:00Z (7s)` +
			" (try again when that call has ended, or claim less; `callgate locks` shows who holds what)"
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Error(diff)
		}
		mustWait(t, behind).Release() // freed by the request that timed out
		if _, err := ticket.Wait(t.Context()); tool.KindOf(err) != tool.Cancelled {
			t.Errorf("a second Wait on an ended ticket: %v, want Cancelled", err)
		}
		first.Release()
		empty(t, table)
	})
}

// If no call holds the resource, the error names the request ahead in the queue.
func TestWaitTimesOutNamingTheRequestAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := lock.New()
		first := acquire(t, table, "c1", "X file:/1")
		second := enqueue(t, table, "c2", "X file:/1, X file:/2")
		_, err := table.Acquire(t.Context(), lock.Request{Claims: claims("S file:/2"), Wait: time.Second})
		want := `call c2 is ahead in the queue, waiting for X on "file:/2" since 2000-01-01T00:00:00Z (1s)`
		if tool.KindOf(err) != tool.Busy || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want Busy with %s", err, want)
		}
		first.Release()
		mustWait(t, second).Release()
		empty(t, table)
	})
}

func TestCancelledCallLeavesTheQueue(t *testing.T) {
	t.Parallel()
	why := errors.New("the user pressed stop")
	tests := []struct {
		name string
		end  func(context.Context) (context.Context, context.CancelFunc)
		kind tool.Kind
		err  error
	}{
		{"cancelled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(time.Second, func() { cancel(why) })
			return ctx, func() { cancel(nil) }
		}, tool.Cancelled, why},
		{"out of time", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, tool.Timeout, context.DeadlineExceeded},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table, start := lock.New(), time.Now()
				first := acquire(t, table, "a", "S file:/f")
				second := enqueue(t, table, "b", "X file:/f")
				third := enqueue(t, table, "c", "S file:/f")
				wantWho(t, table, "a | b c")
				ctx, cancel := test.end(t.Context())
				defer cancel()
				_, err := second.Wait(ctx)
				if tool.KindOf(err) != test.kind || !errors.Is(err, test.err) || time.Since(start) != time.Second {
					t.Errorf("after %v: %v, want %s for %v", time.Since(start), err, test.kind, test.err)
				}
				wantWho(t, table, "a c | ")
				mustWait(t, third).Release()
				first.Release()
				empty(t, table)
			})
		})
	}
}

func TestCancelledCallNeverGetsItsLease(t *testing.T) {
	t.Parallel()
	table := lock.New()
	ctx, cancel := context.WithCancel(t.Context())
	ticket := enqueue(t, table, "a", "X file:/f")
	cancel()
	if _, err := ticket.Wait(ctx); tool.KindOf(err) != tool.Cancelled {
		t.Errorf("Wait: %v, want Cancelled", err)
	}
	if _, err := table.Acquire(ctx, lock.Request{Claims: claims("X file:/f")}); tool.KindOf(err) != tool.Cancelled {
		t.Errorf("Acquire: %v, want Cancelled", err)
	}
	if _, err := table.Acquire(ctx, lock.Request{}); tool.KindOf(err) != tool.Cancelled {
		t.Errorf("Acquire of nothing: %v, want Cancelled", err)
	}
	empty(t, table)
}

func TestCancelEndsATicketButNotALease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := lock.New()
		first := enqueue(t, table, "a", "X file:/f")
		second := enqueue(t, table, "b", "X file:/f")
		done := make(chan error)
		go func() {
			_, err := second.Wait(t.Context())
			done <- err
		}()
		synctest.Wait()
		second.Cancel()
		if err := <-done; tool.KindOf(err) != tool.Cancelled {
			t.Errorf("Wait of a cancelled ticket: %v, want Cancelled", err)
		}
		lease := mustWait(t, first)
		first.Cancel()
		wantWho(t, table, "a | ") // only the lease releases it now
		if again := mustWait(t, first); again != lease {
			t.Error("a second Wait returned another lease")
		}
		lease.Release()
		first.Cancel()
		empty(t, table)
	})
}

func TestSecondReleaseLeavesTheNextHolderAlone(t *testing.T) {
	t.Parallel()
	table := lock.New()
	first := acquire(t, table, "a", "X file:/f")
	second := enqueue(t, table, "b", "X file:/f")
	first.Release()
	first.Release()
	wantWho(t, table, "b | ")
	if passes(t, table, "S file:/f") {
		t.Error("a second Release opened the lock of another")
	}
	mustWait(t, second).Release()
	empty(t, table)
}

func TestBlockedByNamesTheBlockerOfAWaitingTicket(t *testing.T) {
	t.Parallel()
	table := lock.New()
	holder := enqueue(t, table, "a", "X file:/f")
	next, last := enqueue(t, table, "b", "S file:/f"), enqueue(t, table, "c", "X file:/f")
	if _, waits := holder.BlockedBy(); waits {
		t.Error("a holds it, and waits")
	}
	for _, p := range []*lock.Ticket{next, last} {
		if by, waits := p.BlockedBy(); !waits || by.Holder.Call != "a" || by.Queued {
			t.Errorf("behind %+v: %v", by, waits)
		}
	}
	holder.Cancel()
	if by, waits := last.BlockedBy(); !waits || by.Holder.Call != "b" {
		t.Errorf("then behind %+v: %v", by, waits)
	}
	next.Cancel()
	last.Cancel()
	if _, waits := last.BlockedBy(); waits {
		t.Error("a cancelled ticket still waits")
	}
	empty(t, table)
}
