package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/storage/postgres/pgnode"
)

// The table doubts holds the calls in doubt and nothing else, so that a start costs what is open and not what there
// ever was. It is made of the rows in the transaction that adds them, and can be made of them again.

// doubtStatement is what a row of that kind does to the table; "" for nothing.
func doubtStatement(kind journal.Kind) string {
	switch kind {
	case journal.Doubted:
		return `INSERT INTO doubts (node, call, seq, state) VALUES ($1, $2, $3, 'new')
			ON CONFLICT (node, sha256(call)) DO UPDATE SET seq = excluded.seq, state = excluded.state`
	case journal.Judged:
		return `UPDATE doubts SET state = 'judged'
			WHERE node = $1 AND sha256(call) = sha256($2) AND state = 'new' AND seq < $3`
	case journal.Told:
		return `UPDATE doubts SET state = 'told' WHERE node = $1 AND sha256(call) = sha256($2) AND seq < $3`
	case journal.Resolved:
		return `DELETE FROM doubts WHERE node = $1 AND sha256(call) = sha256($2) AND seq < $3`
	default:
		return ""
	}
}

// queueDoubts adds to a batch what brings the table to where it is after these rows.
func queueDoubts(batch *pgx.Batch, node string, rows []journal.Row) {
	for i := range rows {
		if statement := doubtStatement(rows[i].Kind); statement != "" {
			batch.Queue(statement, node, text(rows[i].Call), number(rows[i].Seq))
		}
	}
}

const selectDoubts = `SELECT r.seq, r.epoch, r.kind, r.call, r.body, r.hash, d.state
	FROM doubts AS d JOIN records AS r ON r.node = $1 AND r.seq = d.seq WHERE `

// doubtCondition selects by the index that fits the query.
func doubtCondition(node string, q doubt.Query) (where string, args []any) {
	args = []any{node, number(q.After)}
	terms := []string{"d.node = $1", "d.seq > greatest($2, " + floor + ")"}
	if q.Call != "" {
		args = append(args, text(q.Call))
		terms = append(terms, "sha256(d.call) = sha256("+parameter(args)+")")
	}
	if q.State != "" {
		args = append(args, string(q.State))
		terms = append(terms, "d.state = "+parameter(args))
	}
	args = append(args, limitOf(q.Limit))
	return strings.Join(terms, " AND ") + " ORDER BY d.seq LIMIT " + parameter(args), args
}

// Doubts reads the table, and the row of each doubt.
func (s *rowStore) Doubts(ctx context.Context, q doubt.Query) ([]journal.DoubtRow, error) {
	where, args := doubtCondition(s.node, q)
	open, err := pgnode.Query(ctx, s.db, func(row pgx.CollectableRow) (d journal.DoubtRow, err error) {
		var hash []byte
		err = row.Scan(&d.Seq, &d.Epoch, &d.Kind, (*text)(&d.Call), &d.Body, &hash, &d.State)
		copy(d.Hash[:], hash)
		return d, err
	}, selectDoubts+where, args...)
	return open, pgnode.ConvertError("postgres.Doubts", err)
}

// CountDoubts counts by the index of states.
func (s *rowStore) CountDoubts(ctx context.Context) (map[doubt.State]int, error) {
	type count struct {
		state doubt.State
		n     int
	}
	list, err := pgnode.Query(ctx, s.db, func(row pgx.CollectableRow) (c count, err error) {
		err = row.Scan(&c.state, &c.n)
		return c, err
	}, "SELECT state, count(*) FROM doubts WHERE node = $1 GROUP BY state", s.node)
	if err != nil {
		return nil, pgnode.ConvertError("postgres.CountDoubts", err)
	}
	counts := map[doubt.State]int{}
	for _, c := range list {
		counts[c.state] = c.n
	}
	return counts, nil
}
