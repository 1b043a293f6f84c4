// Package approval holds the requests that wait for a human.
//
// # Law
//
// A request is a durable row before anybody learns of it, and it is settled
// once: the first answer wins, a second is refused, and silence past the
// deadline is a denial. Requests outlive the process that asked; the first to
// reserve an approved one is the only one that may run it.
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

	"callgate/internal/feed"
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

// Options configures a queue.
type Options struct {
	Key     string  // the human's key; a queue without one accepts no answer
	Kernel  int     // the kernel's own process
	Lineage Lineage // nil: no process is known to descend from another
}

// Hooks are called as requests are settled; nil ones are skipped.
type Hooks struct {
	// CheckEdit checks edited arguments before they settle anything: an edit
	// that could not run leaves the request pending.
	CheckEdit func(ctx context.Context, r Request, args json.RawMessage) error
	// Settled is called for every request that leaves the pending state, after
	// that is durable and before anybody who waits for it goes on.
	Settled func(context.Context, Request)
	// Orphaned is called for every settled request whose asker may be gone, so
	// that somebody ends its call, and reserves it first.
	Orphaned func(Request)
}

// Queue holds the requests. Make one with New.
type Queue struct {
	store Store
	opts  Options
	hooks Hooks
	key   [sha256.Size]byte

	mu       sync.Mutex
	timers   map[string]*time.Timer
	waiters  map[string][]chan Request
	reserved map[string]bool
	always   map[alwaysKey]bool
	watchers map[*feed.Feed[Request]]bool
	closed   bool
}

// alwaysKey is what an approve-always covers: one tool in one session.
type alwaysKey struct {
	session string
	tool    string
}

// New makes a queue over a store.
func New(store Store, opts Options) *Queue {
	return &Queue{
		store: store, opts: opts, key: sha256.Sum256([]byte(opts.Key)),
		timers:   map[string]*time.Timer{},
		waiters:  map[string][]chan Request{},
		reserved: map[string]bool{},
		always:   map[alwaysKey]bool{},
		watchers: map[*feed.Feed[Request]]bool{},
	}
}

// SetHooks sets the hooks. The queue and the gate need each other, so the gate's
// functions come here once the gate is made, and before the queue is used.
func (q *Queue) SetHooks(h Hooks) { q.hooks = h }

// Start resumes the requests that an earlier process left pending; those whose
// time ran out meanwhile expire now.
func (q *Queue) Start(ctx context.Context) error {
	pending, err := q.store.List(ctx, Pending, 0)
	if err != nil {
		return err
	}
	for _, r := range pending {
		q.scheduleExpiry(r)
	}
	return nil
}

// Submit puts a request before a human.
func (q *Queue) Submit(ctx context.Context, r Request) error {
	r.State = Pending
	if err := q.store.Create(ctx, r); err != nil {
		return err
	}
	q.scheduleExpiry(r)
	return nil
}

// scheduleExpiry has the request expire at its deadline.
func (q *Queue) scheduleExpiry(r Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.timers[r.ID] = time.AfterFunc(time.Until(r.Deadline), func() { q.expire(r.ID) })
	q.notifyWatchers(r)
}

func (q *Queue) expire(id string) {
	answer := Answer{By: "the deadline", At: time.Now(), Feedback: "nobody answered in time"}
	// A store that fails now leaves the row pending; the next start expires it.
	_ = q.settle(context.Background(), id, Expired, answer)
}

// Answer settles a request. An answer without a human's authority is Denied,
// and an answer that comes second is a Conflict.
func (q *Queue) Answer(ctx context.Context, who Credential, id string, a Answer) error {
	r, err := q.store.Get(ctx, id)
	if err != nil {
		return err
	}
	if err := q.authorize(who, r); err != nil {
		return err
	}
	a.By = who.By
	return q.settleWith(ctx, r, a)
}

// Voucher is the kernel's word that a human answered by a way that needs no key.
type Voucher struct {
	By string
	// Session is the session at whose client the human sits: only its own
	// requests can be answered there. Empty: the program that embeds the kernel
	// answers, which holds all authority.
	Session string
}

