package order

import (
	"sync"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

// Turn has the calls of a batch happen one after the other, whatever they touch, and lets
// those not begin that are stopped. A script makes its calls so. The zero value is ready;
// nil stops nothing.
type Turn struct {
	mu      sync.Mutex
	refused map[string]error
}

// Stop lets calls not begin that have not begun yet: err is their answer.
func (t *Turn) Stop(err error, calls ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused == nil {
		t.refused = map[string]error{}
	}
	for _, call := range calls {
		t.refused[call] = err
	}
}

func (t *Turn) stopped(call string) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused[call]
}

// InTurn has the calls of the batch happen in turn; nil changes nothing. It is for a batch
// that nobody has joined.
func (b *Batch) InTurn(t *Turn) { b.turn = t }

// meets reports whether of two calls the later one waits for the earlier one.
func (b *Batch) meets(earlier, later []tool.Claim) bool {
	return b.turn != nil || lock.Meets(earlier, later)
}
