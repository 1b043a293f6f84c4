package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
)

// The table doubts holds the calls in doubt and nothing else, so that a start
// costs what is open and not what there ever was. It is made of the rows in the
// transaction that adds them, and can be made of them again.

// doubtStatement is what a row of that kind does to the table; "" for nothing.
func doubtStatement(kind journal.Kind) string {
	switch kind {
	case journal.Doubted:
		return `INSERT INTO doubts (call, seq, state) VALUES (?1, ?2, 'new')
			ON CONFLICT (call) DO UPDATE SET seq = excluded.seq, state = excluded.state`
	case journal.Judged:
		return `UPDATE doubts SET state = 'judged' WHERE call = ?1 AND state = 'new' AND seq < ?2`
	case journal.Told:
		return `UPDATE doubts SET state = 'told' WHERE call = ?1 AND seq < ?2`
	case journal.Resolved:
		return `DELETE FROM doubts WHERE call = ?1 AND seq < ?2`
	default:
		return ""
	}
}

// updateDoubts brings the table to where it is after these rows.
func updateDoubts(ctx context.Context, tx *sql.Tx, rows []journal.Row) error {
	for i := range rows {
		statement := doubtStatement(rows[i].Kind)
		if statement == "" {
			continue
		}
		if _, err := tx.ExecContext(ctx, statement, rows[i].Call, number(rows[i].Seq)); err != nil {
			return err
		}
	}
	return nil
}

const selectDoubts = `SELECT r.seq, r.epoch, r.kind, r.call, r.body, r.hash, d.state
	FROM doubts AS d CROSS JOIN records AS r ON r.seq = d.seq WHERE `

// doubtCondition selects by the index that fits the query.
func doubtCondition(q doubt.Query) (where string, args []any) {
	terms := []string{"d.seq > max(?, " + floor + ")"}
	args = []any{number(q.After)}
	if q.Call != "" {
		terms, args = append(terms, "d.call = ?"), append(args, q.Call)
	}
	if q.State != "" {
		terms, args = append(terms, "d.state = ?"), append(args, string(q.State))
	}
	return strings.Join(terms, " AND ") + " ORDER BY d.seq LIMIT ?", append(args, limitOf(q.Limit))
}

// limitOf is how many rows a query may return.
func limitOf(limit int) int {
	if limit <= 0 || limit > journal.MaxRows {
		return journal.MaxRows
	}
	return limit
}

// Doubts reads the table, and the row of each doubt.
func (s *rowStore) Doubts(ctx context.Context, q doubt.Query) ([]journal.DoubtRow, error) {
	const op = "sqlite.Doubts"
	where, args := doubtCondition(q)
	found, err := s.db.read.QueryContext(ctx, selectDoubts+where, args...)
	if err != nil {
		return nil, convertError(op, err)
	}
	defer found.Close()
	var open []journal.DoubtRow
	for found.Next() {
		var d journal.DoubtRow
		var hash []byte
		if err := found.Scan(&d.Seq, &d.Epoch, &d.Kind, &d.Call, &d.Body, &hash, &d.State); err != nil {
			return nil, convertError(op, err)
		}
		copy(d.Hash[:], hash)
		open = append(open, d)
	}
	return open, convertError(op, found.Err())
}

const countDoubts = "SELECT state, count(*) FROM doubts GROUP BY state"

// CountDoubts counts by the index of states.
func (s *rowStore) CountDoubts(ctx context.Context) (map[doubt.State]int, error) {
	const op = "sqlite.CountDoubts"
	found, err := s.db.read.QueryContext(ctx, countDoubts)
	if err != nil {
		return nil, convertError(op, err)
	}
	defer found.Close()
	counts := map[doubt.State]int{}
	for found.Next() {
		var state doubt.State
		var n int
		if err := found.Scan(&state, &n); err != nil {
			return nil, convertError(op, err)
		}
		counts[state] = n
	}
	return counts, convertError(op, found.Err())
}
