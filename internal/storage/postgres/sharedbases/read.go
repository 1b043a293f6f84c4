package sharedbases

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/doctext"
	"callgate/internal/module/rag/chunkstore"
	"callgate/internal/storage/postgres/pgnode"
)

// Documents lists the documents of a base, by name.
func (b *Bases) Documents(ctx context.Context, base int64) ([]chunkstore.Document, error) {
	type row struct {
		Name, Origin, Title, Format, Hash []byte
		Bytes, Ingested, Chunks           int64
	}
	rows, err := pgnode.Query(ctx, b.db, pgx.RowToStructByPos[row], `SELECT name, origin, title, format, hash, bytes,
		ingested, chunks FROM rag_documents WHERE base = $1 AND first_chunk IS NOT NULL ORDER BY name`, base)
	if err != nil {
		return nil, pgnode.ConvertError("sharedbases.Documents", err)
	}
	all := make([]chunkstore.Document, len(rows))
	for i, r := range rows {
		all[i] = chunkstore.Document{
			Name: string(r.Name), Origin: chunkstore.Origin(r.Origin), Title: string(r.Title), Format: string(r.Format),
			Hash: string(r.Hash), Bytes: r.Bytes, Ingested: time.UnixMilli(r.Ingested), Chunks: int(r.Chunks),
		}
	}
	return all, nil
}

// IDs lists the numbers of a base's chunks, in their order.
func (b *Bases) IDs(ctx context.Context, base int64) ([]int64, error) {
	type row struct{ First, Chunks int64 }
	rows, err := pgnode.Query(ctx, b.db, pgx.RowToStructByPos[row], `SELECT first_chunk, chunks FROM rag_documents
		WHERE base = $1 AND first_chunk IS NOT NULL ORDER BY first_chunk`, base)
	if err != nil {
		return nil, pgnode.ConvertError("sharedbases.IDs", err)
	}
	var all []int64
	for _, r := range rows {
		for n := range r.Chunks {
			all = append(all, r.First+n)
		}
	}
	return all, nil
}

// chunkRow is a chunk as it is stored.
type chunkRow struct {
	ID                   int64
	Headings, Part, Unit []byte
	First, Last          int64
	Text, Vector         []byte
	Document, Title      []byte
}

func (r chunkRow) chunk() chunkstore.Chunk {
	c := chunkstore.Chunk{
		ID: r.ID, Document: string(r.Document), Title: string(r.Title), Vector: chunkstore.DecodeVector(r.Vector),
	}
	c.Part, c.Unit, c.Text = string(r.Part), doctext.Unit(r.Unit), string(r.Text)
	c.First, c.Last = int(r.First), int(r.Last)
	if len(r.Headings) > 0 {
		c.Headings = strings.Split(string(r.Headings), "\n")
	}
	return c
}

const selectChunks = `SELECT d.first_chunk + c.n, c.headings, c.part, c.unit, c.first, c.last, c.text, c.vector, d.name,
	d.title FROM rag_documents AS d JOIN rag_chunks AS c ON c.document = d.id`

// Chunks visits the chunks of a base whose numbers are above a number, in the order of the numbers. No connection is
// held meanwhile.
func (b *Bases) Chunks(ctx context.Context, base, above int64, visit func(chunkstore.Chunk)) error {
	// The document that has the number, or the one before it, is where the rest begins.
	const from = ` WHERE d.base = $1 AND d.first_chunk >= coalesce((SELECT max(first_chunk) FROM rag_documents
			WHERE base = $1 AND first_chunk <= $2), 0) AND d.first_chunk + c.n > $2
		ORDER BY d.first_chunk, c.n LIMIT $3`
	const page = 2000
	for {
		rows, err := pgnode.Query(ctx, b.db, pgx.RowToStructByPos[chunkRow], selectChunks+from, base, above, page)
		if err != nil {
			return pgnode.ConvertError("sharedbases.Chunks", err)
		}
		for _, r := range rows {
			visit(r.chunk())
			above = r.ID
		}
		if len(rows) < page {
			return nil
		}
	}
}

// ByID returns chunks of a base by their numbers, in the order of the numbers; those that are gone are left out.
func (b *Bases) ByID(ctx context.Context, base int64, ids []int64) ([]chunkstore.Chunk, error) {
	const of = `SELECT a.id, c.headings, c.part, c.unit, c.first, c.last, c.text, c.vector, d.name, d.title
		FROM unnest($2::bigint[]) AS a (id)
		CROSS JOIN LATERAL (SELECT id, first_chunk, name, title FROM rag_documents
			WHERE base = $1 AND first_chunk <= a.id ORDER BY first_chunk DESC LIMIT 1) AS d
		JOIN rag_chunks AS c ON c.document = d.id AND c.n = a.id - d.first_chunk ORDER BY a.id`
	rows, err := pgnode.Query(ctx, b.db, pgx.RowToStructByPos[chunkRow], of, base, ids)
	if err != nil {
		return nil, pgnode.ConvertError("sharedbases.ByID", err)
	}
	all := make([]chunkstore.Chunk, len(rows))
	for i, r := range rows {
		all[i] = r.chunk()
	}
	return all, nil
}
