package watchers

import (
	"context"
	"sync"

	"callgate/internal/task"
	"callgate/tool"
)

// rooms knows whose watchers there are without asking the store for all of them. It is
// filled when it is first asked. It may still have watchers that have ended: the store is
// asked before they are too many.
type rooms struct {
	store task.Store

	mu     sync.Mutex
	owners map[string]owner // by watcher; nil: it is not filled
	taken  map[string]owner // by watchers that are being started
}

// owner is who has watchers: a user in an app.
type owner struct{ user, app string }

// take takes the room of a watcher that is to be started.
func (r *rooms) take(ctx context.Context, id string, who tool.Principal) error {
	own := owner{who.User, who.App}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owners == nil || r.count(own) >= maxPerApp {
		if err := r.fill(ctx); err != nil {
			return err
		}
	}
	if n := r.count(own); n >= maxPerApp {
		return tool.Errorf(startOp, tool.Limited, "%d watchers of this app run already, which is as many as it may have", n).
			WithHint("stop what is not needed any more: watch_list shows yours, callgate watchers list shows all")
	}
	r.taken[id] = own
	return nil
}

// count returns how many watchers an owner has. r.mu is held.
func (r *rooms) count(own owner) int {
	n := 0
	for _, o := range r.owners {
		if o == own {
			n++
		}
	}
	for id, o := range r.taken {
		if _, counted := r.owners[id]; o == own && !counted {
			n++
		}
	}
	return n
}

// stored notes that a watcher which took room is in the store.
func (r *rooms) stored(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if own, ok := r.taken[id]; ok {
		r.owners[id] = own
		delete(r.taken, id)
	}
}

// giveBack gives back the room of a watcher that was not started.
func (r *rooms) giveBack(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.taken, id)
}

// fill reads the watchers from the store. r.mu is held.
func (r *rooms) fill(ctx context.Context) error {
	all := map[string]owner{}
	for last := ""; ; {
		list, err := r.store.List(ctx, task.Query{Kinds: []string{Kind}, Active: true, After: last})
		if err != nil {
			return err
		}
		for _, t := range list {
			all[t.ID] = owner{t.Asker.Principal.User, t.Asker.Principal.App}
			last = t.ID
		}
		if len(list) < task.MaxList {
			break
		}
	}
	if r.owners = all; r.taken == nil {
		r.taken = map[string]owner{}
	}
	return nil
}
