package adoption

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/storage/postgres/plainrows"
	"callgate/internal/storage/tables"
	"callgate/tool"
)

// Batch is what moves in one transaction, by ID.
type Batch struct {
	Conversations []string
	Approvals     []string
	Tasks         []string
	Documents     map[string][]string // keys by collection
}

// Len is how many rows a batch has.
func (b Batch) Len() int {
	n := len(b.Conversations) + len(b.Approvals) + len(b.Tasks)
	for _, keys := range b.Documents {
		n += len(keys)
	}
	return n
}

// patience is how long one batch may take.
const patience = time.Minute

// Move gives this node what another has left that is down since an epoch, and returns what has moved. If the other has
// come up again, also for a while, that is a Conflict, and nothing moves.
func (s *Store) Move(ctx context.Context, from string, epoch int64, b Batch) (moved Batch, err error) {
	const op = "adoption.Move"
	if from == s.db.NodeID() {
		return moved, tool.Errorf(op, tool.Invalid, "a node does not adopt what is its own")
	}
	err = s.db.TransactWithin(ctx, patience, func(ctx context.Context, t *pgnode.Tx) error {
		moved = Batch{Documents: map[string][]string{}}
		if err := mustBeDown(ctx, t, op, from, epoch); err != nil {
			return err
		}
		for _, rows := range []struct {
			statement string
			ids       []string
			moved     *[]string
		}{
			{moveConversations, b.Conversations, &moved.Conversations},
			{moveApprovals, b.Approvals, &moved.Approvals},
			{moveTasks, b.Tasks, &moved.Tasks},
		} {
			if *rows.moved, err = move(ctx, t, rows.statement, from, rows.ids); err != nil {
				return err
			}
		}
		if err := moveDocuments(ctx, t, from, b.Documents, moved.Documents); err != nil {
			return err
		}
		return s.sign(ctx, t, from, moved)
	})
	if err != nil {
		return Batch{}, pgnode.ConvertError(op, err)
	}
	return moved, nil
}

// sign signs what has moved as this node's: see package authority.
func (s *Store) sign(ctx context.Context, t *pgnode.Tx, from string, moved Batch) error {
	const byID = "node = $1 AND id = ANY ($2)"
	err := plainrows.Adopt(ctx, t, s.db, tables.Approvals, from, byID, t.NodeID(), inBytes(moved.Approvals))
	if err == nil {
		err = plainrows.Adopt(ctx, t, s.db, tables.Tasks, from, byID, t.NodeID(), inBytes(moved.Tasks))
	}
	for collection, keys := range moved.Documents {
		if err == nil {
			err = plainrows.Adopt(ctx, t, s.db, tables.Documents, from, "node = $1 AND collection = $2 AND key = ANY ($3)",
				t.NodeID(), []byte(collection), inBytes(keys))
		}
	}
	return err
}

// now is the server's clock in nanoseconds.
const now = "((extract(epoch FROM statement_timestamp()) * 1000000)::bigint * 1000)"

const (
	moveConversations = "UPDATE conversations AS x SET node = $1 WHERE node = $2 AND id = ANY ($3) AND NOT EXISTS " +
		"(SELECT FROM conversations AS o WHERE o.node = $1 AND o.id = x.id) RETURNING id"
	moveApprovals = "UPDATE approvals AS x SET node = $1 WHERE node = $2 AND id = ANY ($3) AND NOT EXISTS " +
		"(SELECT FROM approvals AS o WHERE o.node = $1 AND o.id = x.id) RETURNING id"
	// The holder of one that was under way is lost.
	moveTasks = "UPDATE tasks AS x SET node = $1, due = CASE WHEN lost THEN " + now + " ELSE x.due END, " +
		"lease_until = CASE WHEN lost THEN " + now + " ELSE x.lease_until END, " +
		"holder = CASE WHEN lost THEN '' ELSE x.holder END " +
		"FROM (SELECT num, state = 'running' AND ended = 0 AS lost FROM tasks WHERE node = $2 AND id = ANY ($3) " +
		"ORDER BY num FOR UPDATE) AS was WHERE x.num = was.num AND NOT EXISTS " +
		"(SELECT FROM tasks AS o WHERE o.node = $1 AND o.id = x.id) RETURNING x.id"
)

