package conversation

import (
	"context"

	"callgate/internal/conversation/history"
)

// List returns conversations, the one last touched first; all when limit is 0.
func (m *Manager) List(ctx context.Context, limit int) ([]history.Info, error) {
	list, err := m.Store.List(ctx, limit)
	for i, info := range list {
		list[i] = info.As(running(m, info.ID))
	}
	return list, err
}

// running reports whether a turn of a conversation runs.
func running(m *Manager, id string) bool {
	c, err := m.Get(id)
	return err == nil && c.turn.running()
}

// attended are the conversations that clients have open.
func (m *Manager) attended() (all []history.Info) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.open {
		if !c.headless && c.child == nil {
			all = append(all, c.log.Info())
		}
	}
	return all
}

// History returns a conversation and what happened in it after an event.
func (m *Manager) History(ctx context.Context, id string, after int64) (history.Info, []history.Event, error) {
	info, err := m.Store.Get(ctx, id)
	if err != nil {
		return info, nil, err
	}
	events, err := m.Store.Read(ctx, id, after)
	return info.As(running(m, id)), events, err
}
