// Package subscription keeps who watches which resources of a server.
//
// # Law
//
// The server is asked to subscribe once for each resource, however many watch
// it, and to unsubscribe when the last one stops. One subscribes or unsubscribes
// at a time, so that a watcher who comes while the last one stops is subscribed
// anew. A watcher is in the table before the server is asked, so that no change
// is missed; when the server refuses, it is taken out again. Notify never waits
// for the server.
package subscription

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// Table is the watchers of one server's resources. The zero value has none.
type Table struct {
	once sync.Once
	turn chan struct{} // held by the one who subscribes or unsubscribes

	mu       sync.Mutex
	watchers map[string]map[*watcher]bool // by URI
}

type watcher struct{ changed func() }

// lock waits for the turn; unlock passes it on.
func (t *Table) lock(ctx context.Context) (unlock func(), err error) {
	t.once.Do(func() { t.turn = make(chan struct{}, 1) })
	select {
	case t.turn <- struct{}{}:
		return func() { <-t.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Add calls changed whenever a resource changes, until stop is called; changed
// must not block. For the first watcher of a resource, Add calls subscribe, and
// fails when that does. The stop of the last watcher calls unsubscribe.
func (t *Table) Add(
	ctx context.Context, uri string, changed func(), subscribe func(context.Context) error, unsubscribe func(),
) (stop func(), err error) {
	unlock, err := t.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	w := &watcher{changed}
	if first := t.put(uri, w); first {
		if err := subscribe(ctx); err != nil {
			t.remove(uri, w)
			return nil, err
		}
	}
	return sync.OnceFunc(func() {
		unlock, err := t.lock(context.Background())
		if err != nil {
			return // unreachable: that context never ends
		}
		defer unlock()
		if last := t.remove(uri, w); last {
			unsubscribe()
		}
	}), nil
}

func (t *Table) put(uri string, w *watcher) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watchers == nil {
		t.watchers = map[string]map[*watcher]bool{}
	}
	if first = t.watchers[uri] == nil; first {
		t.watchers[uri] = map[*watcher]bool{}
	}
	t.watchers[uri][w] = true
	return first
}

func (t *Table) remove(uri string, w *watcher) (last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.watchers[uri], w)
	if last = len(t.watchers[uri]) == 0; last {
		delete(t.watchers, uri)
	}
	return last
}

// Notify tells all watchers of a resource that it has changed.
func (t *Table) Notify(uri string) {
	t.mu.Lock()
	all := slices.Collect(maps.Keys(t.watchers[uri]))
	t.mu.Unlock()
	for _, w := range all {
		w.changed()
	}
}

// URIs returns the resources that are watched.
func (t *Table) URIs() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.watchers))
}

// Empty reports whether nothing is watched.
func (t *Table) Empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.watchers) == 0
}
