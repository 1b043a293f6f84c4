package quotas

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/quota"
	"callgate/internal/storage/postgres/pgnode"
)

// holds are what this node holds at once.
type holds struct {
	db  *pgnode.DB
	ctx context.Context

	mu  sync.Mutex
	own map[place]*own
}

func (h *holds) at(c quota.Charge) *own {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := place{c.Account, c.Kind}
	if h.own[p] == nil {
		h.own[p] = &own{}
	}
	return h.own[p]
}

// lockPlace has one node at a time decide about a place. What is lost of it with a crash of the server is written anew.
const lockPlace = "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' quota ' || $1::text || ' ' || " +
	"$2::text, 0)), set_config('synchronous_commit', 'off', true)"

// heldByOthers counts what living nodes but $3 hold.
const heldByOthers = "SELECT coalesce(sum(h.held), 0)::bigint FROM quota_held h JOIN nodes n ON n.id = h.node AND " +
	"n.epoch = h.epoch WHERE h.account = $1 AND h.kind = $2 AND h.node <> $3 AND n.lease_until > clock_timestamp()"

// writeHeld writes what this node holds.
const writeHeld = "INSERT INTO quota_held (account, kind, node, epoch, held) VALUES ($1, $2, $3, $4, $5) " +
	"ON CONFLICT (account, kind, node) DO UPDATE SET epoch = excluded.epoch, held = excluded.held"

// Enter holds a place in each of the charges, or in none. They are in the order of [quota.Sort].
func (c *Counters) Enter(ctx context.Context, charges []quota.Charge) (leave func(), err error) {
	h := &c.held
	owns := make([]*own, len(charges))
	for i, one := range charges {
		owns[i] = h.at(one)
		owns[i].mu.Lock()
		defer owns[i].mu.Unlock()
	}
	err = h.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		for i, one := range charges {
			if err := h.decide(ctx, t, one, owns[i].held); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		if pgnode.Unsettled(err) != nil { // it may have been written
			for i := range charges {
				owns[i].told++
			}
			go h.tell(charges)
		}
		return nil, convert("quotas.Enter", err)
	}
	for _, o := range owns {
		o.held++
		o.told = o.held
	}
	return sync.OnceFunc(func() { h.leave(charges) }), nil
}

// decide writes one more of what is held at a place, if that is within its limit.
func (h *holds) decide(ctx context.Context, t *pgnode.Tx, c quota.Charge, held int64) error {
	if _, err := t.Exec(ctx, lockPlace, c.Account, string(c.Kind)); err != nil {
		return err
	}
	node, epoch := h.db.Node()
	others, err := pgnode.QueryOneTx(ctx, t, pgx.RowTo[int64], heldByOthers, c.Account, string(c.Kind), node.ID)
	if err != nil {
		return err
	}
	if c.Most > 0 && others+held >= c.Most {
		return &quota.Full{Charge: c, Used: others + held, Now: time.Now()}
	}
	_, err = t.Exec(ctx, writeHeld, c.Account, string(c.Kind), node.ID, epoch, held+1)
	return err
}

// leavePatience is how long a release may keep its caller waiting. After that it goes on by itself.
const leavePatience = 2 * time.Second

// leave gives back what was held.
func (h *holds) leave(charges []quota.Charge) {
	for _, one := range charges {
		o := h.at(one)
		o.mu.Lock()
		o.held--
		o.mu.Unlock()
	}
	ctx, cancel := context.WithTimeout(h.ctx, leavePatience)
	defer cancel()
	if h.write(ctx, charges) != nil {
		go h.tell(charges)
	}
}

// tellPause is between two attempts to write what is held.
const tellPause = time.Second

// tell writes what is held until the database knows it.
func (h *holds) tell(charges []quota.Charge) {
	for {
		ctx, cancel := context.WithTimeout(h.ctx, 5*time.Second)
		err := h.write(ctx, charges)
		cancel()
		if err == nil || pgnode.Fenced(err) {
			return
		}
		select {
		case <-h.ctx.Done():
			return
		case <-time.After(tellPause):
		}
	}
}

// write writes what is held at the places of charges.
func (h *holds) write(ctx context.Context, charges []quota.Charge) error {
	for _, c := range charges {
		if err := h.writeOne(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (h *holds) writeOne(ctx context.Context, c quota.Charge) error {
	o := h.at(c)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told == o.held {
		return nil // another write has told it
	}
	held := o.held
	node, epoch := h.db.Node()
	err := h.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		if _, err := t.Exec(ctx, lockPlace, c.Account, string(c.Kind)); err != nil {
			return err
		}
		_, err := t.Exec(ctx, writeHeld, c.Account, string(c.Kind), node.ID, epoch, held)
		return err
	})
	if err == nil {
		o.told = held
	}
	return err
}