// move moves the rows of a table, and returns the IDs of those that it has moved.
func move(ctx context.Context, t *pgnode.Tx, statement, from string, ids []string) (moved []string, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := pgnode.QueryTx(ctx, t, pgx.RowTo[[]byte], statement, t.NodeID(), from, inBytes(ids))
	for _, id := range found {
		moved = append(moved, string(id))
	}
	return moved, err
}

func inBytes(ids []string) [][]byte {
	all := make([][]byte, len(ids))
	for i, id := range ids {
		all[i] = []byte(id)
	}
	return all
}

// moveDocuments moves documents as one write of this node: by the law of package document, they get its number.
func moveDocuments(ctx context.Context, t *pgnode.Tx, from string, keys, moved map[string][]string) error {
	if len(keys) == 0 {
		return nil
	}
	var batch pgx.Batch
	batch.Queue("SELECT FROM document_writes WHERE node = $1 FOR UPDATE", t.NodeID())
	batch.Queue("SELECT nextval('document_versions')")
	results, err := t.Send(ctx, &batch)
	if err != nil {
		return err
	}
	var version int64
	if _, err = results.Exec(); err == nil {
		err = results.QueryRow().Scan(&version)
	}
	if closed := results.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	const statement = "UPDATE documents AS x SET node = $1, version = $5 WHERE node = $2 AND collection = $3 " +
		"AND key = ANY ($4) AND NOT EXISTS (SELECT FROM documents AS o WHERE o.node = $1 " +
		"AND o.collection = x.collection AND o.key = x.key) RETURNING key"
	for collection, some := range keys {
		found, err := pgnode.QueryTx(ctx, t, pgx.RowTo[[]byte], statement,
			t.NodeID(), from, []byte(collection), inBytes(some), version)
		if err != nil {
			return err
		}
		for _, key := range found {
			moved[collection] = append(moved[collection], string(key))
		}
	}
	return nil
}

// Begin notes that this node reads the journal of a node that is down since an epoch, and of those that the other read.
// What the other keeps of large payloads is kept for this one too. It comes before the first move.
func (s *Store) Begin(ctx context.Context, from string, epoch int64) error {
	const (
		note = "INSERT INTO adoptions (node, former) SELECT $1, $2 UNION SELECT $1, former FROM adoptions " +
			"WHERE node = $2 AND former <> $1 ON CONFLICT DO NOTHING"
		keep = "INSERT INTO blob_owners (node, ref, stored) SELECT $1, o.ref, o.stored FROM blob_owners AS o " +
			"JOIN blobs AS b ON b.ref = o.ref WHERE o.node = $2 ON CONFLICT DO NOTHING"
	)
	const op = "adoption.Begin"
	return pgnode.ConvertError(op, s.db.TransactWithin(ctx, patience, func(ctx context.Context, t *pgnode.Tx) error {
		if err := mustBeDown(ctx, t, op, from, epoch); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, note, t.NodeID(), from); err != nil {
			return err
		}
		_, err := t.Exec(ctx, keep, t.NodeID(), from)
		return err
	}))
}

// mustBeDown holds the row of a node that is down since an epoch. Another is a Conflict.
func mustBeDown(ctx context.Context, t *pgnode.Tx, op, from string, epoch int64) error {
	const look = "SELECT FROM nodes WHERE id = $1 AND state = 'down' AND epoch = $2 FOR SHARE"
	down, err := t.Exec(ctx, look, from, epoch)
	if err == nil && down == 0 {
		err = tool.Errorf(op, tool.Conflict, "the node %s came back, and goes on with what it has", tool.Truncate(from))
	}
	return err
}
