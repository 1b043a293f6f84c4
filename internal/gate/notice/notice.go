// Package notice holds what the askers of earlier calls have to know until they come
// back. Law: a notice is given once, to the principal that it is for.
package notice

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/journal"
	"callgate/tool"
)

// patience is how long a result waits for the notices of earlier kernels, which are
// read in the background after a start.
const patience = 2 * time.Second

// Notice is what the asker of an earlier call has to know.
type Notice struct {
	Principal tool.Principal
	Workspace string
	Text      string
	Doubt     *journal.Record // told with this notice; nil: nothing is put on record
}

// Board holds the notices that wait for their principals. The zero value is empty.
type Board struct {
	waiting atomic.Int64
	mu      sync.Mutex
	notices map[key][]Notice
	loading chan struct{}   // closed when those of earlier kernels are there; nil: they are
	dropped map[string]bool // calls of which their askers know in another way
}

// key is a principal as it comes back after a restart: its session is another,
// everything else is the same.
type key struct {
	user, app, agent, lane, workspace string
}

func keyOf(p tool.Principal, workspace string) key {
	return key{p.User, p.App, p.Agent, p.Lane, workspace}
}

// Expect makes results wait for notices that are on their way. It returns the
// function that says that they are there.
func (b *Board) Expect() (loaded func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	loading := make(chan struct{})
	b.loading = loading
	b.waiting.Add(1)
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.loading = nil
		b.waiting.Add(-1)
		close(loading)
	})
}

// Add keeps a notice until its principal takes it.
func (b *Board) Add(n Notice) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n.Doubt != nil && b.dropped[n.Doubt.Call] {
		return
	}
	if b.notices == nil {
		b.notices = map[key][]Notice{}
	}
	to := keyOf(n.Principal, n.Workspace)
	b.notices[to] = append(b.notices[to], n)
	b.waiting.Add(1)
}

// Drop removes what is said of a call in doubt: its asker was told in another way.
func (b *Board) Drop(call string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dropped == nil {
		b.dropped = map[string]bool{}
	}
	b.dropped[call] = true
	for to, list := range b.notices {
		left := slices.DeleteFunc(list, func(n Notice) bool { return n.Doubt != nil && n.Doubt.Call == call })
		b.waiting.Add(int64(len(left) - len(list)))
		b.notices[to] = left
	}
}

// Take returns the notices for a principal, once.
func (b *Board) Take(ctx context.Context, p tool.Principal, workspace string) []Notice {
	if b.waiting.Load() == 0 {
		return nil
	}
	b.mu.Lock()
	loading := b.loading
	b.mu.Unlock()
	if loading != nil {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-loading:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	to := keyOf(p, workspace)
	notices := b.notices[to]
	delete(b.notices, to)
	b.waiting.Add(-int64(len(notices)))
	return notices
}
