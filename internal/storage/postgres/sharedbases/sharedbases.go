// Package sharedbases keeps the knowledge bases of apps that are one at all nodes: documents, the chunks that they are
// divided into, and the vectors of those.
//
// # Law
//
//   - An ingestion stages documents, which nobody reads, and publishes them in one transaction with everything else
//     that it changes of the base. So a node that is killed before leaves the base as it was, and what it staged is
//     removed by the next ingestion of any node after [stagedFor].
//   - Publications of a base come one after the other: each holds its row. A publication whose staged documents are not
//     all there any more, or whose base has vectors of another model, changes nothing.
//   - The version of a base grows with each publication. The number of a chunk is given when it is published, greater
//     than any of that base before, and never used again: who has all chunks up to a number misses none of them.
package sharedbases

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callgate/internal/module/rag/chunkstore"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/tool"
)

// The bounds.
const (
	// MaxBases is how many bases one owner has.
	MaxBases = 100
	// stagedFor is how long staged documents wait for their publication: longer than any ingestion takes.
	stagedFor = 3 * time.Hour
	// patience is how long one transaction of many rows may take.
	patience = 5 * time.Minute
)

// Bases keeps the bases of a database. It is safe for concurrent use.
type Bases struct{ db *pgnode.DB }

// New makes the bases of the database that a node has open.
func New(db *pgnode.DB) *Bases { return &Bases{db} }

// baseRow is a base as it is stored.
type baseRow struct {
	ID                                int64
	Name, Description, Model          []byte
	Created, Version                  int64
	Documents, Chunks, Bytes, NextRow int64
}

func (r baseRow) base() chunkstore.Base {
	return chunkstore.Base{
		ID: r.ID, Name: string(r.Name), Description: string(r.Description), Model: string(r.Model),
		Created: time.UnixMilli(r.Created), Version: r.Version, Documents: int(r.Documents), Chunks: int(r.Chunks),
		Bytes: r.Bytes, Shared: true,
	}
}

const selectBases = `SELECT id, name, description, model, created, version, documents, chunks, bytes, next_chunk
	FROM rag_bases`

// Bases lists the bases of an owner, by name.
func (b *Bases) Bases(ctx context.Context, owner string) ([]chunkstore.Base, error) {
	rows, err := pgnode.Query(ctx, b.db, pgx.RowToStructByPos[baseRow],
		selectBases+" WHERE owner = $1 ORDER BY name", []byte(owner))
	if err != nil {
		return nil, pgnode.ConvertError("sharedbases.Bases", err)
	}
	all := make([]chunkstore.Base, len(rows))
	for i, r := range rows {
		all[i] = r.base()
	}
	return all, nil
}

// Create makes a base of an owner.
func (b *Bases) Create(ctx context.Context, owner string, base chunkstore.Base) (chunkstore.Base, error) {
	const op = "sharedbases.Create"
	if base.Created.IsZero() {
		base.Created = time.Now()
	}
	err := b.change(ctx, op, func(ctx context.Context, t *pgnode.Tx) error {
		const lock = "SELECT pg_advisory_xact_lock(hashtextextended('callgate knowledge bases of ' || encode($1, 'hex'), 0))"
		if _, err := t.Exec(ctx, lock, []byte(owner)); err != nil {
			return err
		}
		const count = "SELECT count(*), count(*) FILTER (WHERE name = $2) FROM rag_bases WHERE owner = $1"
		type counts struct{ All, Same int }
		n, err := pgnode.QueryOneTx(ctx, t, pgx.RowToStructByPos[counts], count, []byte(owner), []byte(base.Name))
		switch {
		case err != nil:
			return err
		case n.Same > 0:
			return tool.Errorf(op, tool.Conflict, "there is a knowledge base %s already", base.Name).
				WithHint("use it, or choose another name")
		case n.All >= MaxBases:
			return tool.Errorf(op, tool.Limited, "there are %d knowledge bases that all nodes share, and no more may be", n.All).
				WithHint("delete one that nobody asks any more")
		}
		const insert = `INSERT INTO rag_bases (owner, name, description, model, created) VALUES ($1, $2, $3, $4, $5)
			RETURNING id`
		base.ID, err = pgnode.QueryOneTx(ctx, t, pgx.RowTo[int64], insert, []byte(owner), []byte(base.Name),
			[]byte(base.Description), []byte(base.Model), base.Created.UnixMilli())
		return err
	})
	base.Version, base.Shared = 1, true
	return base, err
}

// Delete deletes a base with everything in it.
func (b *Bases) Delete(ctx context.Context, base int64) error {
	return b.change(ctx, "sharedbases.Delete", func(ctx context.Context, t *pgnode.Tx) error {
		_, err := t.Exec(ctx, "DELETE FROM rag_bases WHERE id = $1", base)
		return err
	})
}

// change runs a transaction that may have many rows.
func (b *Bases) change(ctx context.Context, op string, f func(context.Context, *pgnode.Tx) error) error {
	err := b.db.TransactWithin(ctx, patience, f)
	var cause *pgconn.PgError
	if errors.As(err, &cause) && cause.Code == "23503" { // the row that another names is gone
		return deleted(op)
	}
	return pgnode.ConvertError(op, err)
}

func deleted(op string) error {
	return tool.Errorf(op, tool.NotFound, "the knowledge base was deleted meanwhile").
		WithHint("make it again, if it is still wanted")
}
