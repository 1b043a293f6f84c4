package chunkstore

import (
	"context"
	"database/sql"
)

// Containing returns chunks of a base whose text or headings have a text in them, as it is
// written, in the order of their numbers.
func (s *Store) Containing(ctx context.Context, base Base, text string, most int) (all []Chunk, err error) {
	rows, err := s.read.QueryContext(ctx, selectChunks+`
		WHERE d.base = ? AND (instr(c.text, ?) > 0 OR instr(c.headings, ?) > 0)
		ORDER BY c.id LIMIT ?`, base.ID, text, text, most)
	if err != nil {
		return nil, failed("chunkstore.Containing", err)
	}
	defer rows.Close()
	for rows.Next() {
		c, err := scanChunk(rows)
		if err != nil {
			return nil, failed("chunkstore.Containing", err)
		}
		all = append(all, c)
	}
	if err := rows.Err(); err != nil {
		return nil, failed("chunkstore.Containing", err)
	}
	return all, nil
}

// Invalidate has documents read again by the next ingestion, though their content is the same: the
// one of a name, or all for "". It returns how many there are.
func (s *Store) Invalidate(ctx context.Context, base Base, name string) (n int, err error) {
	err = s.change(ctx, "chunkstore.Invalidate", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "UPDATE documents SET hash = '' WHERE base = ? AND (name = ? OR ? = '')",
			base.ID, name, name)
		if err != nil {
			return err
		}
		changed, err := result.RowsAffected()
		n = int(changed)
		return err
	})
	return n, err
}

// SetOrigin says where documents came from.
func (s *Store) SetOrigin(ctx context.Context, base Base, names []string, origin Origin) error {
	if len(names) == 0 {
		return nil
	}
	return s.change(ctx, "chunkstore.SetOrigin", func(tx *sql.Tx) error {
		for _, name := range names {
			_, err := tx.ExecContext(ctx, "UPDATE documents SET origin = ? WHERE base = ? AND name = ?", origin, base.ID, name)
			if err != nil {
				return err
			}
		}
		return nil
	})
}
