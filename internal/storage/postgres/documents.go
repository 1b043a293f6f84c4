package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"callgate/internal/document"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/tool"
)

// documentStore is document.Store on PostgreSQL.
//
// A document belongs to the node, or to all of them if its collection is shared. A write first takes the row of
// document_writes of each that it changes, and then draws its number from the one sequence. So those who could change
// the same documents do it one after the other, in the order of their numbers; nodes do not wait for each other unless
// both change what is shared; and a number is greater than that of every write that was acknowledged before.
type documentStore struct{ db *pgnode.DB }

// owner is whose documents a collection has: the node's, or everybody's ("").
func (s *documentStore) owner(collection string) string {
	if document.IsShared(collection) {
		return ""
	}
	return s.db.NodeID()
}

// owners are those of all changes, in the order in which their rows are taken.
func (s *documentStore) owners(changes []document.Change) []string {
	var list []string
	for i := range changes {
		list = append(list, s.owner(changes[i].Collection))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

var _ document.Store = (*documentStore)(nil)

// Get returns one document.
func (s *documentStore) Get(ctx context.Context, collection, key string) (document.Document, error) {
	const op = "postgres.Get"
	found, err := s.list(ctx, "AND key = $3", s.owner(collection), text(collection), text(key))
	switch {
	case err != nil:
		return document.Document{}, pgnode.ConvertError(op, err)
	case len(found) == 0:
		return document.Document{}, tool.Errorf(op, tool.NotFound, "there is no document %q in %q",
			tool.Truncate(key), tool.Truncate(collection))
	}
	if err := s.believe(&found[0]); err != nil {
		return document.Document{}, err
	}
	return found[0].Document, nil
}

// List selects by the primary key. What is not believed is passed over, and does not count towards the limit.
func (s *documentStore) List(
	ctx context.Context, collection, prefix, after string, limit int,
) (all []document.Document, err error) {
	if limit <= 0 || limit > document.MaxList {
		limit = document.MaxList
	}
	where := "AND key > $3 AND key >= $4"
	args := []any{s.owner(collection), text(collection), text(after), text(prefix), limit}
	if end := prefixEnd(prefix); end != "" {
		where, args = where+" AND key < $6", append(args, text(end)) // bytes are compared as bytes
	}
	for {
		asked := limit - len(all)
		args[4] = asked
		found, err := s.list(ctx, where+" ORDER BY key LIMIT $5", args...)
		if err != nil {
			return nil, pgnode.ConvertError("postgres.List", err)
		}
		for i := range found {
			if s.believe(&found[i]) == nil {
				all = append(all, found[i].Document)
			}
		}
		if len(found) < asked || len(all) == limit {
			return all, nil
		}
		args[2] = text(found[len(found)-1].Key)
	}
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

const selectDocuments = "SELECT collection, key, version, data, updated, mac FROM documents " +
	"WHERE node = $1 AND collection = $2 "

// documentRow is a document as its row has it.
type documentRow struct {
	document.Document
	mac []byte
}

// believe returns an error for a document that no node wrote.
func (s *documentStore) believe(r *documentRow) error {
	return s.db.Believe(r.mac, s.signed(r.Collection, r.Key, r.Data))
}

func (s *documentStore) signed(collection, key string, data []byte) pgnode.Signed {
	return pgnode.SignedDocument(s.owner(collection), collection, key, data)
}

// list selects in a collection, $2, of an owner, $1.
func (s *documentStore) list(ctx context.Context, rest string, args ...any) ([]documentRow, error) {
	return pgnode.Query(ctx, s.db, func(row pgx.CollectableRow) (d documentRow, err error) {
		var updated int64
		err = row.Scan((*text)(&d.Collection), (*text)(&d.Key), &d.Version, &d.Data, &updated, &d.mac)
		d.Data, d.Updated = present(d.Data), fromNanos(updated)
		return d, err
	}, selectDocuments+rest, args...)
}

// Write makes the changes in one transaction.
func (s *documentStore) Write(ctx context.Context, changes ...document.Change) (version int64, err error) {
	if err := document.Check(changes); err != nil || len(changes) == 0 {
		return 0, err
	}
	err = s.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		version, err = s.nextVersion(ctx, t, s.owners(changes))
		if err != nil {
			return err
		}
		var batch pgx.Batch
		for i := range changes {
			s.queueChange(&batch, &changes[i], version)
		}
		counts, err := t.ExecAll(ctx, &batch)
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
		return 0, pgnode.ConvertError("postgres.Write", err)
	}
	return version, nil
}

// nextVersion waits until nobody else changes documents of the owners, and draws the number of the write.
func (s *documentStore) nextVersion(ctx context.Context, t *pgnode.Tx, owners []string) (version int64, err error) {
	var batch pgx.Batch
	batch.Queue("SELECT FROM document_writes WHERE node = ANY ($1) ORDER BY node FOR UPDATE", owners)
	batch.Queue("SELECT nextval('document_versions')")
	results, err := t.Send(ctx, &batch)
	if err != nil {
		return 0, err
	}
	taken, err := results.Exec()
	if err == nil {
		err = results.QueryRow().Scan(&version)
	}
	if closed := results.Close(); err == nil {
		err = closed
	}
	if err == nil && taken.RowsAffected() != int64(len(owners)) {
		err = tool.Errorf("postgres.Write", tool.Internal, "a row of the table document_writes is gone")
	}
	return version, err
}

// queueChange adds one change to a batch. It changes one row if the document has the version that is expected; one
// that expects none and puts none finds a row if it has not.
func (s *documentStore) queueChange(batch *pgx.Batch, c *document.Change, version int64) {
	owner, collection, key := s.owner(c.Collection), text(c.Collection), text(c.Key)
	mac := s.db.Sign(s.signed(c.Collection, c.Key, c.Data))
	switch {
	case c.Data == nil && c.If == 0:
		batch.Queue("SELECT FROM documents WHERE node = $1 AND collection = $2 AND key = $3", owner, collection, key)
	case c.Data == nil:
		batch.Queue("DELETE FROM documents WHERE node = $1 AND collection = $2 AND key = $3 AND version = $4",
			owner, collection, key, c.If)
	case c.If == 0:
		batch.Queue("INSERT INTO documents (node, collection, key, version, data, mac, updated) VALUES "+
			"($1, $2, $3, $4, $5, $6, "+now+") ON CONFLICT DO NOTHING", owner, collection, key, version, c.Data, mac)
	default:
		batch.Queue("UPDATE documents SET version = $5, data = $6, mac = $7, updated = "+now+
			" WHERE node = $1 AND collection = $2 AND key = $3 AND version = $4",
			owner, collection, key, c.If, version, c.Data, mac)
	}
}

func documentChanged(c *document.Change) error {
	return tool.Errorf("postgres.Write", tool.Conflict, "the document %s/%s was changed meanwhile",
		tool.Truncate(c.Collection), tool.Truncate(c.Key)).WithHint("read it again and repeat the change")
}
