package locks

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// maxTold is how many requests one statement ends.
const maxTold = 64

// end has the database told that a request has ended, and calls then, which may be nil, when it knows. One that it has
// nothing of ends at once.
func (t *Table) end(q *request, then func()) {
	if !q.kept && !q.unsure {
		t.forget([]ending{{q, then}})
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = append(t.ended, ending{q, then})
	poke(t.tell)
}

// tellEnded tells the database what has ended, in order, each until it has answered. What ends meanwhile is told
// together.
func (t *Table) tellEnded() {
	for {
		select {
		case <-t.tell:
		case <-t.ctx.Done():
			return
		}
		for some := t.takeEnded(); len(some) > 0; some = t.takeEnded() {
			for {
				err := t.release(some)
				if err == nil {
					break
				}
				t.opt.Log.Debug("the database does not know yet which locks were released", "error", err)
				select {
				case <-time.After(pause):
				case <-t.ctx.Done():
					return
				}
			}
			t.forget(some)
		}
	}
}

// takeEnded returns what is to be told next; nothing, if all was.
func (t *Table) takeEnded() []ending {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(len(t.ended), maxTold)
	some := t.ended[:n:n]
	t.ended = t.ended[n:]
	if t.telling = n > 0; !t.telling {
		t.ended = nil
		if t.idle != nil {
			close(t.idle)
			t.idle = nil
		}
	}
	return some
}

// forget ends the requests that the database was told of.
func (t *Table) forget(some []ending) {
	t.mu.Lock()
	for _, e := range some {
		delete(t.known, e.request.token)
	}
	t.mu.Unlock()
	for _, e := range some {
		if e.then != nil {
			e.then()
		}
	}
}

func (t *Table) release(some []ending) error {
	var all latches
	ended, givenUp := make([][16]byte, len(some)), make([][16]byte, 0, len(some))
	for i, e := range some {
		ended[i] = e.request.token
		all = append(all, e.request.latches...)
		if e.request.unsure {
			givenUp = append(givenUp, e.request.token)
		}
	}
	return t.releaseTokens(all.sorted(), ended, givenUp)
}

func (t *Table) releaseTokens(all latches, ended, givenUp [][16]byte) error {
	ctx, cancel := context.WithTimeout(t.ctx, t.opt.Patience)
	defer cancel()
	keys, whole := all.columns()
	_, err := t.opt.Pool.Exec(ctx, "SELECT lock_release($1, $2, $3, $4, $5)", t.opt.Channel, keys, whole, ended, givenUp)
	return err
}

// compare compares what the node has in the database with what it knows of, now and then and when poked: first when the
// node has begun to listen. What nodes left whose epoch is past goes then, too.
func (t *Table) compare(poked <-chan struct{}) {
	tick := time.NewTicker(t.opt.Check)
	defer tick.Stop()
	for {
		select {
		case <-poked:
		case <-tick.C:
		case <-t.ctx.Done():
			return
		}
		if err := errors.Join(t.sweep(t.ctx), t.reconcile(t.ctx)); err != nil && t.ctx.Err() == nil {
			t.opt.Log.Debug("the locks of this node were not compared with the database", "error", err)
		}
	}
}

// reconcile releases what the node has in the database and does not know of. A request is known before the database
// hears of it, and until the database knows that it has ended; so what is unknown after it was read has ended.
func (t *Table) reconcile(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.opt.Patience)
	defer cancel()
	type row struct {
		Token   [16]byte
		Latches []int64
	}
	rows, err := t.opt.Pool.Query(ctx,
		"SELECT token, latches FROM lock_claims WHERE node = $1 AND epoch = $2 AND n = 1", t.opt.Node, t.opt.Epoch)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	if err != nil {
		return err
	}
	for _, r := range found {
		t.mu.Lock()
		_, known := t.known[r.Token]
		t.mu.Unlock()
		if known {
			continue
		}
		all := make(latches, len(r.Latches))
		for i, key := range r.Latches {
			all[i] = latch{key, true}
		}
		t.opt.Log.Warn("a lock that nobody held any more was released")
		if err := t.releaseTokens(all.sorted(), [][16]byte{r.Token}, nil); err != nil {
			return err
		}
	}
	return nil
}
