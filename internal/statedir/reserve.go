package statedir

import (
	"sync"
	"time"

	"callgate/internal/amount"
	"callgate/tool"
)

// The reserve: what must be free on the disk of the state directory for a call that changes
// something to begin. Of a large disk a part would be more than anybody needs.
const (
	reservePart = 20      // one part of so many: 5 %
	reserveMost = 1 << 30 // bytes
	askEvery    = 2 * time.Second
)

// Reserve keeps a part of the disk of a state directory free. A call that changes something
// leaves a record, an image for an undo and a result; where there is no room for them it is
// refused before it begins, rather than left in doubt. It is safe for concurrent use.
type Reserve struct {
	dir  string
	free func(dir string) (free, total int64, ok bool)

	mu   sync.Mutex
	next time.Time // when the disk is asked again
}

// NewReserve returns the reserve of a folder.
func NewReserve(dir string) *Reserve { return &Reserve{dir: dir, free: diskFree} }

// Check returns an error if less than the reserve is free. A disk that cannot be asked has
// room.
func (r *Reserve) Check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Before(r.next) {
		return nil
	}
	if err := r.ask(); err != nil {
		return err // it is asked for the next call again: a person is making room
	}
	r.next = now.Add(askEvery)
	return nil
}

func (r *Reserve) ask() error {
	free, total, ok := r.free(r.dir)
	if least := min(total/reservePart, reserveMost); !ok || free >= least {
		return nil
	}
	return tool.Errorf("statedir.Reserve", tool.Unavailable,
		"the disk is full: the state directory has %s left of %s; the call was not made, because its record and its undo need room",
		amount.Bytes(free), amount.Bytes(total)).
		WithHint("free some space on the disk of %s; callgate log prune removes old records", r.dir)
}
