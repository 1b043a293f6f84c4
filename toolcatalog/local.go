package toolcatalog

import (
	"context"
	"slices"
	"sync"

	"callgate/tool"
)

// Local is a backend in memory. Make one with NewLocal.
type Local struct {
	name string

	mu      sync.Mutex
	tools   map[tool.ID]*tool.Tool
	order   []tool.ID
	changed func()
}

var (
	_ Backend  = (*Local)(nil)
	_ Notifier = (*Local)(nil)
)

// NewLocal makes a backend without tools.
func NewLocal(name string) *Local { return &Local{name: name, tools: map[tool.ID]*tool.Tool{}} }

// Name returns the backend's name.
func (l *Local) Name() string { return l.name }

// List returns the tools in the order in which they came.
func (l *Local) List(context.Context) ([]*tool.Tool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*tool.Tool, len(l.order))
	for i, id := range l.order {
		all[i] = l.tools[id]
	}
	return all, nil
}

// Notify has changed called after each change.
func (l *Local) Notify(changed func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = changed
}

// Register adds tools, all or none. An ID that is there, or comes twice, is a Conflict.
func (l *Local) Register(tools ...*tool.Tool) error {
	const op = "toolcatalog.Register"
	fresh := map[tool.ID]bool{}
	return l.change(func() error {
		for _, t := range tools {
			if err := t.Validate(); err != nil {
				return err
			}
			if l.tools[t.ID] != nil || fresh[t.ID] {
				return tool.Errorf(op, tool.Conflict, "%s already has a tool %s", l.name, t.ID).
					WithHint("replace it, or give this one another version")
			}
			fresh[t.ID] = true
		}
		for _, t := range tools {
			l.put(t)
		}
		return nil
	})
}

// Replace adds a tool, in the place of the one of its ID if there is one.
func (l *Local) Replace(t *tool.Tool) error {
	return l.change(func() error {
		if err := t.Validate(); err != nil {
			return err
		}
		l.put(t)
		return nil
	})
}

// Unregister removes a tool, and reports whether it was there.
func (l *Local) Unregister(id tool.ID) (was bool) {
	_ = l.change(func() error {
		was = l.tools[id] != nil
		delete(l.tools, id)
		l.order = slices.DeleteFunc(l.order, func(o tool.ID) bool { return o == id })
		return nil
	})
	return was
}

// Size returns the number of tools.
func (l *Local) Size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.order)
}

// put stores a tool; l.mu is held.
func (l *Local) put(t *tool.Tool) {
	if l.tools[t.ID] == nil {
		l.order = append(l.order, t.ID)
	}
	l.tools[t.ID] = t
}

// change makes a change, and tells of it without the lock: who is told may list.
func (l *Local) change(do func() error) error {
	l.mu.Lock()
	err := do()
	changed := l.changed
	l.mu.Unlock()
	if err == nil && changed != nil {
		changed()
	}
	return err
}
