// Package subscriptions keeps which connections want to know of changes to a
// resource.
//
// # Law
//
// A resource is subscribed to once at its server, however many connections want
// it, and the subscription ends with the last of them. One goroutine at a time
// adds a connection to a resource or removes one; others wait for their turn.
// Resources do not wait for each other.
package subscriptions

import (
	"context"
	"sync"

	"callgate/tool"
)

// Table is the subscriptions of an endpoint. C is a connection. The zero value is
// empty.
type Table[C comparable] struct {
	mu         sync.Mutex
	closed     bool
	byResource map[string]*entry[C]
}

// entry is a resource to which connections are subscribed.
type entry[C comparable] struct {
	users       int           // goroutines that have the turn or wait for it; guarded by the table
	turn        chan struct{} // full while a goroutine changes the fields below
	connections map[C]bool
	stop        func() // ends the subscription at the server; nil: there is none
}

// Add subscribes a connection to a resource. start is called for the first
// connection; it subscribes at the server and returns what ends that, which must
// not block.
func (t *Table[C]) Add(
	ctx context.Context, resource string, c C, start func() (stop func(), err error),
) error {
	e, done, err := t.acquire(ctx, resource)
	if err != nil {
		return err
	}
	defer done()
	if e.stop == nil {
		stop, err := start()
		if err != nil {
			return err
		}
		e.stop = stop
	}
	e.connections[c] = true
	return nil
}

// Remove ends the subscription of a connection to a resource.
func (t *Table[C]) Remove(resource string, c C) {
	e, done, err := t.acquire(context.Background(), resource)
	if err != nil {
		return // the table is closed, and all subscriptions end
	}
	defer done()
	delete(e.connections, c)
}

// RemoveConnection ends all subscriptions of a connection.
func (t *Table[C]) RemoveConnection(c C) {
	t.mu.Lock()
	resources := make([]string, 0, len(t.byResource))
	for r := range t.byResource {
		resources = append(resources, r)
	}
	t.mu.Unlock()
	for _, r := range resources {
		t.Remove(r, c)
	}
}

// Close ends all subscriptions.
func (t *Table[C]) Close() {
	t.mu.Lock()
	t.closed = true
	all := t.byResource
	t.byResource = nil
	t.mu.Unlock()
	for resource, e := range all {
		e.turn <- struct{}{}
		t.release(resource, e)
	}
}

// acquire waits for the turn at a resource, and returns it with the function that
// gives the turn back.
func (t *Table[C]) acquire(ctx context.Context, resource string) (*entry[C], func(), error) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, nil, tool.Errorf("mcpserver.subscribe", tool.Unavailable, "this connection is being closed")
	}
	if t.byResource == nil {
		t.byResource = map[string]*entry[C]{}
	}
	e := t.byResource[resource]
	if e == nil {
		e = &entry[C]{turn: make(chan struct{}, 1), connections: map[C]bool{}}
		t.byResource[resource] = e
	}
	e.users++
	t.mu.Unlock()
	select {
	case e.turn <- struct{}{}:
		return e, func() { t.release(resource, e) }, nil
	case <-ctx.Done():
		t.mu.Lock()
		e.users-- // the goroutine that has the turn removes the entry
		t.mu.Unlock()
		return nil, nil, context.Cause(ctx)
	}
}

// release gives the turn back. It ends the subscription at the server if no
// connection is left, and removes the entry if no goroutine waits for it.
func (t *Table[C]) release(resource string, e *entry[C]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if (t.closed || len(e.connections) == 0) && e.stop != nil {
		e.stop()
		e.stop = nil
	}
	if e.users--; e.users == 0 && e.stop == nil && t.byResource[resource] == e {
		delete(t.byResource, resource)
	}
	<-e.turn
}
