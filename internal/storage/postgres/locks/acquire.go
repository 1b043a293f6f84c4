package locks

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callgate/internal/gate/lock"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/tool"
)

// pause is between two attempts to reach the database.
const pause = 50 * time.Millisecond

// Hold is the proof that every claim of a request is held.
type Hold struct {
	table   *Table
	request *request
	fence   uint64
	once    sync.Once
}

// Fence is the number of this acquisition. Of acquisitions that conflict the later has the greater one.
func (h *Hold) Fence() uint64 { return h.fence }

// Release releases everything, and calls then, which may be nil, when the database knows it; it waits for nothing.
// It may be called more than once, and counts once.
func (h *Hold) Release(then func()) {
	h.once.Do(func() {
		h.table.counts.held.Add(-1)
		h.table.end(h.request, then)
	})
}

// Watch is told of a request while it waits. Each may be nil.
type Watch struct {
	Blocked func(lock.Blocker) // who is in the way, each time that the request has looked
	Gone    func()             // after an error: the database has no trace of the request any more
}

// Acquire waits until every claim of r is held, as [lock.Table.Acquire] does.
func (t *Table) Acquire(ctx context.Context, r lock.Request, w Watch) (*Hold, error) {
	q, err := newRequest(r)
	if err == nil && ctx.Err() != nil {
		err = lock.CancelledError(ctx)
	}
	if err != nil {
		if w.Gone != nil {
			w.Gone()
		}
		return nil, err
	}
	t.know(q)
	t.counts.waiting.Add(1)
	fence, err := t.wait(ctx, q, w.Blocked)
	t.counts.waiting.Add(-1)
	if err == nil && ctx.Err() != nil {
		err = lock.CancelledError(ctx)
	}
	if err != nil {
		t.counts.notGranted.Add(1)
		t.end(q, w.Gone)
		return nil, err
	}
	t.counts.waits.Add(time.Since(q.asked))
	t.counts.held.Add(1)
	return &Hold{table: t, request: q, fence: fence}, nil
}

// wait asks until the request is granted, its time is over, or there is no hope.
func (t *Table) wait(ctx context.Context, q *request, blocked func(lock.Blocker)) (fence uint64, err error) {
	var timeout <-chan time.Time
	if q.wait > 0 {
		timer := time.NewTimer(time.Until(q.asked.Add(q.wait)))
		defer timer.Stop()
		timeout = timer.C
	}
	unreached, last := time.Now(), q.wait < 0
	for {
		a, err := t.ask(ctx, q)
		now := time.Now()
		next := t.opt.Poll
		switch {
		case ctx.Err() != nil:
			return 0, lock.CancelledError(ctx)
		case err != nil && isLost(err) && now.Sub(unreached) < t.opt.Patience:
			next = pause
		case err != nil:
			return 0, pgnode.ConvertError(opAcquire, err)
		case a.state == "held":
			return a.fence, nil
		case a.state == "fenced":
			return 0, t.opt.Fenced()
		case a.state == "cancelled":
			return 0, tool.Errorf(opAcquire, tool.Cancelled, "the request for locks was cancelled")
		case a.leaseLeft <= 0 && t.takeOver(ctx, a.behind):
			unreached = now
			continue
		default:
			unreached = now
			if last {
				return 0, lock.BusyError(q.wanted(a.by), q.asked, a.by)
			}
			if blocked != nil {
				blocked(a.by)
			}
			next = min(next, max(a.leaseLeft, t.opt.Poll/10))
		}
		over, err := t.sleep(ctx, q, next, timeout)
		if err != nil {
			return 0, err
		}
		last = last || over
	}
}

// sleep waits until it is time to ask again. It says whether that is for the last time.
func (t *Table) sleep(
	ctx context.Context, q *request, d time.Duration, timeout <-chan time.Time,
) (last bool, err error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-q.wake:
	case <-timer.C:
	case <-timeout:
		return true, nil
	case <-ctx.Done():
		return false, lock.CancelledError(ctx)
	case <-t.ctx.Done():
		return false, tool.Errorf(opAcquire, tool.Unavailable, "the kernel is ending")
	}
	return false, nil
}

