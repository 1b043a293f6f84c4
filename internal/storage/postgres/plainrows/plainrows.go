// Package plainrows is tables.Store on PostgreSQL: everything that the driver keeps for its node, as plain rows, and
// what all nodes share.
package plainrows

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"callgate/internal/artifact"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/storage/tables"
	"callgate/tool"
)

// maxKey is how many bytes the texts of a key may have together, as an index of PostgreSQL takes no more.
const maxKey = 2500

// Store is tables.Store on a database of the driver. Of each statement the first argument is the node.
type Store struct {
	DB       *pgnode.DB                   // nil: only Fits and Shared can be used
	IsShared func(collection string) bool // of documents that all nodes have
}

var (
	_ tables.Store     = (*Store)(nil)
	_ tables.BlobTimes = (*Store)(nil)
	_ tables.Sharing   = (*Store)(nil)
	_ tables.Planning  = (*Store)(nil)
)

// Rows reads a page in the order of the position.
func (s *Store) Rows(ctx context.Context, t *tables.Table, after tables.Position) (page tables.Page, err error) {
	args := []any{s.DB.NodeID()}
	for _, value := range after {
		if value, ok := value.(string); ok {
			args = append(args, []byte(value))
			continue
		}
		args = append(args, value)
	}
	found, err := pgnode.Query(ctx, s.DB, func(row pgx.CollectableRow) (tables.Row, error) {
		values, err := row.Values()
		for i := range values {
			values[i] = cell(t, i, values[i])
		}
		return values, err
	}, pageStatement(t, after != nil), args...)
	for _, values := range found {
		page.Rows = append(page.Rows, values[:len(t.Columns):len(t.Columns)])
		page.Last = tables.Position(values[len(t.Columns):])
	}
	return page, pgnode.ConvertError("postgres.Rows", err)
}

// cell is a value of the server as a cell of a column; what comes after the columns is the position.
func cell(t *tables.Table, i int, value any) any {
	kind := tables.Bytes
	switch {
	case i < len(t.Columns):
		kind = t.Columns[i].Type
	case i-len(t.Columns) < t.Key:
		kind = t.Columns[i-len(t.Columns)].Type
	}
	switch v := value.(type) {
	case int32:
		return int64(v)
	case []byte:
		if kind == tables.Text {
			return string(v)
		}
		return append([]byte{}, v...)
	}
	return value
}

// Shared reports the documents that all nodes have.
func (s *Store) Shared(t *tables.Table, row tables.Row) bool {
	return t == tables.Documents && s.IsShared(row[0].(string))
}

// Fits refuses what an index or a text of PostgreSQL does not take.
func (s *Store) Fits(t *tables.Table, row tables.Row) error {
	const op = "postgres.Fits"
	key := 0
	for i, c := range t.Columns {
		text, _ := row[i].(string)
		if i < max(t.Key, 1) && t != tables.Doubts { // whose index has the hash
			key += len(text)
		}
		if c.Type == tables.Word && (!utf8.ValidString(text) || strings.Contains(text, "\x00")) {
			return tool.Errorf(op, tool.Invalid, "%s is %q, and PostgreSQL has no such text", c.Name, tool.Truncate(text))
		}
	}
	if key > maxKey {
		return tool.Errorf(op, tool.Invalid, "its name has %d bytes, and PostgreSQL takes names of %d at most", key, maxKey)
	}
	return nil
}

// Add inserts the rows with one statement.
func (s *Store) Add(ctx context.Context, t *tables.Table, rows []tables.Row) error {
	const op = "postgres.Add"
	args := append([]any{s.owners(t, rows)}, columnsOf(t, rows)...)
	for i := range codeColumns(t) {
		args = append(args, column(s.codes(t, rows), i, func(v any) []byte { b, _ := v.([]byte); return b }))
	}
	return pgnode.ConvertError(op, s.DB.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
		n, err := x.Exec(ctx, addStatement(t), args...)
		if err == nil && n != int64(len(rows)) {
			err = tool.Errorf(op, tool.Conflict, "%s: a row is part of something that is not there", t.Name)
		}
		return err
	}))
}

