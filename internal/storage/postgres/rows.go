package postgres

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"callgate/internal/journal"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/tool"
)

const (
	// appendRows and appendBytes bound the rows of one insert statement. An append sends all its statements at once.
	appendRows  = 1000
	appendBytes = 8 << 20
	// dropChunk is the number of rows that one transaction of a drop deletes: the journal's own writes come between
	// two of them.
	dropChunk = 2000
)

// floor is the last number that was dropped. Rows up to it are gone, whether or not they have been deleted yet.
// Of every statement on the journal, $1 is the node.
const floor = "coalesce((SELECT max(last_seq) FROM drops WHERE node = $1), 0)"

// rareKind selects the kinds that are few among many records. A query must say it in these very words to be given the
// index.
const rareKind = `kind NOT IN ('asked', 'begun', 'ended')`

const selectRecords = "SELECT seq, epoch, kind, call, body, hash FROM records"

// unendedCondition says twice from where on, so that only what came since is read.
const unendedCondition = ` AS b WHERE node = $1 AND kind = 'begun' AND seq >= $2
	AND seq > ` + floor + ` AND NOT EXISTS (
	SELECT 1 FROM records AS e WHERE e.node = $1 AND e.call = b.call AND e.call <> ''
	AND substring(e.call FROM 1 FOR 256) = substring(b.call FROM 1 FOR 256)
	AND e.seq > b.seq AND e.seq > $2 AND e.kind IN ('ended', 'doubted')
) ORDER BY seq`

// rowStore is journal.Store on PostgreSQL.
//
// A journal whose append failed reads the head to know whether it was written. So nothing is read or appended while an
// append is not settled: the head might still move.
type rowStore struct {
	db   *pgnode.DB
	node string // another than that of db: it is only read

	mu   sync.Mutex
	lost *pgnode.Commit // an append of which nobody knows whether it happened; nil: there is none
}

var _ journal.Store = (*rowStore)(nil)

// JournalOf returns the journal of any node. That of another node can be read, and nothing else.
func (db *DB) JournalOf(node string) journal.Store {
	if node == db.NodeID() {
		return db.rows
	}
	return &rowStore{db: db.DB, node: node}
}

// writable refuses what would change the journal of another node.
func (s *rowStore) writable(op string) error {
	if s.node == s.db.NodeID() {
		return nil
	}
	return tool.Errorf(op, tool.Invalid, "the journal of the node %s is written by that node alone", s.node)
}

// settled waits for the end of an append whose answer was lost.
func (s *rowStore) settled(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pgnode.Patience)
	defer cancel()
	if _, err := s.db.Settle(ctx, *s.lost); err != nil {
		return err
	}
	s.lost = nil
	return nil
}

// Append inserts the rows in one transaction.
func (s *rowStore) Append(ctx context.Context, rows []journal.Row) error {
	const op = "postgres.Append"
	if len(rows) == 0 {
		return nil
	}
	if err := s.writable(op); err != nil {
		return err
	}
	if err := s.settled(ctx); err != nil {
		return pgnode.ConvertError(op, err)
	}
	err := s.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		var batch pgx.Batch
		queueDoubts(&batch, s.node, rows)
		queueRows(&batch, s.node, rows)
		_, err := t.ExecAll(ctx, &batch)
		return err
	})
	if lost := pgnode.Unsettled(err); lost != nil {
		s.mu.Lock()
		s.lost = lost
		s.mu.Unlock()
	}
	return pgnode.ConvertError(op, err)
}

// queueRows adds the inserts of rows to a batch.
func queueRows(batch *pgx.Batch, node string, rows []journal.Row) {
	const insert = "INSERT INTO records (node, seq, epoch, kind, call, body, hash) " +
		"SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bytea[], $6::bytea[], $7::bytea[])"
	for len(rows) > 0 {
		n, size := 0, 0
		for n < len(rows) && n < appendRows && (n == 0 || size+len(rows[n].Body) <= appendBytes) {
			size += len(rows[n].Body)
			n++
		}
		seqs, epochs, kinds := make([]int64, n), make([]int64, n), make([]string, n)
		calls, bodies, hashes := make([][]byte, n), make([][]byte, n), make([][]byte, n)
		for i := range n {
			r := &rows[i]
			seqs[i], epochs[i], kinds[i] = int64(r.Seq), int64(r.Epoch), string(r.Kind)
			calls[i], bodies[i], hashes[i] = []byte(r.Call), present(r.Body), r.Hash[:]
		}
		batch.Queue(insert, node, seqs, epochs, kinds, calls, bodies, hashes)
		rows = rows[n:]
	}
}

// Rows selects by the primary key or by an index, whichever the query allows.
func (s *rowStore) Rows(ctx context.Context, q journal.Query) ([]journal.Row, error) {
	where, args := condition(s.node, q)
	order := " ORDER BY seq"
	if q.Newest {
		order += " DESC"
	}
	args = append(args, limitOf(q.Limit))
	rows, err := s.selectRows(ctx, where+order+" LIMIT "+parameter(args), args...)
	if err != nil {
		return nil, pgnode.ConvertError("postgres.Rows", err)
	}
	if q.Newest {
		slices.Reverse(rows)
	}
	return rows, nil
}

