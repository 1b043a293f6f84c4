// Package order keeps the calls of one answer in the model's order where they touch
// the same thing.
//
// # The law
//
// A model writes the calls of an answer in an order, and may mean it: write, then
// read what was written. Therefore
//
//  1. Of two calls of one answer that touch the same thing ([lock.Meets]), the later
//     one begins only when the earlier one has ended, whatever their lock modes: a
//     read after a write sees the write, and an edit after a read does not overtake
//     it. How the earlier one ended does not matter: refused, failed or cancelled,
//     the later one still runs, as it would in an answer of its own.
//  2. Calls that touch nothing in common run side by side, [MaxSideBySide] of them at
//     once. What waits for a human, for an earlier call or for a lock is not counted,
//     but for the lock of another answer.
//  3. A handler that did not stop when told to has not ended. Who waits for it gives
//     up after a while, and is told for whom it waited.
//  4. A call that was left waiting for a human has ended, for its answer: the model
//     is told that it has not happened, and the calls after it run.
//  5. What a call touches can change before it begins: a human edits it, or an earlier
//     call makes a link on its way. From then on the new claims count. It waits for
//     the earlier calls that it touches now, and the later ones that it touches now
//     and that have not begun wait for it. What has begun is not undone.
//
// A call waits here after its human has answered and before it takes a place in the
// lock queue, so it holds nothing while it waits and keeps nobody else waiting.
// There is no deadlock: a wait here leads to an earlier call of the same answer, a
// wait in the lock queue to an earlier ticket, and who has a ticket waits here no
// more.
package order

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

// Bind returns what a call touches as things are now. It is called under the lock of
// the batch, and must not call back.
type Bind func() ([]tool.Claim, error)

// MaxSideBySide is how many calls of one batch run at once.
const MaxSideBySide = 16

// Batch is the calls of one answer.
type Batch struct {
	patience time.Duration // with a handler that did not stop
	turn     *Turn         // nil: calls that touch nothing in common run side by side
	slots    chan struct{} // holds one for each call that runs
	mu       sync.Mutex
	places   []*Place // in the model's order
}

// NewBatch makes an empty batch. Patience is how long a call waits for an earlier one
// that was answered and whose handler still runs.
func NewBatch(patience time.Duration) *Batch {
	return &Batch{patience: patience, slots: make(chan struct{}, MaxSideBySide)}
}

// state is how far a call is. The mutex of the batch guards it.
type state uint8

const (
	joined state = iota // what it touches may change
	begun               // it waits for none of the batch any more
	ended
)

// Place is the place of one call in its batch.
type Place struct {
	batch   *Batch
	index   int
	holder  lock.Holder
	claims  []tool.Claim
	bind    Bind
	state   state
	ahead   int             // the earlier calls that have not ended and that it meets
	behind  []*Place        // the later calls that wait for it
	rebound bool            // it was bound again, and its claims are others now
	stale   bool            // an earlier call that it meets has ended since it was bound
	ready   chan struct{}   // closed when it begins; nil: nobody waits
	stuck   *Place          // the earlier call that it gave up waiting for
	slotted bool            // it has one of the batch's slots
	running <-chan struct{} // closed when a handler that did not stop has returned
}

// Join adds a call after those that have joined. bind, unless it is nil, is asked
// again what the call touches when an earlier call has ended.
func (b *Batch) Join(holder lock.Holder, claims []tool.Claim, bind Bind) *Place {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &Place{batch: b, index: len(b.places), holder: holder, claims: claims, bind: bind}
	b.places = append(b.places, p)
	p.line()
	return p
}

// Changes reports whether a call that has joined changes what these claims are on.
func (b *Batch) Changes(claims []tool.Claim) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.places, func(p *Place) bool {
		return slices.ContainsFunc(p.claims, func(c tool.Claim) bool {
			return c.Mode.Writes() && lock.Meets(claims, []tool.Claim{c})
		})
	})
}

// Change replaces what a call touches, before it begins.
func (p *Place) Change(claims []tool.Claim, bind Bind) {
	p.batch.mu.Lock()
	defer p.batch.mu.Unlock()
	if p.state != joined {
		return
	}
	p.bind = bind
	p.setClaims(claims)
	p.rebound = false
}

// Rebound reports whether what the call touches was found to be something else than
// it said, after an earlier call had ended.
func (p *Place) Rebound() bool {
	p.batch.mu.Lock()
	defer p.batch.mu.Unlock()
	return p.rebound
}

// Wait returns when no earlier call that touches the same thing is left and fewer than
// MaxSideBySide run, or with an error when ctx ends first. From then on the call has
// begun.
func (p *Place) Wait(ctx context.Context) error {
	if err := p.WaitEarlier(ctx); err != nil {
		return err
	}
	p.batch.mu.Lock()
	slotted := p.slotted
	p.batch.mu.Unlock()
	if slotted {
		return nil
	}
	select {
	case p.batch.slots <- struct{}{}:
	case <-ctx.Done():
		return cancelledError(ctx)
	}
	p.batch.mu.Lock()
	defer p.batch.mu.Unlock()
	p.slotted = true
	return nil
}

