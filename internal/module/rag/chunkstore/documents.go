package chunkstore

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"callgate/internal/doctext"
	"callgate/internal/search/embed/vector"
)

// Documents lists the documents of a base, by name.
func (s *Store) Documents(ctx context.Context, base Base) (all []Document, err error) {
	rows, err := s.read.QueryContext(ctx, `SELECT name, origin, title, format, hash, bytes, ingested, chunks FROM documents
		WHERE base = ? ORDER BY name`, base.ID)
	if err != nil {
		return nil, failed("chunkstore.Documents", err)
	}
	defer rows.Close()
	for rows.Next() {
		var d Document
		var ingested int64
		if err := rows.Scan(&d.Name, &d.Origin, &d.Title, &d.Format, &d.Hash, &d.Bytes, &ingested, &d.Chunks); err != nil {
			return nil, failed("chunkstore.Documents", err)
		}
		d.Ingested = time.UnixMilli(ingested)
		all = append(all, d)
	}
	if err := rows.Err(); err != nil {
		return nil, failed("chunkstore.Documents", err)
	}
	return all, nil
}

// Stored is a document with its chunks, to be stored.
type Stored struct {
	Document
	Parts []Chunk
}

// Put stores documents in the place of those with the same names, all or none.
func (s *Store) Put(ctx context.Context, base Base, documents []Stored) error {
	if len(documents) == 0 {
		return nil
	}
	return s.change(ctx, "chunkstore.Put", func(tx *sql.Tx) error {
		if err := touch(ctx, tx, base.ID); err != nil {
			return err
		}
		insert, err := tx.PrepareContext(ctx, `INSERT INTO chunks (document, headings, part, unit, first, last, text, vector)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
		if err != nil {
			return err
		}
		defer insert.Close()
		for _, d := range documents {
			if err := put(ctx, tx, insert, base.ID, d); err != nil {
				return err
			}
		}
		return nil
	})
}

func put(ctx context.Context, tx *sql.Tx, insert *sql.Stmt, base int64, d Stored) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM documents WHERE base = ? AND name = ?", base, d.Name); err != nil {
		return err
	}
	result, err := tx.ExecContext(ctx, `INSERT INTO documents
		(base, name, origin, title, format, hash, bytes, ingested, chunks) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		base, d.Name, d.Origin, d.Title, d.Format, d.Hash, d.Bytes, d.Ingested.UnixMilli(), len(d.Parts))
	if err != nil {
		return err
	}
	id, err := result.LastInsertId()
	if err != nil {
		return err
	}
	for _, c := range d.Parts {
		if _, err := insert.ExecContext(ctx, id, strings.Join(c.Headings, "\n"), c.Part, string(c.Unit), c.First, c.Last,
			c.Text, EncodeVector(c.Vector)); err != nil {
			return err
		}
	}
	return nil
}

// Remove deletes documents by their names, and returns how many there were.
func (s *Store) Remove(ctx context.Context, base Base, names []string) (n int, err error) {
	if len(names) == 0 {
		return 0, nil
	}
	err = s.change(ctx, "chunkstore.Remove", func(tx *sql.Tx) error {
		for _, name := range names {
			result, err := tx.ExecContext(ctx, "DELETE FROM documents WHERE base = ? AND name = ?", base.ID, name)
			if err != nil {
				return err
			}
			removed, err := result.RowsAffected()
			if err != nil {
				return err
			}
			n += int(removed)
		}
		return touch(ctx, tx, base.ID)
	})
	return n, err
}

const selectChunks = `SELECT c.id, c.headings, c.part, c.unit, c.first, c.last, c.text, c.vector, d.name, d.title
	FROM chunks c JOIN documents d ON d.id = c.document`

// Chunks visits the chunks of a base whose numbers are above a number, in the order of the numbers.
func (s *Store) Chunks(ctx context.Context, base Base, above int64, visit func(Chunk)) error {
	rows, err := s.read.QueryContext(ctx, selectChunks+" WHERE d.base = ? AND c.id > ? ORDER BY c.id", base.ID, above)
	if err != nil {
		return failed("chunkstore.Chunks", err)
	}
	defer rows.Close()
	for rows.Next() {
		c, err := scanChunk(rows)
		if err != nil {
			return failed("chunkstore.Chunks", err)
		}
		visit(c)
	}
	if err := rows.Err(); err != nil {
		return failed("chunkstore.Chunks", err)
	}
	return nil
}

// IDs lists the numbers of a base's chunks, in their order.
func (s *Store) IDs(ctx context.Context, base Base) (all []int64, err error) {
	rows, err := s.read.QueryContext(ctx,
		"SELECT c.id FROM documents d JOIN chunks c ON c.document = d.id WHERE d.base = ? ORDER BY c.id", base.ID)
	if err != nil {
		return nil, failed("chunkstore.IDs", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, failed("chunkstore.IDs", err)
		}
		all = append(all, id)
	}
	if err := rows.Err(); err != nil {
		return nil, failed("chunkstore.IDs", err)
	}
	return all, nil
}

// ByID returns chunks by their numbers, in the order of the numbers that are given; those that
// are gone are left out.
func (s *Store) ByID(ctx context.Context, ids []int64) ([]Chunk, error) {
	var all []Chunk
	for _, id := range ids {
		rows, err := s.read.QueryContext(ctx, selectChunks+" WHERE c.id = ?", id)
		if err != nil {
			return nil, failed("chunkstore.ByID", err)
		}
		for rows.Next() {
			c, err := scanChunk(rows)
			if err != nil {
				_ = rows.Close()
				return nil, failed("chunkstore.ByID", err)
			}
			all = append(all, c)
		}
		if err := rows.Err(); err != nil {
			return nil, failed("chunkstore.ByID", err)
		}
	}
	return all, nil
}

// OfDocument returns the chunks of a document, in their order.
func (s *Store) OfDocument(ctx context.Context, base Base, name string) (all []Chunk, err error) {
	rows, err := s.read.QueryContext(ctx, selectChunks+" WHERE d.base = ? AND d.name = ? ORDER BY c.id", base.ID, name)
	if err != nil {
		return nil, failed("chunkstore.OfDocument", err)
	}
	defer rows.Close()
	for rows.Next() {
		c, err := scanChunk(rows)
		if err != nil {
			return nil, failed("chunkstore.OfDocument", err)
		}
		all = append(all, c)
	}
	if err := rows.Err(); err != nil {
		return nil, failed("chunkstore.OfDocument", err)
	}
	return all, nil
}

func scanChunk(rows *sql.Rows) (c Chunk, err error) {
	var headings string
	var blob []byte
	err = rows.Scan(&c.ID, &headings, &c.Part, (*string)(&c.Unit), &c.First, &c.Last, &c.Text, &blob,
		&c.Document, &c.Title)
	if headings != "" {
		c.Headings = strings.Split(headings, "\n")
	}
	c.Vector = DecodeVector(blob)
	return c, err
}

// SetVectors puts the vectors of another model in the place of a base's, all or none. Vectors are
// given by the numbers of their chunks, and none stands for a base that is searched by words alone.
func (s *Store) SetVectors(ctx context.Context, base Base, model string, vectors map[int64]vector.Row) error {
	return s.change(ctx, "chunkstore.SetVectors", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE bases SET model = ? WHERE id = ?", model, base.ID); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE chunks SET vector = NULL
			WHERE document IN (SELECT id FROM documents WHERE base = ?)`, base.ID); err != nil {
			return err
		}
		update, err := tx.PrepareContext(ctx, "UPDATE chunks SET vector = ? WHERE id = ?")
		if err != nil {
			return err
		}
		defer update.Close()
		for id, row := range vectors {
			if _, err := update.ExecContext(ctx, EncodeVector(row), id); err != nil {
				return err
			}
		}
		return touch(ctx, tx, base.ID)
	})
}

// Text is what a chunk is found by: its headings and its text.
func (c Chunk) SearchText() string { return SearchText(c.Title, c.Chunk) }

// SearchText is what a chunk of a document with a title is found by.
func SearchText(title string, c doctext.Chunk) string {
	var b strings.Builder
	if title != "" && (len(c.Headings) == 0 || c.Headings[0] != title) {
		b.WriteString(title + "\n")
	}
	for _, h := range c.Headings {
		if !strings.HasPrefix(c.Text, h) {
			b.WriteString(h + "\n")
		}
	}
	b.WriteString(c.Text)
	return b.String()
}
