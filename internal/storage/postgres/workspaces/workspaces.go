// Package workspaces keeps which node works in a folder that several machines have.
//
// # Law
//
//   - A workspace, which is a folder of a shared one or the shared one itself, is one node's at a time. Two of which
//     one lies in the other are never two nodes'. What a node has, it has with everything in it.
//   - A node has a workspace in one epoch. A workspace of an epoch that is past is free: the node has left, was opened
//     anew, or was taken over, and then nothing of it runs any more. A lease that is merely over frees nothing: who
//     wants the workspace takes the node over first.
//   - Each time a workspace goes to a node it has a fence, greater than all before.
//   - Those who claim workspaces of one shared folder come one after the other.
package workspaces

import (
	"context"

	"github.com/jackc/pgx/v5"

	"callgate/internal/storage/postgres/pgnode"
)

// Workspaces keeps those of a database. It is safe for concurrent use.
type Workspaces struct{ db *pgnode.DB }

// New makes the workspaces of the database that a node has open.
func New(db *pgnode.DB) *Workspaces { return &Workspaces{db} }

// Owner is who has a workspace. The zero value is nobody.
type Owner struct {
	Node   string
	Name   string // of the node, for people
	Path   string // of what it has, which may lie above or in what was asked for
	Fence  int64
	Lapsed bool // its lease is over, and nobody has taken it over
}

// inTheWay selects the workspaces of a shared folder, $1, that are the one with a path, $2, or lie above it or in it.
const inTheWay = `SELECT w.node, n.name, w.path, w.fence, n.lease_until < clock_timestamp()
	FROM workspaces AS w JOIN nodes AS n ON n.id = w.node AND n.epoch = w.epoch
	WHERE w.share = $1 AND (w.path = $2 OR w.path = '' OR $2::bytea = ''
	OR substring(w.path FROM 1 FOR length($2::bytea) + 1) = $2::bytea || '/'::bytea
	OR substring($2::bytea FROM 1 FOR length(w.path) + 1) = w.path || '/'::bytea) `

func scanOwner(row pgx.CollectableRow) (o Owner, err error) {
	var path []byte
	err = row.Scan(&o.Node, &o.Name, &path, &o.Fence, &o.Lapsed)
	o.Path = string(path)
	return o, err
}

// Claim gives this node a workspace, unless another node is in the way: then that is who is returned.
func (w *Workspaces) Claim(ctx context.Context, share, path string) (owner Owner, err error) {
	err = w.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		const lock = "SELECT pg_advisory_xact_lock(hashtextextended('callgate workspaces of ' || $1, 0))"
		if _, err := t.Exec(ctx, lock, share); err != nil {
			return err
		}
		others, err := pgnode.QueryTx(ctx, t, scanOwner, inTheWay+"AND w.node <> $3 ORDER BY w.fence LIMIT 1",
			share, []byte(path), t.NodeID())
		if err != nil {
			return err
		}
		if len(others) > 0 {
			owner = others[0]
			return nil
		}
		_, epoch := w.db.Node()
		const take = `INSERT INTO workspaces AS w (share, path, node, epoch, fence)
			VALUES ($1, $2, $3, $4, nextval('workspace_fences'))
			ON CONFLICT (share, path) DO UPDATE SET node = excluded.node, epoch = excluded.epoch,
			fence = CASE WHEN w.node = excluded.node AND w.epoch = excluded.epoch THEN w.fence ELSE excluded.fence END,
			since = CASE WHEN w.node = excluded.node AND w.epoch = excluded.epoch THEN w.since ELSE excluded.since END
			RETURNING fence`
		fence, err := pgnode.QueryOneTx(ctx, t, pgx.RowTo[int64], take, share, []byte(path), t.NodeID(), epoch)
		self, _ := w.db.Node()
		owner = Owner{Node: self.ID, Name: self.Name, Path: path, Fence: fence}
		return err
	})
	return owner, pgnode.ConvertError("workspaces.Claim", err)
}

// Release gives a workspace back. One that this node has not is left as it is.
func (w *Workspaces) Release(ctx context.Context, share, path string) error {
	_, epoch := w.db.Node()
	return pgnode.ConvertError("workspaces.Release", w.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		const give = "DELETE FROM workspaces WHERE share = $1 AND path = $2 AND node = $3 AND epoch = $4"
		_, err := t.Exec(ctx, give, share, []byte(path), t.NodeID(), epoch)
		return err
	}))
}

// Owner returns who has a workspace, or one above it or in it; the zero value: nobody. This node comes last.
func (w *Workspaces) Owner(ctx context.Context, share, path string) (Owner, error) {
	found, err := pgnode.Query(ctx, w.db, scanOwner, inTheWay+"ORDER BY w.node = $3, w.fence LIMIT 1",
		share, []byte(path), w.db.NodeID())
	if err != nil || len(found) == 0 {
		return Owner{}, pgnode.ConvertError("workspaces.Owner", err)
	}
	return found[0], nil
}
