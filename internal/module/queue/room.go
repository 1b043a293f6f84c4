package queue

import (
	"sync"
	"time"

	"callgate/internal/amount"
	"callgate/tool"
)

// The bounds of all queues together: they lie beside the journal and the conversations, and
// their names are free.
const (
	maxQueues = 200
	maxTotal  = 128 << 20 // bytes
	// recountAfter is how long what other nodes push may not be counted.
	recountAfter = 10 * time.Second
)

// room is how much the queues hold, at most: what was taken out since they were last counted
// is not subtracted.
type room struct {
	mu      sync.Mutex
	names   map[string]bool // nil: they were not counted
	bytes   int
	counted time.Time
}

// take reports whether one more item has room beside those of all queues. Which those are
// is not told: an app may not know of them.
func (q *queues) take(r request, in args) error {
	q.room.mu.Lock()
	defer q.room.mu.Unlock()
	fits := func() bool {
		return q.room.names != nil && q.room.bytes+len(in.Item) <= maxTotal &&
			(q.room.names[in.Queue] || len(q.room.names) < maxQueues)
	}
	// Other nodes push too, and are not heard of: what they pushed since is counted a while later.
	if !fits() || r.shared && r.now.Sub(q.room.counted).Abs() > recountAfter {
		all := r
		all.shared, q.room.counted = true, r.now // those of all nodes lie in one database
		names, bytes := map[string]bool{}, 0
		if err := q.walk(all, "", func(i item, size int) {
			names[i.queue()], bytes = true, bytes+size
		}); err != nil {
			return err
		}
		q.room.names, q.room.bytes = names, bytes
	}
	switch {
	case fits():
		q.room.names[in.Queue] = true
		q.room.bytes += len(in.Item)
		return nil
	case q.room.bytes+len(in.Item) > maxTotal:
		return tool.Errorf(r.op, tool.Unavailable, "the queues hold %s, and %s are the most",
			amount.Bytes(int64(q.room.bytes)), amount.Bytes(maxTotal)).
			WithHint("wait until items were acknowledged, or have some deleted")
	}
	return tool.Errorf(r.op, tool.Unavailable, "there are %d queues, which is the most there may be", maxQueues).
		WithHint("use one that is there: queue.list")
}
