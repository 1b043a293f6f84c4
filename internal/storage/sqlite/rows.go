package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"callgate/internal/journal"
	"callgate/tool"
)

// manyRows is the number of rows of the longer insert statement: a statement
// costs about as much as the row itself.
const manyRows = 16

// dropChunk is the number of rows that one transaction of a drop deletes: the
// journal's own writes come between two of them.
const dropChunk = 2000

// floor is the last number that was dropped. Rows up to it are gone, whether
// or not they have been deleted yet.
const floor = "coalesce((SELECT max(last_seq) FROM drops), 0)"

const selectRecords = "SELECT seq, epoch, kind, call, body, hash FROM records"

const unendedCondition = ` AS b WHERE kind = 'begun' AND seq >= ? AND seq > ` + floor + ` AND NOT EXISTS (
	SELECT 1 FROM records AS e WHERE e.call = b.call AND e.call <> '' AND e.seq > b.seq AND e.kind IN ('ended', 'doubted')
) ORDER BY seq`

// rowStore is journal.Store on SQLite.
type rowStore struct {
	db      *DB
	reading *statements

	mu   sync.Mutex // guards what follows
	one  *sql.Stmt
	many *sql.Stmt
	args []any
}

var _ journal.Store = (*rowStore)(nil)

// Append inserts the rows in one synced transaction.
func (s *rowStore) Append(ctx context.Context, rows []journal.Row) error {
	const op = "sqlite.Append"
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.prepare(ctx); err != nil {
		return convertError(op, err)
	}
	err := s.db.transact(ctx, func(tx *sql.Tx) error {
		if err := updateDoubts(ctx, tx, rows); err != nil {
			return err
		}
		one, many := tx.StmtContext(ctx, s.one), tx.StmtContext(ctx, s.many)
		for len(rows) >= manyRows {
			if err := s.insert(ctx, many, rows[:manyRows]); err != nil {
				return err
			}
			rows = rows[manyRows:]
		}
		for len(rows) > 0 {
			if err := s.insert(ctx, one, rows[:1]); err != nil {
				return err
			}
			rows = rows[1:]
		}
		return nil
	})
	return convertError(op, err)
}

func (s *rowStore) prepare(ctx context.Context) (err error) {
	if s.many != nil {
		return nil
	}
	// A statement that fails leaves its rows behind, and the transaction is undone: so SQLite need not keep what was on
	// the pages before.
	const insert, values = "INSERT OR FAIL INTO records (seq, epoch, kind, call, body, hash) VALUES ", "(?,?,?,?,?,?)"
	if s.one == nil {
		if s.one, err = s.db.write.PrepareContext(ctx, insert+values); err != nil {
			return err
		}
	}
	s.many, err = s.db.write.PrepareContext(ctx, insert+values+strings.Repeat(","+values, manyRows-1))
	return err
}

func (s *rowStore) insert(ctx context.Context, stmt *sql.Stmt, rows []journal.Row) error {
	s.args = s.args[:0]
	for i := range rows {
		r := &rows[i]
		s.args = append(s.args, int64(r.Seq), int64(r.Epoch), string(r.Kind), r.Call, r.Body, r.Hash[:])
	}
	_, err := stmt.ExecContext(ctx, s.args...)
	clear(s.args)
	return err
}

func (s *rowStore) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, stmt := range []*sql.Stmt{s.one, s.many} {
		if stmt != nil {
			errs = append(errs, stmt.Close())
		}
	}
	return errors.Join(errs...)
}

// Rows selects by the primary key or by an index, whichever the query allows.
func (s *rowStore) Rows(ctx context.Context, q journal.Query) ([]journal.Row, error) {
	where, args := condition(q)
	order := " ORDER BY seq"
	if q.Newest {
		order += " DESC"
	}
	rows, err := s.selectRows(ctx, where+order+" LIMIT ?", append(args, limitOf(q.Limit))...)
	if err != nil {
		return nil, convertError("sqlite.Rows", err)
	}
	if q.Newest {
		slices.Reverse(rows)
	}
	return rows, nil
}

// number is a Seq as SQLite counts; those beyond are beyond any row.
func number(seq uint64) int64 { return int64(min(seq, math.MaxInt64)) }

