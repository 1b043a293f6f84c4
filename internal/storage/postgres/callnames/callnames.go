// Package callnames keeps which node has a call that a client named. A client that got no answer sends the call again
// under its name, perhaps to another node, and it must not be made twice.
//
// # Law
//
//   - A name is claimed before its call is made, by one node; every node is told the same node and the same ID.
//   - A name is moved only from a node that is down, in the epoch in which it was looked into its journal: it begins no
//     call in it, as its begun record would be refused.
//   - A name is forgotten after [Keep]. Who sends a call again after that makes it again, as at one node whose journal
//     was pruned.
package callnames

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/storage/postgres/pgnode"
)

// Keep is how long a name is kept.
const Keep = 30 * 24 * time.Hour

// Key is a name: the hash of who named a call, and how.
type Key [sha256.Size]byte

// Names keeps the names of a database. It is safe for concurrent use.
type Names struct{ db *pgnode.DB }

// New makes the names of the database that a node has open.
func New(db *pgnode.DB) *Names { return &Names{db} }

// Owner is who has a call, and under which ID.
type Owner struct{ Node, Call string }

// Claim returns who has the call with a name: this node, which makes it under the ID that is given, if nobody had it.
func (n *Names) Claim(ctx context.Context, key Key, call string) (Owner, error) {
	const op = "callnames.Claim"
	// Most names that are asked for twice are asked for soon, and a look costs no transaction.
	if o, err := n.look(ctx, key); err == nil || !pgnode.Absent(err) {
		return o, pgnode.ConvertError(op, err)
	}
	err := n.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		const claim = "INSERT INTO named_calls (key, node, call) VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING"
		_, err := t.Exec(ctx, claim, key[:], n.db.NodeID(), call)
		return err
	})
	if err != nil {
		return Owner{}, pgnode.ConvertError(op, err)
	}
	o, err := n.look(ctx, key)
	return o, pgnode.ConvertError(op, err)
}

func (n *Names) look(ctx context.Context, key Key) (Owner, error) {
	const look = "SELECT node, call FROM named_calls WHERE key = $1"
	return pgnode.QueryOne(ctx, n.db, pgx.RowToStructByPos[Owner], look, key[:])
}

// Move gives this node a call of a node that is down since an epoch, and reports whether it did: the other may have
// come up again, also for a while, and another may have been faster.
func (n *Names) Move(ctx context.Context, key Key, from string, epoch int64) (moved bool, err error) {
	err = n.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		// The row is held so that the node does not come up meanwhile.
		const move = "UPDATE named_calls SET node = $2 WHERE key = $1 AND node = $3 " +
			"AND EXISTS (SELECT FROM nodes WHERE id = $3 AND state = 'down' AND epoch = $4 FOR SHARE)"
		changed, err := t.Exec(ctx, move, key[:], n.db.NodeID(), from, epoch)
		moved = changed == 1
		return err
	})
	return moved, pgnode.ConvertError("callnames.Move", err)
}

// Forget removes the names that are older than [Keep], and returns how many they were.
func (n *Names) Forget(ctx context.Context) (gone int64, err error) {
	err = n.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		gone, err = t.Exec(ctx, "DELETE FROM named_calls WHERE at < now() - $1::interval", Keep)
		return err
	})
	return gone, pgnode.ConvertError("callnames.Forget", err)
}