// AnswerVouched settles a request with the answer of a human at an MCP client,
// in a form that the client showed them, or of the program that embeds the
// kernel. The client is not the one who answers, but the way by which its human
// is reached, and the kernel vouches for that way: a client brings answers only
// to requests of its own session, and neither a tool nor a process that the
// kernel started can come here, because they are shown no form. A program of
// the user outside every sandbox can play such a client, as it can read the
// human's key: docs/MCP.md says so.
func (q *Queue) AnswerVouched(ctx context.Context, v Voucher, id string, a Answer) error {
	r, err := q.store.Get(ctx, id)
	if err != nil {
		return err
	}
	if v.Session != "" {
		if r.Call.Principal.Session != v.Session {
			const text = "approval %s was not asked for by this session"
			return tool.Errorf("approval.AnswerVouched", tool.Denied, text, tool.Truncate(id)).
				WithHint("answer it where it was asked, or with: callgate approvals approve %s", tool.Truncate(id))
		}
		a.Always = false // a form shows one call
	}
	a.By = v.By
	return q.settleWith(ctx, r, a)
}

// settleWith settles a request with an answer whose authority was checked.
func (q *Queue) settleWith(ctx context.Context, r Request, a Answer) error {
	a.At = time.Now()
	state := Denied
	if a.Approve {
		state = Approved
	} else {
		a.Args, a.Always = nil, false
	}
	if len(a.Args) > 0 && q.hooks.CheckEdit != nil {
		if err := q.hooks.CheckEdit(ctx, r, a.Args); err != nil {
			return err
		}
	}
	return q.settle(ctx, r.ID, state, a)
}

// authorize is the law of who may answer.
func (q *Queue) authorize(who Credential, r Request) error {
	const op = "approval.Answer"
	if !q.IsHumanKey(who.Key) {
		return tool.Errorf(op, tool.Denied, "answering an approval needs the human's key").
			WithHint("answer from a terminal of the user who runs the kernel: callgate approvals approve %s", r.ID)
	}
	ownPerson := r.Asker.Human && (who.PID == r.Asker.PID || who.PID == 0 && r.Asker.PID == q.opts.Kernel)
	switch {
	case ownPerson:
		return nil
	case q.isKernelProcess(who):
		return tool.Errorf(op, tool.Denied, "this answer comes from inside the kernel: a tool cannot approve a call").
			WithHint("a human answers from another terminal")
	case r.Asker.PID != 0 && q.descends(who.PID, r.Asker.PID):
		return tool.Errorf(op, tool.Denied, "this answer comes from the session that asked, or from a process it started").
			WithHint("a human answers from another terminal")
	}
	return nil
}

// HasHumanAuthority reports whether somebody has a human's authority over the kernel
// itself: over its records, and over calls in doubt. A kernel that is a
// person's own command is vouched for by that person's key.
func (q *Queue) HasHumanAuthority(who Credential) error {
	const op = "approval.Vouch"
	if !q.IsHumanKey(who.Key) {
		return tool.Errorf(op, tool.Denied, "this needs the human's key").
			WithHint("do it from a terminal of the user who runs the kernel")
	}
	if who.PID != 0 && q.isKernelProcess(who) {
		return tool.Errorf(op, tool.Denied, "this comes from inside the kernel: it is not a tool's to do")
	}
	return nil
}

// isKernelProcess reports whether somebody is the kernel, or was started by it.
func (q *Queue) isKernelProcess(who Credential) bool {
	return who.PID == 0 || q.descends(who.PID, q.opts.Kernel)
}

func (q *Queue) descends(pid, from int) bool {
	if pid == Unknown || from == Unknown {
		return false
	}
	return pid == from || q.opts.Lineage != nil && q.opts.Lineage.Descends(pid, from)
}

// IsHumanKey reports whether key is the human's.
func (q *Queue) IsHumanKey(key string) bool {
	sum := sha256.Sum256([]byte(key))
	return q.opts.Key != "" && subtle.ConstantTimeCompare(sum[:], q.key[:]) == 1
}