// parameter is the place of the last argument in a statement.
func parameter(args []any) string { return "$" + strconv.Itoa(len(args)) }

func condition(node string, q journal.Query) (where string, args []any) {
	args = []any{node, number(q.After)}
	terms := []string{"node = $1", "seq > greatest($2, " + floor + ")"}
	add := func(term string, arg any) {
		args = append(args, arg)
		terms = append(terms, term+parameter(args))
	}
	if q.Before > 0 {
		add("seq < ", number(q.Before))
	}
	// The index has the first bytes of a call, so a query says of them what it says of the whole.
	if q.Call != "" {
		add("call = ", text(q.Call))
		terms = append(terms, "call <> ''", firstBytes("call")+" = "+firstBytes(parameter(args)))
	}
	if q.Within != "" { // their IDs are its own, a dot, and more
		add("call > ", text(q.Within+"."))
		terms = append(terms, "call <> ''", firstBytes("call")+" >= "+firstBytes(parameter(args)))
		add("call < ", text(q.Within+"/"))
		terms = append(terms, firstBytes("call")+" <= "+firstBytes(parameter(args)))
	}
	switch q.Kind {
	case "":
	case journal.Begun:
		terms = append(terms, "kind = 'begun'")
	case journal.Asked, journal.Ended:
		add("kind = ", string(q.Kind))
	default:
		add("kind = ", string(q.Kind))
		terms = append(terms, rareKind)
	}
	return " WHERE " + strings.Join(terms, " AND "), args
}

// firstBytes are those of a call that the index has.
func firstBytes(of string) string { return "substring(" + of + " FROM 1 FOR 256)" }

// limitOf is how many rows a query may return.
func limitOf(limit int) int {
	if limit <= 0 || limit > journal.MaxRows {
		return journal.MaxRows
	}
	return limit
}

// Unended goes through the begun rows, and for each looks for a later row of its call.
func (s *rowStore) Unended(ctx context.Context, from uint64) ([]journal.Row, error) {
	rows, err := s.selectRows(ctx, unendedCondition, s.node, number(from))
	if err != nil {
		return nil, pgnode.ConvertError("postgres.Unended", err)
	}
	return rows, nil
}

func (s *rowStore) selectRows(ctx context.Context, rest string, args ...any) ([]journal.Row, error) {
	if err := s.settled(ctx); err != nil {
		return nil, err
	}
	return pgnode.Query(ctx, s.db, func(row pgx.CollectableRow) (r journal.Row, err error) {
		var hash []byte
		err = row.Scan(&r.Seq, &r.Epoch, &r.Kind, (*text)(&r.Call), &r.Body, &hash)
		copy(r.Hash[:], hash)
		return r, err
	}, selectRecords+rest, args...)
}

// Drop writes the summary, by which the rows are gone for every reader, and then deletes them a few at a time. What a
// crash leaves of them the next Drop deletes.
func (s *rowStore) Drop(ctx context.Context, summary journal.PruneSummary) error {
	const op = "postgres.Drop"
	if err := s.writable(op); err != nil {
		return err
	}
	content, err := json.Marshal(summary)
	if err != nil {
		return unwritable(op, "the summary", err)
	}
	last := number(summary.LastSeq)
	err = s.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		var batch pgx.Batch
		batch.Queue("INSERT INTO drops (node, last_seq, summary) VALUES ($1, $2, $3)", s.node, last, content)
		batch.Queue("DELETE FROM doubts WHERE node = $1 AND seq <= $2", s.node, last)
		_, err := t.ExecAll(ctx, &batch)
		return err
	})
	for err == nil {
		var n int64
		err = s.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) (err error) {
			const some = "DELETE FROM records WHERE node = $1 AND seq IN " +
				"(SELECT seq FROM records WHERE node = $1 AND seq <= $2 ORDER BY seq LIMIT $3)"
			n, err = t.Exec(ctx, some, s.node, last, dropChunk)
			return err
		})
		if err == nil && n < dropChunk {
			return nil
		}
	}
	return pgnode.ConvertError(op, err)
}

// Drops returns what Drop has kept.
func (s *rowStore) Drops(ctx context.Context) ([]journal.PruneSummary, error) {
	all, err := pgnode.Query(ctx, s.db, func(row pgx.CollectableRow) (summary journal.PruneSummary, err error) {
		var content []byte
		if err := row.Scan(&content); err != nil {
			return summary, err
		}
		if err := json.Unmarshal(content, &summary); err != nil {
			summary = journal.PruneSummary{} // damaged: verifying will not find it signed
		}
		return summary, nil
	}, "SELECT summary FROM drops WHERE node = $1 ORDER BY last_seq", s.node)
	if err != nil {
		return nil, pgnode.ConvertError("postgres.Drops", err)
	}
	return all, nil
}
