package locks

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/gate/lock"
	"callgate/internal/observe/metric"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/tool"
)

// Stats are numbers of the requests of this node.
type Stats struct {
	Waits         metric.Histogram // how long those waited that were granted
	NotGranted    uint64           // that were given up, whatever for
	Held, Waiting int              // now
}

// counts are what a table counts.
type counts struct {
	waits         metric.Timer
	notGranted    atomic.Uint64
	held, waiting atomic.Int64
}

// Stats returns the numbers as they are now.
func (t *Table) Stats() Stats {
	c := &t.counts
	return Stats{
		Waits: c.waits.Read(), NotGranted: c.notGranted.Load(),
		Held: int(c.held.Load()), Waiting: int(c.waiting.Load()),
	}
}

// Claim is one claim of a request, at whichever node.
type Claim struct {
	Node     string // its name
	Resource string
	Mode     tool.Mode
	Holder   lock.Holder
	Since    time.Time // it is held, or was asked for
	Waits    bool
	Behind   lock.Holder // of one that waits: the last of those who are in its way
	AtNode   string      // the name of that one's node; "": it is gone, and nobody has looked yet
}

// Claims returns what is held and waited for at all nodes, those that wait first, the oldest first, limit at most.
func (t *Table) Claims(ctx context.Context, limit int) ([]Claim, error) {
	const claims = `SELECT nodes.name, c.resource, c.mode, c.holder, coalesce(c.since, c.asked), c.fence IS NULL,
		coalesce(b.holder, ''), coalesce(b.name, '')
		FROM lock_claims AS c JOIN nodes ON nodes.id = c.node AND nodes.epoch = c.epoch
		LEFT JOIN LATERAL (SELECT l.holder, at.name FROM lock_claims AS l JOIN nodes AS at ON at.id = l.node
			WHERE l.token = c.behind AND l.n = 1) AS b ON c.fence IS NULL
		ORDER BY c.fence IS NOT NULL, c.asked, c.ticket, c.n LIMIT $1`
	rows, err := t.opt.Pool.Query(ctx, claims, limit)
	if err != nil {
		return nil, pgnode.ConvertError("locks.Claims", err)
	}
	found, err := pgx.CollectRows(rows, scanClaim)
	return found, pgnode.ConvertError("locks.Claims", err)
}

func scanClaim(row pgx.CollectableRow) (c Claim, err error) {
	var resource, holder, behind []byte
	var mode int16
	if err := row.Scan(&c.Node, &resource, &mode, &holder, &c.Since, &c.Waits, &behind, &c.AtNode); err != nil {
		return c, err
	}
	c.Resource, c.Mode = string(resource), tool.Mode(mode)
	_ = json.Unmarshal(holder, &c.Holder) // of another version: it is not known
	_ = json.Unmarshal(behind, &c.Behind)
	return c, nil
}
