// Package sharedlocks is the order of calls at a kernel that shares things with others: a call takes its locks in the
// table of its own kernel first, and then, for what is not of this kernel alone, in the database.
//
// # The law
//
//  1. A call that waits in the database has all its locks of its own kernel, and one that holds something in the
//     database waits for nothing. So no two calls wait for each other, at one kernel or at two.
//  2. Calls of one kernel that conflict meet in its own table. The database hears of one of them at a time, when it is
//     its turn; from then on it has its place among those of other kernels.
//  3. A lock is released in the database first, and in the kernel's own table when the database knows it. So is one
//     that was given up. What a kernel has in the database is never in the way of its own next call.
//  4. A call that claims only what is of this kernel costs what it costs without others.
package sharedlocks

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/gate/lock"
	"callgate/internal/gate/lockqueue"
	"callgate/internal/storage/postgres/locks"
	"callgate/tool"
)

// ofKernel are the kinds of resources that a kernel has for itself, so that the same name at another kernel is another
// thing: files and repositories of its machine, its servers, tabs and tasks, and what modules keep in files and in
// collections that kernels do not share. Any other kind is shared; so are queues, whose items may be of all kernels,
// and the knowledge bases whose names say that they are of all kernels.
var ofKernel = []string{"file", "repo", "server", "browser_tab", "task", "index", "rag", "module"}

// sharedBases begins what a call claims of a knowledge base of all kernels.
const sharedBases = "rag:shared/"

func isShared(c tool.Claim) bool {
	kind, _, _ := strings.Cut(c.Resource, ":")
	return strings.HasPrefix(c.Resource, sharedBases) || !slices.Contains(ofKernel, kind)
}

// Database is where shared locks are kept.
type Database interface {
	Acquire(ctx context.Context, r lock.Request, w locks.Watch) (*locks.Hold, error)
}

type shared struct {
	own      lockqueue.Locks
	database Database
}

// New returns the locks of a kernel.
func New(own *lock.Table, database Database) lockqueue.Locks {
	return &shared{lockqueue.Local(own), database}
}

// Enqueue takes a place in the kernel's own queue.
func (s *shared) Enqueue(r lock.Request) (lockqueue.Ticket, error) {
	own, err := s.own.Enqueue(r)
	if err != nil || !slices.ContainsFunc(r.Claims, isShared) {
		return own, err
	}
	t := &ticket{own: own, database: s.database, request: r, asked: time.Now(), turn: make(chan struct{}, 1)}
	t.request.Claims = nil
	for _, c := range r.Claims {
		if isShared(c) {
			t.request.Claims = append(t.request.Claims, c)
		}
	}
	t.cancelled, t.cancel = context.WithCancel(context.Background())
	return t, nil
}

// ticket is a place in the kernel's own queue, and then in the database.
type ticket struct {
	own       lockqueue.Ticket
	database  Database
	request   lock.Request // of the shared claims
	asked     time.Time
	turn      chan struct{} // has one place: somebody waits
	cancelled context.Context
	cancel    context.CancelFunc

	mu     sync.Mutex
	behind *lock.Blocker // who is in the way in the database; nil: nobody is known
	lease  *Lease
	ended  bool // it holds nothing and waits for nothing
}

// Wait blocks until every claim is held.
func (t *ticket) Wait(ctx context.Context) (lockqueue.Lease, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return nil, lock.CancelledError(ctx)
	}
	if lease, ended := t.result(); lease != nil {
		return lease, nil
	} else if ended {
		return nil, cancelledTicket()
	}
	lease, err := t.acquire(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.behind = nil
	switch {
	case err != nil:
		t.ended = true
		return nil, err
	case t.ended: // cancelled at the last moment
		lease.Release()
		return nil, cancelledTicket()
	}
	t.lease = lease
	return lease, nil
}

func cancelledTicket() error {
	return tool.Errorf("sharedlocks.Wait", tool.Cancelled, "the request for locks was cancelled")
}

func (t *ticket) result() (lease *Lease, ended bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lease, t.ended
}

// acquire takes the locks of the kernel, and then those of the database. Cancel ends both.
func (t *ticket) acquire(ctx context.Context) (*Lease, error) {
	own, err := t.own.Wait(ctx)
	if err != nil {
		return nil, err
	}
	r := t.request
	if r.Wait > 0 {
		if r.Wait -= time.Since(t.asked); r.Wait <= 0 {
			r.Wait = -1 // the time is over, and what is free now still counts
		}
	}
	both, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(t.cancelled, func() { stop(cancelledTicket()) })()
	hold, err := t.database.Acquire(both, r, locks.Watch{Blocked: t.setBehind, Gone: own.Release})
	if err != nil {
		return nil, err
	}
	return &Lease{own: own, hold: hold}, nil
}

func (t *ticket) setBehind(by lock.Blocker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.behind = &by
}

// BlockedBy returns who is in the way. Before the database was asked nobody knows, and somebody may be.
func (t *ticket) BlockedBy() (lock.Blocker, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lease != nil || t.ended {
		return lock.Blocker{}, false
	}
	if t.behind != nil {
		return *t.behind, true
	}
	by, _ := t.own.BlockedBy()
	return by, true
}

// Cancel gives the place up. Once Wait has returned the lease, it does nothing.
func (t *ticket) Cancel() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lease != nil || t.ended {
		return
	}
	t.ended = true
	t.own.Cancel()
	t.cancel()
}

// Lease is the proof that every claim of a call is held.
type Lease struct {
	own  lockqueue.Lease
	hold *locks.Hold
}

// Fence is the number of this acquisition in the database. Of acquisitions of the same thing the later has the greater
// one, at whichever kernel.
func (l *Lease) Fence() uint64 { return l.hold.Fence() }

// WithExpiry limits the lease, as that of the kernel's own locks.
func (l *Lease) WithExpiry(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return l.own.WithExpiry(ctx, d)
}

// Release releases everything; it waits for nothing.
func (l *Lease) Release() { l.hold.Release(l.own.Release) }
