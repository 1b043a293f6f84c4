// Package approval is the desk where a call waits for a human.
//
// # Law
//
// A request is a durable row before anybody is told of it, and it is settled
// once: the first answer wins, a second is refused, and silence past the
// deadline is a denial. Requests outlive the process that asked; whoever
// claims an approved one first is the only one who may run it.
//
// Who may answer is not who may ask. An answer carries the human's key, and
// never comes from inside: not from the kernel's own process or anything it
// started (a tool), and not from the process that asked or anything that one
// started. One exception: a person who opened a session with the human's key
// at a terminal may answer, in that same process, what that session asks.
package approval

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"sync"
	"time"

	"callgate/tool"
)

// Credential is what somebody who answers has to show.
type Credential struct {
	Key string // the human's key
	By  string // who they say they are, for the journal
	// PID is the process at the other end, as the operating system tells it;
	// zero is this very process, over a connection only it can make, and
	// Unknown a system that does not tell.
	PID int
}

// Unknown stands for a process that the system does not tell.
const Unknown = -1

// Lineage tells whether one process descends from another, or is it.
type Lineage interface {
	Descends(pid, from int) bool
}

// Options configures a desk.
type Options struct {
	Key     string  // the human's key; a desk without one accepts no answer
	Kernel  int     // the kernel's own process
	Lineage Lineage // nil: no process is known to descend from another
	// Check, when set, judges edited arguments before they settle anything: an
	// edit that could not run leaves the request pending.
	Check func(ctx context.Context, r Request, args json.RawMessage) error
	// OnSettled is told of every request that leaves the pending state, after
	// that is durable and before anybody who waits for it goes on.
	OnSettled func(context.Context, Request)
	// OnOrphaned is told of every settled request whose asker may be gone, so
	// that somebody ends its call; it claims it first.
	OnOrphaned func(Request)
}

// Queue holds the requests. Make one with New.
type Queue struct {
	store Store
	opts  Options
	key   [sha256.Size]byte

	mu       sync.Mutex
	timers   map[string]*time.Timer
	waiters  map[string][]chan Request
	reserved map[string]bool
	always   map[alwaysKey]bool
	closed   bool
}

// alwaysKey is what an approve-always covers: one tool in one session.
type alwaysKey struct {
	session string
	tool    string
}

// New makes a desk over a store.
func New(store Store, opts Options) *Queue {
	return &Queue{
		store: store, opts: opts, key: sha256.Sum256([]byte(opts.Key)),
		timers:   map[string]*time.Timer{},
		waiters:  map[string][]chan Request{},
		reserved: map[string]bool{},
		always:   map[alwaysKey]bool{},
	}
}

// Start takes up the requests that an earlier life left pending; those whose
// time ran out meanwhile expire now. The hooks may be called from here on.
func (d *Queue) Start(ctx context.Context) error {
	pending, err := d.store.List(ctx, Pending, 0)
	if err != nil {
		return err
	}
	for _, r := range pending {
		d.scheduleExpiry(r)
	}
	return nil
}

// Submit puts a request before a human.
func (d *Queue) Submit(ctx context.Context, r Request) error {
	r.State = Pending
	if err := d.store.Create(ctx, r); err != nil {
		return err
	}
	d.scheduleExpiry(r)
	return nil
}

// scheduleExpiry has the request expire at its deadline.
func (d *Queue) scheduleExpiry(r Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.timers[r.ID] = time.AfterFunc(time.Until(r.Deadline), func() { d.expire(r.ID) })
}

func (d *Queue) expire(id string) {
	answer := Answer{By: "the deadline", At: time.Now(), Feedback: "nobody answered in time"}
	// A store that fails now leaves the row pending; the next start expires it.
	_ = d.settle(context.Background(), id, Expired, answer)
}

// Answer settles a request. It refuses whoever may not answer (Denied), and
// an answer that comes second (Conflict).
func (d *Queue) Answer(ctx context.Context, who Credential, id string, a Answer) error {
	r, err := d.store.Get(ctx, id)
	if err != nil {
		return err
	}
	if err := d.authorize(who, r); err != nil {
		return err
	}
	a.By, a.At = who.By, time.Now()
	state := Denied
	if a.Approve {
		state = Approved
	} else {
		a.Args, a.Always = nil, false
	}
	if len(a.Args) > 0 && d.opts.Check != nil {
		if err := d.opts.Check(ctx, r, a.Args); err != nil {
			return err
		}
	}
	return d.settle(ctx, id, state, a)
}

// authorize is the law of who may answer.
func (d *Queue) authorize(who Credential, r Request) error {
	const op = "approval.Answer"
	if !d.IsHumanKey(who.Key) {
		return tool.Errorf(op, tool.Denied, "answering an approval needs the human's key").
			WithHint("answer from a terminal of the user who runs the kernel: callgate approvals approve %s", r.ID)
	}
	ownPerson := r.Asker.Human && (who.PID == r.Asker.PID || who.PID == 0 && r.Asker.PID == d.opts.Kernel)
	switch {
	case ownPerson:
		return nil
	case d.isKernelProcess(who):
		return tool.Errorf(op, tool.Denied, "this answer comes from inside the kernel: a tool cannot approve a call").
			WithHint("a human answers from another terminal")
	case r.Asker.PID != 0 && d.descends(who.PID, r.Asker.PID):
		return tool.Errorf(op, tool.Denied, "this answer comes from the session that asked, or from a process it started").
			WithHint("a human answers from another terminal")
	}
	return nil
}

