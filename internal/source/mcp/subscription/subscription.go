// Package subscription keeps who wants to be told when a server's resources change.
//
// # Law
//
// A server is asked once for each resource, however many want to be told, and
// told that nobody does when the last has gone. Asking and taking back follow
// one another: who comes while the last one goes is asked for anew. Somebody is
// in the table before the server is asked, so that nothing is missed; a server
// that refuses takes them out again. Telling never waits.
package subscription

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// Table is the watchers of one server. The zero value has none.
type Table struct {
	made  sync.Once
	uriMu chan struct{} // one asks, or takes back, at a time

	mu       sync.Mutex
	watchers map[string]map[*subscriber]bool // by address
}

// inTurn waits for the turn, and returns what gives it on.
func (t *Table) inTurn(ctx context.Context) (done func(), err error) {
	t.made.Do(func() { t.uriMu = make(chan struct{}, 1) })
	select {
	case t.uriMu <- struct{}{}:
		return func() { <-t.uriMu }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

type subscriber struct{ told func() }

// Add has told called whenever a resource changes, until stop is. It must not
// wait. The first of a resource has ask called, and when that fails is not
// added. The last one's stop calls leave, and waits for it.
func (t *Table) Add(ctx context.Context, uri string, told func(), ask func(context.Context) error, leave func()) (stop func(), err error) {
	done, err := t.inTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	w := &subscriber{told}
	if first := t.put(uri, w); first {
		if err := ask(ctx); err != nil {
			t.take(uri, w)
			return nil, err
		}
	}
	return sync.OnceFunc(func() {
		done, err := t.inTurn(context.Background())
		if err != nil {
			return // which cannot be
		}
		defer done()
		if last := t.take(uri, w); last {
			leave()
		}
	}), nil
}

func (t *Table) put(uri string, w *subscriber) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watchers == nil {
		t.watchers = map[string]map[*subscriber]bool{}
	}
	if first = t.watchers[uri] == nil; first {
		t.watchers[uri] = map[*subscriber]bool{}
	}
	t.watchers[uri][w] = true
	return first
}

func (t *Table) take(uri string, w *subscriber) (last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.watchers[uri], w)
	if last = len(t.watchers[uri]) == 0; last {
		delete(t.watchers, uri)
	}
	return last
}

// Notify tells all who want to know of a resource.
func (t *Table) Notify(uri string) {
	t.mu.Lock()
	all := slices.Collect(maps.Keys(t.watchers[uri]))
	t.mu.Unlock()
	for _, w := range all {
		w.told()
	}
}

// URIs returns the resources that somebody wants to know of.
func (t *Table) URIs() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.watchers))
}

// Empty reports whether nobody wants to know of anything.
func (t *Table) Empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.watchers) == 0
}