// answer is what the database says of a request.
type answer struct {
	state     string
	fence     uint64
	by        lock.Blocker
	behind    string        // the node of the last who is in the way
	leaseLeft time.Duration // of that node
}

const acquire = "SELECT state, coalesce(fence, 0), resource, coalesce(mode, 0), holder, coalesce(queued, false), " +
	"since, coalesce(name, ''), coalesce(behind_node, ''), coalesce(lease_left, 0) " +
	"FROM lock_acquire($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"

// ask asks once.
func (t *Table) ask(ctx context.Context, q *request) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.opt.Patience)
	defer cancel()
	conn, err := t.opt.Pool.Acquire(ctx)
	if err != nil {
		return a, err
	}
	defer conn.Release()
	keys, whole := q.latches.columns()
	var resource, holder []byte
	var mode int16
	var fence int64
	var since *time.Time
	var left float64
	row := conn.QueryRow(ctx, acquire, t.opt.Node, t.opt.Epoch, [16]byte(q.token), q.holder, q.wait >= 0, keys, whole,
		q.paths, q.modes, q.resources, q.points, q.pointModes, q.lows, q.highs, q.rowModes)
	err = row.Scan(&a.state, &fence, &resource, &mode, &holder, &a.by.Queued, &since, &a.by.Node, &a.behind, &left)
	if err != nil {
		q.unsure = q.unsure || isLost(err)
		return a, err
	}
	q.kept = q.kept || a.state == "held" || q.wait >= 0
	a.fence, a.leaseLeft = uint64(fence), time.Duration(left*float64(time.Second))
	if a.state != "blocked" {
		return a, nil
	}
	a.by.Resource, a.by.Mode, a.by.Since = string(resource), tool.Mode(mode), *since
	if err := json.Unmarshal(holder, &a.by.Holder); err != nil {
		a.by.Holder = lock.Holder{}
	}
	return a, nil
}

// isLost reports that the database may or may not have done what it was asked for, or could not be reached: whatever
// is not its own answer. One that is ending undid what it was at.
func isLost(err error) bool {
	var said *pgconn.PgError
	if !errors.As(err, &said) {
		return true
	}
	switch class := said.Code[:min(2, len(said.Code))]; class {
	case "08", "40", "53", "57": // connections, deadlocks, too many of them, a server that ends or begins
		return true
	}
	return false
}

// takeOver ends the epoch of a node whose lease is over, and wakes everybody who waited for it. It reports whether it
// did.
func (t *Table) takeOver(ctx context.Context, node string) bool {
	if node == t.opt.Node {
		return false
	}
	if err := t.opt.TakeOver(ctx, node); err != nil {
		t.opt.Log.Debug("a node whose lease is over was not taken over", "node", node, "error", err)
		return false
	}
	if err := t.sweep(ctx); err != nil {
		t.opt.Log.Debug("locks of a past epoch are still there", "error", err)
	}
	return true
}

// sweep removes what does not count, and wakes everybody if there was something.
func (t *Table) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.opt.Patience)
	defer cancel()
	const (
		remove = "WITH past AS (DELETE FROM lock_claims AS l WHERE NOT EXISTS " +
			"(SELECT FROM nodes WHERE nodes.id = l.node AND nodes.epoch = l.epoch) RETURNING 1) " +
			"SELECT pg_notify($1, '') WHERE EXISTS (SELECT FROM past)"
		forget = "DELETE FROM lock_cancels WHERE at < now() - interval '1 day'"
	)
	var batch pgx.Batch
	batch.Queue(remove, t.opt.Channel)
	batch.Queue(forget)
	return t.opt.Pool.SendBatch(ctx, &batch).Close()
}
