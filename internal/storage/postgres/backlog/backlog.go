// Package backlog reads what waits at each node of a database, whether the node lives or not.
//
// It is one statement, which reads indexes and no rows of contents. What it costs grows with what waits, and with the
// conversations of nodes that are gone; so it is for people and programs who ask, and no part of a heartbeat.
package backlog

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/storage/postgres/pgnode"
)

// Node is what waits at one node.
type Node struct {
	ID        string
	Approvals int           // that nobody has answered
	Tasks     int           // that have not ended
	Due       int           // of those: that should run now, and do not
	OldestDue time.Duration // how long the first of those has been due
	Locks     int           // claims that it holds, of what all nodes share
	LockWaits int           // claims that it waits for
	// Conversations are those of a node that does not live: they wait for it. Of one that lives they are not counted.
	Conversations int
}

const waiting = `SELECT id,
	(SELECT count(*) FROM approvals AS a WHERE a.node = nodes.id AND a.state = 'pending'),
	(SELECT count(*) FROM tasks AS t WHERE t.node = nodes.id AND t.ended = 0),
	due.count, coalesce(now.nanos - due.first, 0),
	(SELECT count(*) FROM lock_claims AS l WHERE l.node = nodes.id AND l.epoch = nodes.epoch AND l.fence IS NOT NULL),
	(SELECT count(*) FROM lock_claims AS l WHERE l.node = nodes.id AND l.epoch = nodes.epoch AND l.fence IS NULL),
	CASE WHEN nodes.state = 'down' OR nodes.lease_until < clock_timestamp()
		THEN (SELECT count(*) FROM conversations AS c WHERE c.node = nodes.id) ELSE 0 END
	FROM nodes, (SELECT (extract(epoch FROM statement_timestamp()) * 1000000)::bigint * 1000 AS nanos) AS now,
	LATERAL (SELECT count(*), min(t.due) AS first FROM tasks AS t WHERE t.node = nodes.id AND t.due <= now.nanos) AS due`

// Read returns what waits, by the IDs of the nodes.
func Read(ctx context.Context, db *pgnode.DB) (map[string]Node, error) {
	list, err := pgnode.Query(ctx, db, scan, waiting)
	if err != nil {
		return nil, pgnode.ConvertError("backlog.Read", err)
	}
	byID := make(map[string]Node, len(list))
	for _, n := range list {
		byID[n.ID] = n
	}
	return byID, nil
}

func scan(row pgx.CollectableRow) (n Node, err error) {
	var since int64
	err = row.Scan(&n.ID, &n.Approvals, &n.Tasks, &n.Due, &since, &n.Locks, &n.LockWaits, &n.Conversations)
	n.OldestDue = time.Duration(since)
	return n, err
}
