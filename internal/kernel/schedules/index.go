package schedules

import (
	"context"
	"sync"

	"callgate/internal/task"
)

// index knows which schedules there are without asking the store for all of them. It is
// filled when it is first asked. It may still have schedules that have ended, which the
// store is asked about before they count.
type index struct {
	store task.Store

	mu     sync.Mutex
	filled bool
	jobs   map[string]entry
	owners map[string]*task.Asker // by session: a session's schedules share one
}

// entry is a schedule that may not have ended.
type entry struct {
	owner  *task.Asker
	parent string
	name   string
}

// all returns the schedules that a test accepts, by ID.
func (x *index) all(ctx context.Context, accept func(entry) bool) (map[string]entry, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.filled {
		if err := x.fill(ctx); err != nil {
			return nil, err
		}
	}
	found := map[string]entry{}
	for id, e := range x.jobs {
		if accept(e) {
			found[id] = e
		}
	}
	return found, nil
}

// count returns how many schedules a test accepts. If those are as many as limit, the
// store is asked which of them have not ended.
func (x *index) count(ctx context.Context, limit int, accept func(entry) bool) (int, error) {
	found, err := x.all(ctx, accept)
	if err != nil || len(found) < limit {
		return len(found), err
	}
	x.mu.Lock()
	err = x.fill(ctx)
	x.mu.Unlock()
	if err != nil {
		return 0, err
	}
	found, err = x.all(ctx, accept)
	return len(found), err
}

// fill reads the schedules from the store. x.mu is held.
func (x *index) fill(ctx context.Context) error {
	x.jobs, x.owners, x.filled = map[string]entry{}, map[string]*task.Asker{}, false
	for last := ""; ; {
		list, err := x.store.List(ctx, task.Query{Kinds: []string{Kind}, Active: true, After: last})
		if err != nil {
			return err
		}
		for _, t := range list {
			if j, _, err := read(t); err == nil {
				x.put(t, j.Name)
			}
			last = t.ID
		}
		if len(list) < task.MaxList {
			x.filled = true
			return nil
		}
	}
}

// put adds a schedule. x.mu is held.
func (x *index) put(t task.Task, name string) {
	session := t.Asker.Principal.Session
	if x.owners[session] == nil {
		x.owners[session] = &t.Asker
	}
	x.jobs[t.ID] = entry{x.owners[session], t.Parent, name}
}

// add adds a schedule that was stored.
func (x *index) add(t task.Task, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.filled {
		x.put(t, name)
	}
}

// remove forgets a schedule that has ended.
func (x *index) remove(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.jobs, id)
}
