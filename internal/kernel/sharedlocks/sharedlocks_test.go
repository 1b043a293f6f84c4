package sharedlocks_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/lock"
	"callgate/internal/gate/lock/locktest"
	"callgate/internal/gate/lockqueue"
	"callgate/internal/kernel/sharedlocks"
	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/locks"
	"callgate/internal/storage/postgres/postgrestest"
	"callgate/tool"
)

var server postgrestest.Server

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// kernel is one side of locks that two have.
type kernel struct {
	own      *lock.Table
	database *locks.Table
	lockqueue.Locks
}

// two are two kernels on one database.
func two(t testing.TB) (a, b *kernel) {
	t.Helper()
	url := server.URL(t)
	open := func(id string) *kernel {
		db, err := postgres.Open(t.Context(), url, postgres.Node{ID: id, Lease: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		k := &kernel{own: lock.New(), database: locks.Open(locks.OptionsOf(db.DB))}
		k.Locks = sharedlocks.New(k.own, k.database)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = k.database.Close(ctx)
			_ = db.Close()
		})
		return k
	}
	return open("a"), open("b")
}

func enqueue(t testing.TB, k *kernel, call, text string, wait time.Duration) lockqueue.Ticket {
	t.Helper()
	ticket, err := k.Enqueue(lock.Request{Claims: locktest.Claims(text), Holder: lock.Holder{Call: call}, Wait: wait})
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

func take(t testing.TB, k *kernel, call, text string) lockqueue.Lease {
	t.Helper()
	lease, err := enqueue(t, k, call, text, -1).Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// taken is what came of a wait in the background.
type taken struct {
	lease lockqueue.Lease
	err   error
}

// wait waits for a ticket in the background, and returns when the database has said who is in its way.
func wait(t testing.TB, ticket lockqueue.Ticket) (<-chan taken, lock.Blocker) {
	t.Helper()
	done := make(chan taken, 1)
	go func() {
		lease, err := ticket.Wait(t.Context())
		done <- taken{lease, err}
	}()
	for {
		if by, _ := ticket.BlockedBy(); by.Resource != "" {
			return done, by
		}
		select {
		case got := <-done:
			t.Fatalf("it did not wait: %v", got.err)
		case <-time.After(time.Millisecond):
		}
	}
}

func TestCallsOfTwoKernels(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	first := take(t, a, "c1", "X db:main, X file:/w/a")
	other := take(t, b, "c2", "X file:/w/a, X server:user/x, X repo:/w") // of the kernel itself
	_, err := enqueue(t, b, "c3", "S db:main", -1).Wait(t.Context())
	if tool.KindOf(err) != tool.Busy || !strings.Contains(err.Error(), "call c1 at node a has held X") {
		t.Errorf("at the other kernel: %v", err)
	}
	_, err = enqueue(t, a, "c4", "S db:main", -1).Wait(t.Context())
	if tool.KindOf(err) != tool.Busy || !strings.Contains(err.Error(), "call c1 has held X") {
		t.Errorf("at the same kernel: %v", err)
	}
	ticket := enqueue(t, b, "c5", "S db:main/t, X file:/w/b", time.Minute)
	done, by := wait(t, ticket)
	if by.Holder.Call != "c1" || by.Node != "a" {
		t.Errorf("it waits behind %+v", by)
	}
	first.Release()
	first.Release()
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	if _, waits := ticket.BlockedBy(); waits {
		t.Error("it holds, and waits")
	}
	ticket.Cancel() // only the lease releases it now
	if again, err := ticket.Wait(t.Context()); err != nil || again != got.lease {
		t.Errorf("a second wait: %v, %v", again, err)
	}
	if n := len(b.own.Snapshot().Held); n != 5 {
		t.Errorf("the kernel holds %d claims", n)
	}
	fenced := first.(*sharedlocks.Lease).Fence()
	if now := got.lease.(*sharedlocks.Lease).Fence(); now <= fenced {
		t.Errorf("fence %d after %d", now, fenced)
	}
	got.lease.Release()
	other.Release()
	empty(t, b)
	empty(t, a)
}

// empty waits until a kernel holds nothing: it lets go when the database knows.
func empty(t testing.TB, k *kernel) {
	t.Helper()
	view := k.own.Snapshot()
	for end := time.Now().Add(20 * time.Second); len(view.Held)+len(view.Waiting) > 0; view = k.own.Snapshot() {
		if time.Now().After(end) {
			t.Fatalf("the table is not empty: %+v", view)
		}
		<-time.After(time.Millisecond)
	}
}

// A knowledge base that is one at all kernels is locked at all of them, and one of a folder is not.
func TestKnowledgeBases(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	first := take(t, a, "c1", "X rag:shared/team, X rag:main")
	take(t, b, "c2", "X rag:main, X rag:shared/other, IS rag:").Release()
	_, err := enqueue(t, b, "c3", "IX rag:shared/team", -1).Wait(t.Context())
	if tool.KindOf(err) != tool.Busy || !strings.Contains(err.Error(), "call c1 at node a has held X") {
		t.Errorf("at the other kernel: %v", err)
	}
	first.Release()
	empty(t, a)
	empty(t, b)
}

func TestEndedWaits(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	hold := take(t, a, "c1", "X db:main")
	for name, test := range map[string]struct {
		wait time.Duration
		end  func(ticket lockqueue.Ticket, cancel context.CancelFunc)
		kind tool.Kind
	}{
		"the ticket is cancelled":  {0, func(ticket lockqueue.Ticket, _ context.CancelFunc) { ticket.Cancel() }, tool.Cancelled},
		"the call is cancelled":    {0, func(_ lockqueue.Ticket, cancel context.CancelFunc) { cancel() }, tool.Cancelled},
		"the time in line is over": {200 * time.Millisecond, func(lockqueue.Ticket, context.CancelFunc) {}, tool.Busy},
	} {
		ticket := enqueue(t, b, "c2", "X db:main, X file:/f", test.wait)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := ticket.Wait(ctx)
			failed <- err
		}()
		if test.wait == 0 {
			for by, _ := ticket.BlockedBy(); by.Resource == ""; by, _ = ticket.BlockedBy() {
				<-time.After(time.Millisecond)
			}
		}
		test.end(ticket, cancel)
		if err := <-failed; tool.KindOf(err) != test.kind {
			t.Errorf("%s: %v, want %s", name, err, test.kind)
		}
		if _, err := ticket.Wait(t.Context()); tool.KindOf(err) != tool.Cancelled {
			t.Errorf("%s: a second wait says %v", name, err)
		}
		cancel()
		empty(t, b)
	}
	hold.Release()
	empty(t, a)
	take(t, b, "c3", "X db:main").Release()
	unused := enqueue(t, b, "c4", "X db:main", 0)
	unused.Cancel()
	if _, err := unused.Wait(t.Context()); tool.KindOf(err) != tool.Cancelled {
		t.Errorf("a wait for a cancelled ticket says %v", err)
	}
	empty(t, b)
}

// Two kernels that want two things each in the other's order, with files of their own, all come to their turn.
func TestNoDeadlock(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	done := make(chan error, 4)
	for i, k := range []*kernel{a, b, a, b} {
		text := []string{"X db:1, X file:/f, X db:2", "X db:2, X db:1, X file:/f"}[i/2]
		go func() {
			for range 10 {
				ticket, err := k.Enqueue(lock.Request{Claims: locktest.Claims(text), Wait: time.Minute})
				if err != nil {
					done <- err
					return
				}
				lease, err := ticket.Wait(t.Context())
				if err != nil {
					done <- err
					return
				}
				lease.Release()
			}
			done <- nil
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestExpiredLeases(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	lease := take(t, a, "c1", "X db:main")
	ctx, cancel := lease.WithExpiry(t.Context(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	if tool.KindOf(context.Cause(ctx)) != tool.Timeout {
		t.Errorf("it was ended by %v", context.Cause(ctx))
	}
	if _, err := enqueue(t, b, "c2", "S db:main", -1).Wait(t.Context()); tool.KindOf(err) != tool.Busy {
		t.Errorf("its locks are held until they are released, and another had them: %v", err)
	}
	lease.Release()
}

// BenchmarkOwnClaims is a call that claims only what is of its kernel, with and without a database beside.
func BenchmarkOwnClaims(b *testing.B) {
	claims := locktest.Claims("X file:/home/u/work/project/internal/x.go, S file:/home/u/work/project/go.mod")
	for name, all := range map[string]lockqueue.Locks{
		"own":    lockqueue.Local(lock.New()),
		"shared": sharedlocks.New(lock.New(), nil), // a database would be asked in vain
	} {
		b.Run(name, func(b *testing.B) {
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				ticket, err := all.Enqueue(lock.Request{Claims: claims, Holder: lock.Holder{Call: "c1"}})
				if err != nil {
					b.Fatal(err)
				}
				lease, err := ticket.Wait(ctx)
				if err != nil {
					b.Fatal(err)
				}
				lease.Release()
			}
		})
	}
}
