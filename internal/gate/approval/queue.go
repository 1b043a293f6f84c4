// Package approval is the queue of calls that wait for a human's answer.
//
// # Law
//
// A request is stored durably before it is shown to anyone, and it is settled
// once: the first answer wins, a later one is a Conflict, and silence past the
// deadline is a denial. A request outlives the process that asked; only the
// first to reserve an approved request may run its call.
//
// Who may ask may not answer: authority.go says who may.
package approval

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"callgate/tool"
)

// Options configures a queue.
type Options struct {
	Key     string  // the human's key; a queue without one accepts no answer
	Kernel  int     // the kernel's own process
	Lineage Lineage // nil: which process started which is not known
}

// Hooks are called when requests are settled; a nil hook is skipped.
type Hooks struct {
	// CheckEdit checks edited arguments before they settle the request, and
	// returns what the edited call claims. An edit that could not run leaves the
	// request pending.
	CheckEdit func(ctx context.Context, r Request, args json.RawMessage) ([]tool.Claim, error)
	// Settled is called for every request that leaves the pending state: after
	// that is durable, and before Wait returns to those who wait for it.
	Settled func(context.Context, Request)
	// NewGrant makes the ID of a lasting grant, and Remember keeps the yes of an
	// approved request as one. Without them a yes cannot last.
	NewGrant func() string
	Remember func(context.Context, Request) error
	// Allowed is called for an approved request whose yes is for the rest of its
	// session, before its call runs.
	Allowed func(context.Context, Request)
	// Scripted is called for a request whose answer is for the rest of its script, before
	// its call runs.
	Scripted func(context.Context, Request)
	// Orphaned is called for every settled request whose requester may have
	// gone. It finishes the call, if Reserve gives it the right to.
	Orphaned func(Request)
}

// Queue holds the requests. Make one with New.
type Queue struct {
	store     Store
	authority authority
	hooks     Hooks

	mu       sync.Mutex
	timers   map[string]*time.Timer
	waiters  map[string][]chan Request
	settling map[string]*settling // requests that are being settled
	reserved map[string]bool
	watchers watcherList
	closed   bool
}

// New returns a queue over a store.
func New(store Store, opts Options) *Queue {
	return &Queue{
		store: store, authority: newAuthority(opts),
		timers:   map[string]*time.Timer{},
		waiters:  map[string][]chan Request{},
		settling: map[string]*settling{},
		reserved: map[string]bool{},
	}
}

// SetHooks sets the hooks. The queue and the gate need each other, so the hooks
// are set after the gate is made and before the queue is used.
func (q *Queue) SetHooks(h Hooks) { q.hooks = h }

// Start resumes the requests that an earlier process left pending. Those whose
// deadline has passed meanwhile expire now.
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

// Submit stores a request and shows it to those who watch the queue.
func (q *Queue) Submit(ctx context.Context, r Request) error {
	r.State = Pending
	if r.Asker.Path != "" {
		r.Reason = "the agent " + r.Asker.Path + " asks: " + r.Reason
	}
	if err := q.store.Create(ctx, r); err != nil {
		return err
	}
	q.scheduleExpiry(r)
	return nil
}

// scheduleExpiry lets the request expire at its deadline.
func (q *Queue) scheduleExpiry(r Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.timers[r.ID] = time.AfterFunc(time.Until(r.Deadline), func() { q.expire(r.ID) })
	q.watchers.push(r)
}

func (q *Queue) expire(id string) {
	answer := Answer{By: "the deadline", At: time.Now(), Feedback: "nobody answered in time"}
	// If the store fails now, the request stays pending and the next start expires it.
	_ = q.settle(context.Background(), id, Expired, answer)
}

// Answer settles a request. An answer without a human's authority is Denied, and
// an answer after the first is a Conflict.
func (q *Queue) Answer(ctx context.Context, who Credential, id string, a Answer) error {
	r, err := q.store.Get(ctx, id)
	if err != nil {
		return err
	}
	if err := mustBePending(r); err != nil {
		return err
	}
	missing, err := q.authority.mayAnswer(who, r, a.Approve)
	if err == nil && missing == typedCode {
		err = q.authority.codes.check("approval.Answer", codeKey{id, who.PID, who.Started}, who.Code)
	}
	if err != nil {
		return err
	}
	a.By = who.By
	if who.Token != "" {
		a.By = "token " + who.Token
	}
	return q.settleWith(ctx, r, a)
}

// Voucher is the kernel's statement that a human answered without the key.
type Voucher struct {
	By string
	// Session is the session whose client showed the human a form; the form
	// answers only requests of that session. Empty means the program that
	// embeds the kernel, which holds all authority.
	Session string
}

// AnswerVouched settles a request with the answer of a human at an MCP client,
// given in a form that the client showed, or of the program that embeds the
// kernel. The kernel vouches for this route: a client delivers answers only to
// requests of its own session, and no tool and no process that the kernel
// started is ever shown a form. A program of the user outside every sandbox can
// pose as such a client, just as it can read the human's key; docs/MCP.md says so.
func (q *Queue) AnswerVouched(ctx context.Context, v Voucher, id string, a Answer) error {
	r, err := q.store.Get(ctx, id)
	if err != nil {
		return err
	}
	if v.Session != "" {
		if r.Call.Principal.Session != v.Session {
			const text = "approval %s was not asked for by this session"
			return tool.Errorf("approval.AnswerVouched", tool.Denied, text, tool.Truncate(id)).
				WithHint("a human answers it where it was asked, or from another terminal")
		}
		a.Always = false // a form shows one call
	}
	a.By = v.By
	return q.settleWith(ctx, r, a)
}

