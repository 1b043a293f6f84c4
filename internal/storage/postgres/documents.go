package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"callgate/internal/document"
	"callgate/tool"
)

// documentStore is document.Store on PostgreSQL. A write first takes the one row of document_writes, so writes happen
// one after the other, in the order of their numbers.
type documentStore struct{ db *DB }

var _ document.Store = (*documentStore)(nil)

// Get returns one document.
func (s *documentStore) Get(ctx context.Context, collection, key string) (document.Document, error) {
	const op = "postgres.Get"
	found, err := s.list(ctx, "WHERE collection = $1 AND key = $2", text(collection), text(key))
	switch {
	case err != nil:
		return document.Document{}, convertError(op, err)
	case len(found) == 0:
		return document.Document{}, tool.Errorf(op, tool.NotFound, "there is no document %q in %q",
			tool.Truncate(key), tool.Truncate(collection))
	}
	return found[0], nil
}

// List selects by the primary key.
func (s *documentStore) List(
	ctx context.Context, collection, prefix, after string, limit int,
) ([]document.Document, error) {
	if limit <= 0 || limit > document.MaxList {
		limit = document.MaxList
	}
	where := "WHERE collection = $1 AND key > $2 AND key >= $3"
	args := []any{text(collection), text(after), text(prefix), limit}
	if end := prefixEnd(prefix); end != "" {
		where, args = where+" AND key < $5", append(args, text(end)) // bytes are compared as bytes
	}
	found, err := s.list(ctx, where+" ORDER BY key LIMIT $4", args...)
	return found, convertError("postgres.List", err)
}

// prefixEnd returns the bytes that come after every text with a prefix; "" when there are none.
func prefixEnd(prefix string) string {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return string(end[:i+1])
		}
	}
	return ""
}

func (s *documentStore) list(ctx context.Context, rest string, args ...any) ([]document.Document, error) {
	return query(ctx, s.db, func(row pgx.CollectableRow) (d document.Document, err error) {
		var updated int64
		err = row.Scan((*text)(&d.Collection), (*text)(&d.Key), &d.Version, &d.Data, &updated)
		d.Data, d.Updated = present(d.Data), fromNanos(updated)
		return d, err
	}, "SELECT collection, key, version, data, updated FROM documents "+rest, args...)
}

// Write makes the changes in one transaction.
func (s *documentStore) Write(ctx context.Context, changes ...document.Change) (version int64, err error) {
	if err := document.Check(changes); err != nil || len(changes) == 0 {
		return 0, err
	}
	err = s.db.transact(ctx, func(ctx context.Context, t *tx) error {
		const next = "UPDATE document_writes SET last = last + 1 RETURNING last"
		version, err = queryOneTx(ctx, t, pgx.RowTo[int64], next)
		if err != nil {
			return err
		}
		var batch pgx.Batch
		for i := range changes {
			queueChange(&batch, &changes[i], version)
		}
		counts, err := t.execAll(ctx, &batch)
		if err != nil {
			return err
		}
		for i, n := range counts {
			if expectsNone := changes[i].Data == nil && changes[i].If == 0; expectsNone == (n == 1) {
				return documentChanged(&changes[i])
			}
		}
		return nil
	})
	if err != nil {
		return 0, convertError("postgres.Write", err)
	}
	return version, nil
}

// queueChange adds one change to a batch. It changes one row if the document has the version that is expected; one
// that expects none and puts none finds a row if it has not.
func queueChange(batch *pgx.Batch, c *document.Change, version int64) {
	collection, key := text(c.Collection), text(c.Key)
	switch {
	case c.Data == nil && c.If == 0:
		batch.Queue("SELECT FROM documents WHERE collection = $1 AND key = $2", collection, key)
	case c.Data == nil:
		batch.Queue("DELETE FROM documents WHERE collection = $1 AND key = $2 AND version = $3", collection, key, c.If)
	case c.If == 0:
		batch.Queue("INSERT INTO documents (collection, key, version, data, updated) VALUES ($1, $2, $3, $4, "+now+") "+
			"ON CONFLICT DO NOTHING", collection, key, version, c.Data)
	default:
		batch.Queue("UPDATE documents SET version = $4, data = $5, updated = "+now+
			" WHERE collection = $1 AND key = $2 AND version = $3", collection, key, c.If, version, c.Data)
	}
}

func documentChanged(c *document.Change) error {
	return tool.Errorf("postgres.Write", tool.Conflict, "the document %s/%s was changed meanwhile",
		tool.Truncate(c.Collection), tool.Truncate(c.Key)).WithHint("read it again and repeat the change")
}
