package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"callgate/internal/document"
	"callgate/tool"
)

// documentStore is document.Store on SQLite. A deleted document is overwritten in
// the file, and the log that still has it is emptied before Write returns. A
// reader that uses the log for long delays that until a later write, or Close.
type documentStore struct {
	db           *DB
	deletedInLog atomic.Bool
}

var _ document.Store = (*documentStore)(nil)

const selectDocuments = "SELECT collection, key, version, data, updated FROM documents "

// Get returns one document.
func (s *documentStore) Get(ctx context.Context, collection, key string) (document.Document, error) {
	const op = "sqlite.Get"
	found, err := s.list(ctx, "WHERE collection = ? AND key = ?", collection, key)
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
	where, args := "WHERE collection = ? AND key > ? AND key >= ?", []any{collection, after, prefix}
	if end := prefixEnd(prefix); end != "" {
		where, args = where+" AND key < ?", append(args, end) // texts are compared by their bytes
	}
	found, err := s.list(ctx, where+" ORDER BY key LIMIT ?", append(args, limit)...)
	return found, convertError("sqlite.List", err)
}

// prefixEnd returns the bytes that come after every text with a prefix; "" when
// there are none.
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
	found, err := s.db.read.QueryContext(ctx, selectDocuments+rest, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var all []document.Document
	for found.Next() {
		d := document.Document{}
		var updated int64
		if err := found.Scan(&d.Collection, &d.Key, &d.Version, &d.Data, &updated); err != nil {
			return nil, err
		}
		if d.Data == nil {
			d.Data = []byte{} // an empty document, not an absent one
		}
		d.Updated = fromNanos(updated)
		all = append(all, d)
	}
	return all, found.Err()
}

// Write makes the changes in one transaction.
func (s *documentStore) Write(ctx context.Context, changes ...document.Change) (version int64, err error) {
	if err := document.Check(changes); err != nil || len(changes) == 0 {
		return 0, err
	}
	err = s.db.transact(ctx, func(tx *sql.Tx) error {
		const next = "UPDATE document_writes SET last = last + 1 RETURNING last"
		if err := tx.QueryRowContext(ctx, next).Scan(&version); err != nil {
			return err
		}
		for _, c := range changes {
			if err := writeDocument(ctx, tx, c, version); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, convertError("sqlite.Write", err)
	}
	deletes := slices.ContainsFunc(changes, func(c document.Change) bool { return c.Data == nil })
	if left := s.deletedInLog.Swap(false); (deletes || left) && !s.db.emptyLog(ctx) {
		s.deletedInLog.Store(true)
	}
	return version, nil
}

// writeDocument makes one change, or reports that the document has another
// version than expected.
func writeDocument(ctx context.Context, tx *sql.Tx, c document.Change, version int64) error {
	var done sql.Result
	var err error
	switch {
	case c.Data == nil && c.If == 0:
		return expectNone(ctx, tx, c)
	case c.Data == nil:
		done, err = tx.ExecContext(ctx, "DELETE FROM documents WHERE collection = ? AND key = ? AND version = ?",
			c.Collection, c.Key, c.If)
	case c.If == 0:
		done, err = tx.ExecContext(ctx, "INSERT INTO documents (collection, key, version, data, updated) "+
			"VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", c.Collection, c.Key, version, c.Data, time.Now().UnixNano())
	default:
		done, err = tx.ExecContext(ctx, "UPDATE documents SET version = ?, data = ?, updated = ? "+
			"WHERE collection = ? AND key = ? AND version = ?",
			version, c.Data, time.Now().UnixNano(), c.Collection, c.Key, c.If)
	}
	if err != nil {
		return err
	}
	n, err := done.RowsAffected()
	if err == nil && n != 1 {
		err = documentChanged(c)
	}
	return err
}

func expectNone(ctx context.Context, tx *sql.Tx, c document.Change) error {
	var version int64
	err := tx.QueryRowContext(ctx, "SELECT version FROM documents WHERE collection = ? AND key = ?",
		c.Collection, c.Key).Scan(&version)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return documentChanged(c)
}

func documentChanged(c document.Change) error {
	return tool.Errorf("sqlite.Write", tool.Conflict, "the document %s/%s was changed meanwhile",
		tool.Truncate(c.Collection), tool.Truncate(c.Key)).WithHint("read it again and repeat the change")
}