// settleWith settles a request with an answer whose authority has been checked.
func (q *Queue) settleWith(ctx context.Context, r Request, a Answer) error {
	if a.Approve && !a.Unasked && strings.TrimSpace(a.Feedback) != "" {
		return tool.Errorf("approval.Answer", tool.Invalid, "the answer says yes and gives a reason for a no").
			WithHint("approve without a reason, or deny with it")
	}
	a.At = time.Now()
	state := Denied
	if a.Approve {
		state = Approved
	} else {
		a.Args, a.Always, a.Remember = nil, false, nil
	}
	if r.Session == nil || len(a.Args) > 0 { // an edited call was not shown as what the yes covers
		a.Always = false
	}
	a.Script = a.Script && r.Script.mayLast(&a)
	if err := q.prepareRemember(r, &a); err != nil {
		return err
	}
	if len(a.Args) > 0 && q.hooks.CheckEdit != nil {
		claims, err := q.hooks.CheckEdit(ctx, r, a.Args)
		if err != nil {
			return err
		}
		a.Claims = claims
	}
	others, err := q.checkWith(ctx, r, &a)
	if err != nil {
		return err
	}
	return q.settleAll(ctx, r, others, state, a)
}

// HasHumanAuthority returns an error unless the credential carries a human's
// authority over the kernel itself: its records, its secrets, its calls in doubt.
// If the kernel is the person's own command, that person's key is enough.
func (q *Queue) HasHumanAuthority(who Credential) error { return q.authority.mayAdminister(who) }

// IsHumanKey reports whether key is the human's key.
func (q *Queue) IsHumanKey(key string) bool { return q.authority.isHumanKey(key) }

func (q *Queue) settle(ctx context.Context, id string, to State, a Answer) error {
	r, err := q.settleAndRecord(ctx, id, to, a)
	if err != nil {
		return err
	}
	kept := q.remember(ctx, r)
	if r.Answer.Approve && r.Answer.Always && q.hooks.Allowed != nil {
		q.hooks.Allowed(ctx, r)
	}
	if r.Answer.Script && q.hooks.Scripted != nil {
		q.hooks.Scripted(ctx, r)
	}
	q.notifyWaiters(r)
	if q.hooks.Orphaned != nil {
		q.hooks.Orphaned(r)
	}
	return kept
}

// notifyWaiters wakes those who wait for a settled request.
func (q *Queue) notifyWaiters(r Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	id := r.ID
	if t := q.timers[id]; t != nil {
		t.Stop()
		delete(q.timers, id)
	}
	for _, ch := range q.waiters[id] {
		ch <- r // does not block: the channel is buffered, and a request is settled once
	}
	delete(q.waiters, id)
	q.watchers.push(r)
}

// Wait returns the request once it is settled, or ctx's error.
func (q *Queue) Wait(ctx context.Context, id string) (Request, error) {
	ch := make(chan Request, 1)
	q.mu.Lock()
	q.waiters[id] = append(q.waiters[id], ch)
	q.mu.Unlock()
	// The request may have been settled before the channel was registered.
	r, err := q.store.Get(ctx, id)
	if err != nil || r.State != Pending {
		q.forget(id, ch)
		if err == nil {
			err = q.awaitSettling(ctx, id)
		}
		return r, err
	}
	select {
	case r = <-ch:
		return r, nil
	case <-ctx.Done():
		q.forget(id, ch)
		return r, stoppedWaiting(ctx, id)
	}
}

func stoppedWaiting(ctx context.Context, id string) error {
	return &tool.Error{
		Op: "approval.Wait", Kind: tool.Cancelled,
		Message: "stopped waiting for approval " + id, Err: context.Cause(ctx),
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

// Reserve gives the first caller the exclusive right to finish the call of a request.
func (q *Queue) Reserve(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.reserved[id] {
		return false
	}
	q.reserved[id] = true
	return true
}

// Unreserve returns that right without finishing the call. A request that was
// settled meanwhile is orphaned.
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

// Withdraw expires an approval whose call did not start in time.
func (q *Queue) Withdraw(ctx context.Context, id string) error {
	_, err := q.store.Settle(ctx, id, Approved, Expired, nil)
	return err
}

// Get returns a request, or a NotFound error.
func (q *Queue) Get(ctx context.Context, id string) (Request, error) { return q.store.Get(ctx, id) }

// List returns the newest limit requests in a state, oldest first. An empty
// state means all states; a limit of zero means the store's own limit.
func (q *Queue) List(ctx context.Context, state State, limit int) ([]Request, error) {
	return q.store.List(ctx, state, limit)
}

// Close stops the timers and the watches. Stored requests stay as they are.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, t := range q.timers {
		t.Stop()
	}
	q.watchers.close()
}