func condition(q journal.Query) (where string, args []any) {
	terms := []string{"seq > max(?, " + floor + ")"}
	args = []any{number(q.After)}
	add := func(term string, arg any) {
		terms = append(terms, term)
		args = append(args, arg)
	}
	if q.Before > 0 {
		add("seq < ?", number(q.Before))
	}
	if q.Call != "" {
		add("call = ?", q.Call)
		terms = append(terms, "call <> ''")
	}
	if q.Within != "" { // their IDs are its own, a dot, and more
		add("call > ?", q.Within+".")
		add("call < ?", q.Within+"/")
		terms = append(terms, "call <> ''")
	}
	switch q.Kind {
	case "":
	case journal.Begun:
		terms = append(terms, "kind = 'begun'")
	case journal.Asked, journal.Ended:
		add("kind = ?", string(q.Kind))
	default:
		add("kind = ?", string(q.Kind))
		terms = append(terms, rareKind)
	}
	return " WHERE " + strings.Join(terms, " AND "), args
}

// Unended goes through the begun rows, and for each looks for a later row of its
// call.
func (s *rowStore) Unended(ctx context.Context, from uint64) ([]journal.Row, error) {
	rows, err := s.selectRows(ctx, unendedCondition, number(from))
	if err != nil {
		return nil, convertError("sqlite.Unended", err)
	}
	return rows, nil
}

func (s *rowStore) selectRows(ctx context.Context, rest string, args ...any) ([]journal.Row, error) {
	prepared, err := s.reading.prepare(ctx, selectRecords+rest)
	if err != nil {
		return nil, err
	}
	found, err := prepared.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var rows []journal.Row
	for found.Next() {
		var r journal.Row
		var hash []byte
		if err := found.Scan(&r.Seq, &r.Epoch, &r.Kind, &r.Call, &r.Body, &hash); err != nil {
			return nil, err
		}
		copy(r.Hash[:], hash)
		rows = append(rows, r)
	}
	return rows, found.Err()
}

// Drop writes the summary, by which the rows are gone for every reader, and
// then deletes them a few at a time. What a crash leaves of them the next Drop
// deletes.
func (s *rowStore) Drop(ctx context.Context, summary journal.PruneSummary) error {
	const op = "sqlite.Drop"
	text, err := json.Marshal(summary)
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Invalid, Message: "the summary cannot be written", Err: err}
	}
	if err := s.db.refuses(); err != nil {
		return err
	}
	last := number(summary.LastSeq)
	const insert = "INSERT INTO drops (last_seq, summary) VALUES (?, ?)"
	if _, err := s.db.write.ExecContext(ctx, insert, last, text); err != nil {
		return convertError(op, err)
	}
	if _, err := s.db.write.ExecContext(ctx, "DELETE FROM doubts WHERE seq <= ?", last); err != nil {
		return convertError(op, err)
	}
	for {
		const some = "DELETE FROM records WHERE seq IN (SELECT seq FROM records WHERE seq <= ? ORDER BY seq LIMIT ?)"
		done, err := s.db.write.ExecContext(ctx, some, last, dropChunk)
		if err != nil {
			return convertError(op, err)
		}
		if n, err := done.RowsAffected(); err != nil || n < dropChunk {
			return convertError(op, err)
		}
	}
}

// Drops returns what Drop has kept.
func (s *rowStore) Drops(ctx context.Context) ([]journal.PruneSummary, error) {
	const op = "sqlite.Drops"
	found, err := s.db.read.QueryContext(ctx, "SELECT summary FROM drops ORDER BY last_seq")
	if err != nil {
		return nil, convertError(op, err)
	}
	defer found.Close()
	var all []journal.PruneSummary
	for found.Next() {
		var text []byte
		if err := found.Scan(&text); err != nil {
			return nil, convertError(op, err)
		}
		var summary journal.PruneSummary
		if err := json.Unmarshal(text, &summary); err != nil {
			summary = journal.PruneSummary{} // damaged: verifying will not find it signed
		}
		all = append(all, summary)
	}
	if err := found.Err(); err != nil {
		return nil, convertError(op, err)
	}
	return all, nil
}
