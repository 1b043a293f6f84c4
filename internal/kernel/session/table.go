package session

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"callgate/internal/gate/approval"
	"callgate/tool"
)

// Table holds the open sessions of a kernel. A call that is finished without
// its session is made in another session of the same ID, which is never in the
// table; an ID has ended when the last session that bears it has closed.
type Table struct {
	ended func(id string)

	mu      sync.Mutex
	closing bool
	node    string                        // that IDs of sessions name; "": none
	away    map[string]approval.Requester // who opened sessions at other kernels from here, by their IDs
	open    map[string]*Session
	holders map[string][]*Session // sessions by ID, in the table or not
	held    int                   // sessions whose end is not complete
	ends    sync.Cond             // signals that held has become smaller
}

// NewTable makes an empty table. ended is called when an ID has ended.
func NewTable(ended func(id string)) *Table {
	t := &Table{ended: ended, open: map[string]*Session{}, holders: map[string][]*Session{}}
	t.ends.L = &t.mu
	return t
}

// Publish makes a session known. It refuses one whose ID is open, and any once
// the kernel closes.
func (t *Table) Publish(s *Session) error {
	const op = "session.Publish"
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return tool.Errorf(op, tool.Unavailable, "the kernel is closing")
	}
	if t.open[s.id] != nil {
		return tool.Errorf(op, tool.Conflict, "the session %s is open already", s.id)
	}
	t.open[s.id] = s
	return nil
}

// hold counts a session that bears an ID.
func (t *Table) hold(s *Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holders[s.id] = append(t.holders[s.id], s)
	t.held++
}

// unpublish takes a session that has ended out of the table.
func (t *Table) unpublish(s *Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[s.id] == s {
		delete(t.open, s.id)
	}
}

// remove ends the ID of a session that has ended and makes no call any more, with the
// last that bears it.
func (t *Table) remove(s *Session) {
	t.mu.Lock()
	rest := slices.DeleteFunc(t.holders[s.id], func(other *Session) bool { return other == s })
	t.holders[s.id] = rest
	last := len(rest) == 0
	if last {
		delete(t.holders, s.id)
	}
	t.mu.Unlock()
	if last {
		t.ended(s.id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held--
	t.ends.Broadcast()
}

// Get returns an open session.
func (t *Table) Get(id string) (*Session, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.open[id]; s != nil {
		return s, nil
	}
	return nil, tool.Errorf("session.Get", tool.NotFound, "there is no open session %s", tool.Truncate(id)).
		WithHint("open a new one")
}

// Bearing returns a session that bears an ID: the open one, or one that a call is made
// in without it.
func (t *Table) Bearing(id string) (*Session, error) {
	if s, err := t.Get(id); err == nil {
		return s, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if all := t.holders[id]; len(all) > 0 {
		return all[0], nil
	}
	return nil, tool.Errorf("session.Bearing", tool.NotFound, "no session %s makes a call", tool.Truncate(id))
}

// Len returns how many sessions are open.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}

// InUse reports whether a session is open whose process has not ended, or that makes a
// call: a client that was killed leaves its session open.
func (t *Table) InUse(ended func(approval.Requester) bool) bool {
	return slices.ContainsFunc(t.all(), func(s *Session) bool {
		return s.use.running() > 0 || !ended(s.Caller().Requester())
	})
}

func (t *Table) all() []*Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.open))
}

// IDs returns the sessions that are open.
func (t *Table) IDs() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.open))
}

// Requesters returns who opened the sessions, also those that processes of this machine have at other kernels.
func (t *Table) Requesters() []approval.Requester {
	var list []approval.Requester
	for _, s := range t.all() {
		list = append(list, s.Caller().Requester())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.AppendSeq(list, maps.Values(t.away))
}

// WaitIdle waits until no session of another process than pid is in the middle of
// something, or ctx ends: until no call runs, and no client was here a moment ago and
// may be about to make one.
func (t *Table) WaitIdle(ctx context.Context, pid int) {
	const lately = 300 * time.Millisecond
	for ctx.Err() == nil {
		list := t.all()
		i := slices.IndexFunc(list, func(s *Session) bool { return s.PID() != pid && s.use.busy(lately) })
		if i < 0 {
			return
		}
		list[i].use.waitIdle(ctx, lately)
	}
}

// Calls returns how many calls are under way.
func (t *Table) Calls() int {
	n := 0
	for _, s := range t.all() {
		n += s.use.running()
	}
	return n
}

// Close lets no session be published any more, closes all, and waits until each
// has ended, also those that somebody else is closing.
func (t *Table) Close() {
	t.mu.Lock()
	t.closing = true
	t.mu.Unlock()
	for _, s := range t.all() {
		s.Close()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.held > 0 {
		t.ends.Wait()
	}
}