// owners are the nodes of rows; "" is all of them.
func (s *Store) owners(t *tables.Table, rows []tables.Row) []string {
	all := make([]string, len(rows))
	for i, row := range rows {
		if !s.Shared(t, row) {
			all[i] = s.DB.NodeID()
		}
	}
	return all
}

// columnsOf turns rows into columns.
func columnsOf(t *tables.Table, rows []tables.Row) []any {
	all := make([]any, len(t.Columns))
	for i, c := range t.Columns {
		switch c.Type {
		case tables.Number:
			all[i] = column(rows, i, func(v any) int64 { return v.(int64) })
		case tables.MaybeNumber:
			all[i] = column(rows, i, func(v any) *int64 {
				if n, ok := v.(int64); ok {
					return &n
				}
				return nil
			})
		case tables.Word:
			all[i] = column(rows, i, func(v any) string { return v.(string) })
		case tables.Text:
			all[i] = column(rows, i, func(v any) []byte { return []byte(v.(string)) })
		default:
			all[i] = column(rows, i, func(v any) []byte { b, _ := v.([]byte); return b })
		}
	}
	return all
}

func column[T any](rows []tables.Row, i int, as func(any) T) []T {
	all := make([]T, len(rows))
	for j, row := range rows {
		all[j] = as(row[i])
	}
	return all
}

// The sequences that writes of documents and leases of tasks count with.
const (
	versions = "document_versions"
	fences   = "task_fences"
)

// last is the last number that a sequence gave.
func last(sequence string) string {
	return "(SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM " + sequence + ")"
}

// Numbers reads the sequences.
func (s *Store) Numbers(ctx context.Context) (n tables.Numbers, err error) {
	found, err := pgnode.Query(ctx, s.DB, func(row pgx.CollectableRow) (tables.Row, error) { return row.Values() },
		"SELECT "+last(versions)+", "+last(fences)+" WHERE $1 <> ''", s.DB.NodeID())
	if err != nil || len(found) != 1 {
		return n, pgnode.ConvertError("postgres.Numbers", err)
	}
	n.Write, _ = found[0][0].(int64)
	n.Fence, _ = found[0][1].(int64)
	return n, nil
}

// Raise has the sequences go on from the greater numbers. It changes a sequence to what it is already, for which it
// waits for the transactions that have drawn from it, and lets nobody draw until it has ended.
func (s *Store) Raise(ctx context.Context, n tables.Numbers) error {
	for sequence, number := range map[string]int64{versions: n.Write, fences: n.Fence} {
		err := s.DB.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
			if _, err := x.Exec(ctx, "ALTER SEQUENCE "+sequence+" INCREMENT BY 1"); err != nil {
				return err
			}
			_, err := x.Exec(ctx, "SELECT setval('"+sequence+"', $1) WHERE $1 > "+last(sequence), number)
			return err
		})
		if err != nil {
			return pgnode.ConvertError("postgres.Raise", err)
		}
	}
	return nil
}

// SetStored notes when the node stored blobs, rounded up to what the database counts in.
func (s *Store) SetStored(ctx context.Context, blobs []artifact.Blob) error {
	refs, times := make([]string, len(blobs)), make([]time.Time, len(blobs))
	for i, b := range blobs {
		refs[i], times[i] = b.Ref, b.Stored.Add(time.Microsecond-1).Truncate(time.Microsecond)
	}
	return pgnode.ConvertError("postgres.SetStored", s.DB.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) error {
		_, err := x.Exec(ctx, "UPDATE blob_owners AS o SET stored = a.stored "+
			"FROM unnest($2::text[], $3::timestamptz[]) AS a (ref, stored) WHERE o.node = $1 AND o.ref = a.ref",
			s.DB.NodeID(), refs, times)
		return err
	}))
}

// Learn has the server look at its tables. It would by itself, in a minute or more; until then it takes a node of which
// it has never heard for one with hardly any rows, and reads all of them again and again.
func (s *Store) Learn(ctx context.Context) error {
	var names []string
	for _, t := range tables.All() {
		names = append(names, t.Name)
	}
	return pgnode.ConvertError("postgres.Learn", s.DB.Use(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "ANALYZE blobs, blob_owners, "+strings.Join(names, ", "))
		return err
	}))
}
