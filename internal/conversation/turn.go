package conversation

import (
	"context"
	"sync"

	"callgate/internal/gate/approval"
	"callgate/llm"
)

// turn is the turn that is under way, if any. The zero value is none.
type turn struct {
	mu       sync.Mutex
	cancel   context.CancelCauseFunc // nil: none
	stopping func() error            // why it is being stopped; nil: it is not
	asked    func(approval.Request)
	written  *signal       // given when its message is in the history
	ended    chan struct{} // closed when it has ended
	left     bool          // its client is gone
	alone    bool          // it began by itself
	before   llm.Usage     // what the conversation had cost when it began

	questions []string // to a human, of the calls that run
}

// otherTurn is a turn that another one finds under way.
type otherTurn struct {
	alone bool // it began by itself
	ended <-chan struct{}
}

// awaitEnd waits for the end of the turn, and reports false if ctx ended first.
func (o *otherTurn) awaitEnd(ctx context.Context) bool {
	select {
	case <-o.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// begin begins the turn, unless another one is under way, which it returns.
func (t *turn) begin(ctx context.Context, cancel context.CancelCauseFunc, w Watch) *otherTurn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		return &otherTurn{alone: t.alone, ended: t.ended}
	}
	t.cancel, t.stopping, t.asked, t.written, t.ended = cancel, ctx.Err, w.Asked, newSignal(), make(chan struct{})
	t.alone, t.left = w.alone, w.left
	return nil
}

func (t *turn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.written.give()
	close(t.ended)
	t.cancel, t.stopping, t.asked, t.written, t.questions = nil, nil, nil, nil, nil
	t.left, t.alone = false, false
}

// note notes what the conversation has cost as the turn begins.
func (t *turn) note(u llm.Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before = u
}

// began returns what the conversation had cost when the turn began.
func (t *turn) began() llm.Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.before
}

func (t *turn) running() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cancel != nil
}

// stop stops the turn, for a reason that is nil if its user asked for it.
func (t *turn) stop(why error) bool {
	t.mu.Lock()
	cancel, ended := t.cancel, t.ended
	t.mu.Unlock()
	if cancel == nil {
		return false
	}
	cancel(why)
	<-ended
	return true
}

// idle reports whether no turn runs. It waits for one that is being stopped,
// until ctx ends.
func (t *turn) idle(ctx context.Context) bool {
	t.mu.Lock()
	stopping, ended := t.stopping, t.ended
	t.mu.Unlock()
	if stopping == nil {
		return true
	}
	if stopping() == nil {
		return false
	}
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// onAsked passes a request for approval on to the turn's watcher.
func (t *turn) onAsked(r approval.Request) {
	t.mu.Lock()
	asked := t.asked
	t.questions = append(t.questions, r.ID)
	t.mu.Unlock()
	if asked != nil {
		asked(r)
	}
}
