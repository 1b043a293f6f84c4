package chunkstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"callgate/tool"
)

// Create makes a base.
func (s *Store) Create(ctx context.Context, b Base) (Base, error) {
	if b.Created.IsZero() {
		b.Created = time.Now()
	}
	err := s.change(ctx, "chunkstore.Create", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `INSERT INTO bases (name, description, model, created, version)
			VALUES (?, ?, ?, ?, 1) ON CONFLICT DO NOTHING`, b.Name, b.Description, b.Model, b.Created.UnixMilli())
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			taken := tool.Errorf("chunkstore.Create", tool.Conflict, "there is a knowledge base %s already", b.Name)
			return errors.Join(err, taken.WithHint("use it, or choose another name"))
		}
		b.ID, err = result.LastInsertId()
		return err
	})
	b.Version = 1
	return b, err
}

const selectBases = `SELECT b.id, b.name, b.description, b.model, b.created, b.version, count(d.id),
	coalesce(sum(d.chunks), 0), coalesce(sum(d.bytes), 0) FROM bases b LEFT JOIN documents d ON d.base = b.id`

func scanBase(row interface{ Scan(...any) error }) (b Base, err error) {
	var created int64
	err = row.Scan(&b.ID, &b.Name, &b.Description, &b.Model, &created, &b.Version, &b.Documents, &b.Chunks, &b.Bytes)
	b.Created = time.UnixMilli(created)
	return b, err
}

// Bases lists the bases, by name.
func (s *Store) Bases(ctx context.Context) (all []Base, err error) {
	rows, err := s.read.QueryContext(ctx, selectBases+" GROUP BY b.id ORDER BY b.name")
	if err != nil {
		return nil, failed("chunkstore.Bases", err)
	}
	defer rows.Close()
	for rows.Next() {
		b, err := scanBase(rows)
		if err != nil {
			return nil, failed("chunkstore.Bases", err)
		}
		all = append(all, b)
	}
	if err := rows.Err(); err != nil {
		return nil, failed("chunkstore.Bases", err)
	}
	return all, nil
}

// Base finds a base by its name.
func (s *Store) Base(ctx context.Context, name string) (Base, error) {
	b, err := scanBase(s.read.QueryRowContext(ctx, selectBases+" WHERE b.name = ? GROUP BY b.id", name))
	if err == nil {
		return b, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return Base{}, failed("chunkstore.Base", err)
	}
	all, err := s.Bases(ctx)
	if err != nil {
		return Base{}, err
	}
	var names []string
	for _, b := range all {
		names = append(names, b.Name)
	}
	return Base{}, Missing(name, names)
}

// Describe replaces the description of a base.
func (s *Store) Describe(ctx context.Context, base Base, description string) error {
	return s.change(ctx, "chunkstore.Describe", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE bases SET description = ? WHERE id = ?", description, base.ID)
		return err
	})
}

// Delete deletes a base with everything in it.
func (s *Store) Delete(ctx context.Context, base Base) error {
	return s.change(ctx, "chunkstore.Delete", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM bases WHERE id = ?", base.ID)
		return err
	})
}

// touch says that a base has changed.
func touch(ctx context.Context, tx *sql.Tx, base int64) error {
	result, err := tx.ExecContext(ctx, "UPDATE bases SET version = version + 1 WHERE id = ?", base)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, tool.Errorf("chunkstore.change", tool.NotFound, "the knowledge base was deleted meanwhile"))
	}
	return nil
}