// WaitEarlier is Wait for a call that runs nothing itself: it only waits for the earlier
// ones.
func (p *Place) WaitEarlier(ctx context.Context) error {
	p.batch.mu.Lock()
	p.advance(true)
	ready := p.ready
	p.batch.mu.Unlock()
	if ready != nil {
		select {
		case <-ready:
		case <-ctx.Done():
			return cancelledError(ctx)
		}
	}
	if err := p.batch.turn.stopped(p.holder.Call); err != nil {
		return err
	}
	return p.stuckError()
}

// Ahead returns the first earlier call that this one waits for, and whether there is
// any.
func (p *Place) Ahead() (lock.Holder, bool) {
	p.batch.mu.Lock()
	defer p.batch.mu.Unlock()
	if p.state != joined || p.ahead == 0 {
		return lock.Holder{}, false
	}
	for _, q := range p.batch.places[:p.index] {
		if slices.Contains(q.behind, p) {
			return q.holder, true
		}
	}
	return lock.Holder{}, false
}

// StillRuns says that a handler of the call did not stop when told to; stopped is
// closed when it has.
func (p *Place) StillRuns(stopped <-chan struct{}) {
	p.batch.mu.Lock()
	defer p.batch.mu.Unlock()
	p.running = stopped
}

// End says that the call was answered. Who waits for it goes on, when its handler has
// stopped too.
func (p *Place) End() {
	p.batch.mu.Lock()
	defer p.batch.mu.Unlock()
	if p.running == nil {
		p.end(false)
		return
	}
	running := p.running
	go func() {
		timer := time.NewTimer(p.batch.patience)
		defer timer.Stop()
		stuck := false
		select {
		case <-running:
		case <-timer.C:
			stuck = true
		}
		p.batch.mu.Lock()
		defer p.batch.mu.Unlock()
		p.end(stuck)
	}()
}

// line lines the call up behind the earlier ones that it meets.
func (p *Place) line() {
	for _, q := range p.batch.places[:p.index] {
		if q.state != ended && p.batch.meets(q.claims, p.claims) {
			q.behind = append(q.behind, p)
			p.ahead++
		}
	}
}

// setClaims lines the call up again, and the later ones behind it.
func (p *Place) setClaims(claims []tool.Claim) {
	if slices.Equal(p.claims, claims) {
		return
	}
	p.claims = claims
	p.rebound = true
	for _, q := range p.batch.places[:p.index] {
		q.behind = slices.DeleteFunc(q.behind, func(o *Place) bool { return o == p })
	}
	p.ahead = 0
	p.line()
	before := p.behind
	p.behind = nil
	for _, later := range p.batch.places[p.index+1:] {
		waited := slices.Contains(before, later)
		meets := later.state == joined && p.batch.meets(claims, later.claims)
		switch {
		case meets && !waited:
			later.ahead++
		case waited && !meets:
			later.ahead--
		}
		if meets {
			p.behind = append(p.behind, later)
		}
	}
	for _, later := range before {
		later.advance(false)
	}
}

// advance lets the call begin if it waits for none any more. Its claims are bound
// again first when an earlier call has ended since.
func (p *Place) advance(waits bool) {
	if p.state != joined || p.stuck != nil {
		return
	}
	if p.ahead == 0 && p.stale {
		p.stale = false
		if p.bind != nil {
			if claims, err := p.bind(); err == nil {
				p.setClaims(claims)
			} else {
				p.rebound = true // the call finds out for itself
			}
		}
	}
	switch {
	case p.ahead == 0 && p.ready != nil:
		p.state = begun
		close(p.ready)
	case p.ahead == 0 && waits:
		p.state = begun
	case waits:
		p.ready = make(chan struct{})
	}
}

// end takes the call out of the order. The later ones go on in theirs, so that each is
// bound again before the next looks at it.
func (p *Place) end(stuck bool) {
	if p.state == ended {
		return
	}
	p.state = ended
	if p.slotted {
		<-p.batch.slots
	}
	behind := p.behind
	p.behind = nil
	slices.SortFunc(behind, func(a, b *Place) int { return a.index - b.index })
	for _, later := range behind {
		later.ahead--
		later.stale = true
		if stuck && later.stuck == nil {
			later.stuck = p
			if later.ready != nil {
				close(later.ready)
			}
		}
	}
	for _, later := range behind {
		later.advance(false)
	}
}

// stuckError tells a call that gave up waiting for whom it waited.
func (p *Place) stuckError() error {
	p.batch.mu.Lock()
	defer p.batch.mu.Unlock()
	if p.stuck == nil {
		return nil
	}
	const text = "it was not run: %s, which stands before it in the same answer and touches the same thing, " +
		"did not stop when told to and still runs"
	return tool.Errorf("order.Wait", tool.Busy, text, p.stuck.holder).
		WithHint("look at what that call did before you make this one again; `callgate locks` shows whether it still runs")
}

// cancelledError returns the error of a wait that its context ended.
func cancelledError(ctx context.Context) error {
	e := &tool.Error{
		Op: "order.Wait", Kind: tool.Cancelled, Err: context.Cause(ctx),
		Message: "the call was cancelled before its turn came",
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind, e.Message = tool.Timeout, "the call's time ran out before its turn came"
	}
	return e
}
