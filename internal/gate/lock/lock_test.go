package lock_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/gate/lock"
	"callgate/internal/gate/lock/locktest"
	"callgate/tool"
)

var (
	claims    = locktest.Claims
	conflict  = locktest.Conflict
	conflicts = locktest.Conflicts
	resources = locktest.Resources
)

// tested is a table as the tests of all locks see it.
type tested struct{ *lock.Table }

func (l tested) Acquire(ctx context.Context, r lock.Request, blocked func(lock.Blocker)) (func(), error) {
	if ctx.Err() != nil {
		return nil, lock.CancelledError(ctx)
	}
	ticket, err := l.Enqueue(r)
	if err != nil {
		return nil, err
	}
	if by, waits := ticket.BlockedBy(); waits {
		blocked(by)
	}
	lease, err := ticket.Wait(ctx)
	if err != nil {
		return nil, err
	}
	return lease.Release, nil
}

func (l tested) Settle(testing.TB) {}

func (l tested) Who(testing.TB) string { return who(l.Table) }

func TestLocks(t *testing.T) {
	t.Parallel()
	locktest.Run(t, func(t *testing.T) locktest.Locks {
		table := lock.New()
		t.Cleanup(func() { empty(t, table) })
		return tested{table}
	})
}

// enqueue adds a request of a call to the queue; text gives its claims.
func enqueue(tb testing.TB, table *lock.Table, call, text string) *lock.Ticket {
	tb.Helper()
	ticket, err := table.Enqueue(lock.Request{Claims: claims(text), Holder: lock.Holder{Call: call}})
	if err != nil {
		tb.Fatal(err)
	}
	return ticket
}

// acquire takes locks that must be granted at once.
func acquire(tb testing.TB, table *lock.Table, call, text string) *lock.Lease {
	tb.Helper()
	request := lock.Request{Claims: claims(text), Holder: lock.Holder{Call: call}, Wait: -1}
	lease, err := table.Acquire(tb.Context(), request)
	if err != nil {
		tb.Fatal(err)
	}
	return lease
}

// passes reports whether a request would be granted now, and leaves no trace.
func passes(tb testing.TB, table *lock.Table, text string) bool {
	tb.Helper()
	lease, err := table.Acquire(tb.Context(), lock.Request{Claims: claims(text), Wait: -1})
	if err == nil {
		lease.Release()
		return true
	}
	if tool.KindOf(err) != tool.Busy {
		tb.Fatal(err)
	}
	return false
}

// empty checks that the table holds no lock and no node.
func empty(tb testing.TB, table *lock.Table) {
	tb.Helper()
	nodes, err := table.Audit()
	if err != nil {
		tb.Error(err)
	}
	view, _ := json.Marshal(table.Snapshot())
	if string(view) != `{"held":[],"waiting":[]}` || nodes != 0 {
		tb.Errorf("the table should be empty, and has %d nodes: %s", nodes, view)
	}
}

func TestInvalidClaimsAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		claim tool.Claim
	}{
		{"no mode", tool.Claim{Resource: "file:/a"}},
		{"unknown mode", tool.Claim{Resource: "file:/a", Mode: 9}},
		{"no resource", tool.Claim{Mode: tool.S}},
		{"no kind", tool.Claim{Resource: "/a/b", Mode: tool.S}},
		{"empty kind", tool.Claim{Resource: ":a", Mode: tool.S}},
		{"too long", tool.Claim{Resource: "file:" + strings.Repeat("/a", 1<<20), Mode: tool.S}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			table := lock.New()
			request := lock.Request{Claims: []tool.Claim{{Resource: "file:/ok", Mode: tool.X}, test.claim}}
			if _, err := table.Enqueue(request); tool.KindOf(err) != tool.Invalid {
				t.Errorf("Enqueue: %v, want an Invalid", err)
			} else if len(err.Error()) > 1000 {
				t.Errorf("the error is %d bytes long", len(err.Error()))
			}
			if _, err := table.Acquire(t.Context(), request); tool.KindOf(err) != tool.Invalid {
				t.Errorf("Acquire: %v, want an Invalid", err)
			}
			empty(t, table)
		})
	}
}

func TestRequestWithoutClaimsHoldsNothing(t *testing.T) {
	t.Parallel()
	table := lock.New()
	all := acquire(t, table, "first", "X file:, X db:")
	lease, err := table.Acquire(t.Context(), lock.Request{})
	if err != nil {
		t.Fatal(err)
	}
	ticket, err := table.Enqueue(lock.Request{})
	if err != nil {
		t.Fatal(err)
	}
	queued, err := ticket.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(table.Snapshot().Held); n != 2 {
		t.Errorf("%d claims are held, want the 2 of the first", n)
	}
	ctx, cancel := lease.WithExpiry(t.Context(), 0)
	if ctx.Err() != nil {
		t.Error("the context of a lease without expiry is done at once")
	}
	cancel()
	lease.Release()
	queued.Release()
	all.Release()
	empty(t, table)
}

func TestManyChildrenOfOneNodeAreKeptApart(t *testing.T) {
	t.Parallel()
	table := lock.New()
	var leases []*lock.Lease
	names := func(i int) string { return "file:/w/" + strings.Repeat("n", i%100+1) + string(rune('a'+i/100)) }
	const n = 2000
	for i := range n {
		leases = append(leases, acquire(t, table, "many", "X "+names(i)))
	}
	if nodes, err := table.Audit(); err != nil || nodes != n+2 {
		t.Fatalf("%d nodes (%v), want %d", nodes, err, n+2)
	}
	for i := range n {
		if passes(t, table, "S "+names(i)) {
			t.Fatalf("%s is held, and was granted again", names(i))
		}
	}
	for i, lease := range leases {
		lease.Release()
		if !passes(t, table, "X "+names(i)) {
			t.Fatalf("%s was released, and is not granted", names(i))
		}
	}
	empty(t, table)
}
