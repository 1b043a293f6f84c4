package locks_test

import (
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/lock"
	"callgate/internal/gate/lock/locktest"
	"callgate/internal/storage/postgres/locks"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/tool"
)

func request(call, text string) lock.Request {
	return lock.Request{Claims: locktest.Claims(text), Holder: lock.Holder{Call: call, Tool: "sql.run"}}
}

func acquire(t *testing.T, table *locks.Table, call, text string) *locks.Hold {
	t.Helper()
	r := request(call, text)
	r.Wait = -1
	hold, err := table.Acquire(t.Context(), r, locks.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	return hold
}

// acquired is what came of a request in the background.
type acquired struct {
	hold *locks.Hold
	err  error
}

// start makes a request in the background. It returns when the database has answered that it waits, with who is in its
// way.
func start(t *testing.T, table *locks.Table, call, text string) (<-chan acquired, lock.Blocker) {
	t.Helper()
	by, done := make(chan lock.Blocker, 1), make(chan acquired, 1)
	go func() {
		hold, err := table.Acquire(t.Context(), request(call, text), locks.Watch{Blocked: func(b lock.Blocker) {
			select {
			case by <- b:
			default:
			}
		}})
		done <- acquired{hold, err}
	}()
	select {
	case b := <-by:
		return done, b
	case a := <-done:
		t.Fatalf("%s did not wait: %v", call, a.err)
	}
	return nil, lock.Blocker{}
}

func TestBlockerTellsItsNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.open(t, "a"), c.open(t, "b")
	hold := acquire(t, a, "c1", "X db:main")
	r := request("c2", "X db:main")
	r.Wait = -1
	_, err := b.Acquire(t.Context(), r, locks.Watch{})
	if tool.KindOf(err) != tool.Busy || !strings.Contains(err.Error(), "call c1 (sql.run) at node a-name has held X") {
		t.Errorf("another node: %v", err)
	}
	if _, err = a.Acquire(t.Context(), r, locks.Watch{}); err == nil || strings.Contains(err.Error(), "at node") {
		t.Errorf("the node itself: %v", err)
	}
	done, by := start(t, b, "c3", "S db:main/t")
	if by.Node != "a-name" || by.Holder.Call != "c1" || by.Resource != "db:main" || time.Since(by.Since) > time.Minute {
		t.Errorf("it waits behind %+v", by)
	}
	hold.Release(nil)
	got := <-done
	if got.err != nil || got.hold.Fence() <= hold.Fence() {
		t.Errorf("then: %v, fence %d after %d", got.err, got.hold.Fence(), hold.Fence())
	}
}

// What a node held does not count when its epoch is past, and the node itself gets nothing any more.
func TestPastEpochs(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old, b := c.open(t, "a"), c.open(t, "b")
	acquire(t, old, "c1", "X db:main")
	waits, _ := start(t, old, "c2", "X db:main/t")
	now := c.open(t, "a") // its former process is fenced off
	hold := acquire(t, b, "c3", "X db:main")
	if _, err := old.Acquire(t.Context(), request("c4", "S db:other"), locks.Watch{}); !pgnode.Fenced(err) {
		t.Errorf("the old epoch: %v", err)
	}
	hold.Release(nil)
	acquire(t, now, "c5", "X db:other")
	old.Wake()
	if got := <-waits; !pgnode.Fenced(got.err) {
		t.Errorf("the request that waited: %v", got.err)
	}
}

// A request that waits for a node which is opened anew is woken.
func TestReopenedNodesWakeWaiters(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.open(t, "a")
	b := c.openWith(t, "b", c.url, time.Hour, func(o *locks.Options) { o.Poll = time.Hour })
	acquire(t, old, "c1", "X db:main")
	waits, _ := start(t, b, "c2", "X db:main")
	c.open(t, "a")
	select {
	case got := <-waits:
		if got.err != nil {
			t.Error(got.err)
		}
	case <-time.After(time.Minute): // without the wake it would wait for its next poll, in an hour
		t.Fatal("the request that waited for the node was not woken")
	}
	wants(t, c, "c2 | ")
}

// A node whose lease is over keeps its locks until somebody who waits takes it over; one whose lease is not over keeps
// them whatever it does.
func TestLeasesThatAreOver(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	dead, alive := c.openAt(t, "dead", c.url, time.Hour), c.open(t, "alive")
	lost := acquire(t, dead, "c1", "X db:main")
	first, by := start(t, alive, "c2", "X db:main")
	if by.Node != "dead-name" {
		t.Errorf("it waits behind %+v", by)
	}
	second, _ := start(t, alive, "c3", "X db:main/t")
	if got := c.who(t); got != "c1 | c2 c3" {
		t.Errorf("before: %q", got)
	}
	c.exec(t, "UPDATE nodes SET lease_until = clock_timestamp() WHERE id = 'dead'")
	alive.Wake()
	got := <-first
	if got.err != nil {
		t.Fatal(got.err)
	}
	if got.hold.Fence() <= lost.Fence() {
		t.Errorf("fence %d after %d", got.hold.Fence(), lost.Fence())
	}
	lost.Release(nil) // it was taken over, and changes nothing
	if err := dead.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.who(t); got != "c2 | c3" {
		t.Errorf("after: %q", got)
	}
	got.hold.Release(nil)
	if got := <-second; got.err != nil {
		t.Error(got.err)
	}
	if _, err := dead.Acquire(t.Context(), request("c4", "S db:x"), locks.Watch{}); !pgnode.Fenced(err) {
		t.Errorf("the dead node: %v", err)
	}
}

// The waiter looks when the lease ends, though nobody tells it.
func TestWaiterTakesOverByItself(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	dead, alive := c.openAt(t, "dead", c.url, 300*time.Millisecond), c.open(t, "alive")
	acquire(t, dead, "c1", "X db:main")
	start := time.Now()
	if _, err := alive.Acquire(t.Context(), request("c2", "S db:main"), locks.Watch{}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}

// What waits at a node that dies is no place in the queue.
func TestDeadWaiters(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	dead, alive := c.openAt(t, "dead", c.url, time.Hour), c.open(t, "alive")
	hold := acquire(t, alive, "c1", "S db:main")
	start(t, dead, "c2", "X db:main")
	behind, by := start(t, alive, "c3", "S db:main")
	if by.Holder.Call != "c2" || !by.Queued {
		t.Errorf("it waits behind %+v", by)
	}
	c.exec(t, "UPDATE nodes SET lease_until = clock_timestamp() WHERE id = 'dead'")
	alive.Wake()
	if got := <-behind; got.err != nil {
		t.Error(got.err)
	}
	hold.Release(nil)
}