func (q *Queue) settle(ctx context.Context, id string, to State, a Answer) error {
	won, err := q.store.Settle(ctx, id, Pending, to, &a)
	if err != nil {
		return err
	}
	r, err := q.store.Get(ctx, id)
	if err != nil {
		return err
	}
	if !won {
		return tool.Errorf("approval.Answer", tool.Conflict, "approval %s was already %s", id, r.State)
	}
	if q.hooks.Settled != nil {
		q.hooks.Settled(ctx, r)
	}
	q.notifyWaiters(r)
	if q.hooks.Orphaned != nil {
		q.hooks.Orphaned(r)
	}
	return nil
}

// notifyWaiters tells everybody who waits for a settled request.
func (q *Queue) notifyWaiters(r Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	id := r.ID
	if r.Answer.Approve && r.Answer.Always {
		q.always[alwaysKey{r.Call.Principal.Session, r.Call.Tool.String()}] = true
	}
	if t := q.timers[id]; t != nil {
		t.Stop()
		delete(q.timers, id)
	}
	for _, ch := range q.waiters[id] {
		ch <- r // buffered: one settling, one value
	}
	delete(q.waiters, id)
	q.notifyWatchers(r)
}

// Wait returns the request once it is settled, or ctx's error.
func (q *Queue) Wait(ctx context.Context, id string) (Request, error) {
	ch := make(chan Request, 1)
	q.mu.Lock()
	q.waiters[id] = append(q.waiters[id], ch)
	q.mu.Unlock()
	// It may have been settled before we stood in line.
	r, err := q.store.Get(ctx, id)
	if err != nil || r.State != Pending {
		q.forget(id, ch)
		return r, err
	}
	select {
	case r = <-ch:
		return r, nil
	case <-ctx.Done():
		q.forget(id, ch)
		return r, &tool.Error{Op: "approval.Wait", Kind: tool.Cancelled, Message: "stopped waiting for approval " + id, Err: context.Cause(ctx)}
	}
}

func (q *Queue) forget(id string, ch chan Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, other := range q.waiters[id] {
		if other == ch {
			q.waiters[id] = append(q.waiters[id][:i:i], q.waiters[id][i+1:]...)
		}
	}
	if len(q.waiters[id]) == 0 {
		delete(q.waiters, id)
	}
}

// Reserve gives the right to end the call of a request, to the first who asks.
func (q *Queue) Reserve(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.reserved[id] {
		return false
	}
	q.reserved[id] = true
	return true
}

// Unreserve gives the right back, when whoever held it will not end the call. A
// request that was settled meanwhile is orphaned.
func (q *Queue) Unreserve(ctx context.Context, id string) {
	q.mu.Lock()
	delete(q.reserved, id)
	q.mu.Unlock()
	r, err := q.store.Get(context.WithoutCancel(ctx), id)
	if err == nil && r.State != Pending && q.hooks.Orphaned != nil {
		q.hooks.Orphaned(r)
	}
}

// MarkUsed marks an approved request as run, once its call has begun.
func (q *Queue) MarkUsed(ctx context.Context, id string) error {
	_, err := q.store.Settle(ctx, id, Approved, Used, nil)
	return err
}

// Withdraw withdraws an approval that came to nothing for too long.
func (q *Queue) Withdraw(ctx context.Context, id string) error {
	_, err := q.store.Settle(ctx, id, Approved, Expired, nil)
	return err
}

// EndSession drops what was approved for the rest of a session.
func (q *Queue) EndSession(session string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for k := range q.always {
		if k.session == session {
			delete(q.always, k)
		}
	}
}

// IsAlwaysApproved reports whether a human has said yes to this tool for the rest of
// this session.
func (q *Queue) IsAlwaysApproved(session string, id tool.ID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.always) > 0 && q.always[alwaysKey{session, id.String()}]
}

// Get returns a request, and List those in a state ("" for all).
func (q *Queue) Get(ctx context.Context, id string) (Request, error) { return q.store.Get(ctx, id) }

// List returns the last limit requests in a state, oldest first.
func (q *Queue) List(ctx context.Context, state State, limit int) ([]Request, error) {
	return q.store.List(ctx, state, limit)
}

// Close stops the clocks; the rows stay.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, t := range q.timers {
		t.Stop()
	}
	for f := range q.watchers {
		f.Close()
	}
}