// HasHumanAuthority reports whether somebody has a human's authority over the kernel
// itself: over its records, and over calls in doubt. A kernel that is a
// person's own command is vouched for by that person's key.
func (d *Queue) HasHumanAuthority(who Credential) error {
	const op = "approval.Vouch"
	if !d.IsHumanKey(who.Key) {
		return tool.Errorf(op, tool.Denied, "this needs the human's key").
			WithHint("do it from a terminal of the user who runs the kernel")
	}
	if who.PID != 0 && d.isKernelProcess(who) {
		return tool.Errorf(op, tool.Denied, "this comes from inside the kernel: it is not a tool's to do")
	}
	return nil
}

// isKernelProcess reports whether somebody is the kernel, or was started by it.
func (d *Queue) isKernelProcess(who Credential) bool {
	return who.PID == 0 || d.descends(who.PID, d.opts.Kernel)
}

func (d *Queue) descends(pid, from int) bool {
	if pid == Unknown || from == Unknown {
		return false
	}
	return pid == from || d.opts.Lineage != nil && d.opts.Lineage.Descends(pid, from)
}

// IsHumanKey reports whether key is the human's.
func (d *Queue) IsHumanKey(key string) bool {
	sum := sha256.Sum256([]byte(key))
	return d.opts.Key != "" && subtle.ConstantTimeCompare(sum[:], d.key[:]) == 1
}

func (d *Queue) settle(ctx context.Context, id string, to State, a Answer) error {
	won, err := d.store.Settle(ctx, id, Pending, to, &a)
	if err != nil {
		return err
	}
	r, err := d.store.Get(ctx, id)
	if err != nil {
		return err
	}
	if !won {
		return tool.Errorf("approval.Answer", tool.Conflict, "approval %s was already %s", id, r.State)
	}
	if d.opts.OnSettled != nil {
		d.opts.OnSettled(ctx, r)
	}
	d.notifyWaiters(r)
	if d.opts.OnOrphaned != nil {
		d.opts.OnOrphaned(r)
	}
	return nil
}

// notifyWaiters tells everybody who waits for a settled request.
func (d *Queue) notifyWaiters(r Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := r.ID
	if r.Answer.Approve && r.Answer.Always {
		d.always[alwaysKey{r.Call.Principal.Session, r.Call.Tool.String()}] = true
	}
	if t := d.timers[id]; t != nil {
		t.Stop()
		delete(d.timers, id)
	}
	for _, ch := range d.waiters[id] {
		ch <- r // buffered: one settling, one value
	}
	delete(d.waiters, id)
}

// Wait returns the request once it is settled, or ctx's error.
func (d *Queue) Wait(ctx context.Context, id string) (Request, error) {
	ch := make(chan Request, 1)
	d.mu.Lock()
	d.waiters[id] = append(d.waiters[id], ch)
	d.mu.Unlock()
	// It may have been settled before we stood in line.
	r, err := d.store.Get(ctx, id)
	if err != nil || r.State != Pending {
		d.forget(id, ch)
		return r, err
	}
	select {
	case r = <-ch:
		return r, nil
	case <-ctx.Done():
		d.forget(id, ch)
		return r, &tool.Error{Op: "approval.Wait", Kind: tool.Cancelled, Message: "stopped waiting for approval " + id, Err: context.Cause(ctx)}
	}
}

func (d *Queue) forget(id string, ch chan Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, other := range d.waiters[id] {
		if other == ch {
			d.waiters[id] = append(d.waiters[id][:i:i], d.waiters[id][i+1:]...)
		}
	}
	if len(d.waiters[id]) == 0 {
		delete(d.waiters, id)
	}
}

// Reserve gives the right to end the call of a request, to the first who asks.
func (d *Queue) Reserve(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reserved[id] {
		return false
	}
	d.reserved[id] = true
	return true
}

// Unreserve gives the right back, when whoever held it will not end the call. A
// request that was settled meanwhile is orphaned.
func (d *Queue) Unreserve(ctx context.Context, id string) {
	d.mu.Lock()
	delete(d.reserved, id)
	d.mu.Unlock()
	r, err := d.store.Get(context.WithoutCancel(ctx), id)
	if err == nil && r.State != Pending && d.opts.OnOrphaned != nil {
		d.opts.OnOrphaned(r)
	}
}

// MarkUsed marks an approved request as run, once its call has begun.
func (d *Queue) MarkUsed(ctx context.Context, id string) error {
	_, err := d.store.Settle(ctx, id, Approved, Used, nil)
	return err
}

// Withdraw withdraws an approval that came to nothing for too long.
func (d *Queue) Withdraw(ctx context.Context, id string) error {
	_, err := d.store.Settle(ctx, id, Approved, Expired, nil)
	return err
}

// EndSession drops what was approved for the rest of a session.
func (d *Queue) EndSession(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k := range d.always {
		if k.session == session {
			delete(d.always, k)
		}
	}
}

// IsAlwaysApproved reports whether a human has said yes to this tool for the rest of
// this session.
func (d *Queue) IsAlwaysApproved(session string, id tool.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.always) > 0 && d.always[alwaysKey{session, id.String()}]
}

// Get returns a request, and List those in a state ("" for all).
func (d *Queue) Get(ctx context.Context, id string) (Request, error) { return d.store.Get(ctx, id) }

// List returns the last limit requests in a state, oldest first.
func (d *Queue) List(ctx context.Context, state State, limit int) ([]Request, error) {
	return d.store.List(ctx, state, limit)
}

// Close stops the clocks; the rows stay.
func (d *Queue) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, t := range d.timers {
		t.Stop()
	}
}
