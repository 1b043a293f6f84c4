package sharedbases

import (
	"bytes"
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"callgate/internal/module/rag/chunkstore"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/tool"
)

// Stage stores documents of an ingestion. Nobody reads them before it is published.
func (b *Bases) Stage(ctx context.Context, base int64, ingestion string, documents []chunkstore.Stored) error {
	return b.change(ctx, "sharedbases.Stage", func(ctx context.Context, t *pgnode.Tx) error {
		const old = "DELETE FROM rag_documents WHERE ingestion IS NOT NULL AND staged < now() - $1::interval"
		if _, err := t.Exec(ctx, old, stagedFor); err != nil {
			return err
		}
		const number = "SELECT nextval('rag_document_ids') FROM generate_series(1, $1::int)"
		ids, err := pgnode.QueryTx(ctx, t, pgx.RowTo[int64], number, len(documents))
		if err != nil {
			return err
		}
		to, err := t.Pgx(ctx)
		if err != nil {
			return err
		}
		var rows, chunks [][]any
		for i, d := range documents {
			rows = append(rows, []any{
				ids[i], base, []byte(ingestion), []byte(d.Name), []byte(d.Origin), []byte(d.Title), []byte(d.Format),
				[]byte(d.Hash), d.Bytes, d.Ingested.UnixMilli(), len(d.Parts),
			})
			for n, c := range d.Parts {
				chunks = append(chunks, []any{
					ids[i], n, []byte(strings.Join(c.Headings, "\n")), []byte(c.Part), []byte(c.Unit), c.First, c.Last,
					[]byte(c.Text), chunkstore.EncodeVector(c.Vector),
				})
			}
		}
		_, err = to.CopyFrom(ctx, pgx.Identifier{"rag_documents"}, []string{"id", "base", "ingestion", "name", "origin",
			"title", "format", "hash", "bytes", "ingested", "chunks"}, pgx.CopyFromRows(rows))
		if err != nil {
			return err
		}
		_, err = to.CopyFrom(ctx, pgx.Identifier{"rag_chunks"}, []string{"document", "n", "headings", "part", "unit",
			"first", "last", "text", "vector"}, pgx.CopyFromRows(chunks))
		return err
	})
}

// Discard removes what an ingestion staged.
func (b *Bases) Discard(ctx context.Context, ingestion string) error {
	return b.change(ctx, "sharedbases.Discard", func(ctx context.Context, t *pgnode.Tx) error {
		_, err := t.Exec(ctx, "DELETE FROM rag_documents WHERE ingestion = $1", []byte(ingestion))
		return err
	})
}

// Publish makes what an ingestion changes be there for everybody, and returns how many documents were removed.
func (b *Bases) Publish(ctx context.Context, base int64, p chunkstore.Publication) (removed int, err error) {
	const op = "sharedbases.Publish"
	err = b.change(ctx, op, func(ctx context.Context, t *pgnode.Tx) error {
		was, err := pgnode.QueryOneTx(ctx, t, pgx.RowToStructByPos[baseRow],
			selectBases+" WHERE id = $1 FOR NO KEY UPDATE", base)
		switch {
		case pgnode.Absent(err):
			return deleted(op)
		case err != nil:
			return err
		case !bytes.Equal(was.Model, []byte(p.Model)) || p.Version > 0 && p.Version != was.Version:
			return changed(op, "the knowledge base was changed by another call meanwhile")
		}
		if removed, err = remove(ctx, t, base, p); err != nil {
			return err
		}
		published, err := publish(ctx, t, was, p)
		if err != nil {
			return err
		}
		if published.Staged != int64(p.Staged) {
			return changed(op, "what was read of the documents was removed before it could be used")
		}
		return count(ctx, t, was, p, published.Used)
	})
	return removed, err
}

func changed(op, why string) error {
	return tool.Errorf(op, tool.Conflict, "%s", why).WithHint("nothing was changed; try again")
}

// remove deletes the documents that are gone, and those that others take the place of. It counts the first.
func remove(ctx context.Context, t *pgnode.Tx, base int64, p chunkstore.Publication) (int, error) {
	var all pgx.Batch
	all.Queue(`DELETE FROM rag_documents WHERE base = $1 AND first_chunk IS NOT NULL
		AND sha256(name) IN (SELECT sha256(n) FROM unnest($2::bytea[]) AS n)`, base, texts(p.Removed))
	all.Queue(`DELETE FROM rag_documents WHERE base = $1 AND first_chunk IS NOT NULL
		AND sha256(name) IN (SELECT sha256(name) FROM rag_documents WHERE ingestion = $2)`, base, []byte(p.Ingestion))
	all.Queue(`UPDATE rag_documents SET origin = $3 WHERE base = $1 AND first_chunk IS NOT NULL
		AND sha256(name) IN (SELECT sha256(n) FROM unnest($2::bytea[]) AS n)`, base, texts(p.Moved), []byte(p.Origin))
	counts, err := t.ExecAll(ctx, &all)
	if err != nil {
		return 0, err
	}
	return int(counts[0]), nil
}

// published is how many documents were published, and how many numbers of chunks they took.
type published struct{ Staged, Used int64 }

// publish numbers the chunks of what was staged.
func publish(ctx context.Context, t *pgnode.Tx, was baseRow, p chunkstore.Publication) (published, error) {
	const number = `WITH places AS (
			SELECT id, greatest(chunks, 1) AS size, sum(greatest(chunks, 1)) OVER (ORDER BY id) AS until
			FROM rag_documents WHERE base = $1 AND ingestion = $2
		), done AS (
			UPDATE rag_documents AS d SET first_chunk = $3::bigint + (p.until - p.size)::bigint, ingestion = NULL
			FROM places AS p WHERE d.id = p.id RETURNING p.size
		)
		SELECT count(*), coalesce(sum(size), 0)::bigint FROM done`
	return pgnode.QueryOneTx(ctx, t, pgx.RowToStructByPos[published], number, was.ID, []byte(p.Ingestion), was.NextRow)
}

// count writes what there is of a base now, and fails if that is too much.
func count(ctx context.Context, t *pgnode.Tx, was baseRow, p chunkstore.Publication, used int64) error {
	const write = `UPDATE rag_bases AS b SET version = b.version + 1, model = $2, next_chunk = b.next_chunk + $3::bigint,
			documents = d.documents, chunks = d.chunks, bytes = d.bytes
		FROM (SELECT count(*) AS documents, coalesce(sum(chunks), 0) AS chunks, coalesce(sum(bytes), 0) AS bytes
			FROM rag_documents WHERE base = $1 AND first_chunk IS NOT NULL) AS d
		WHERE b.id = $1 RETURNING b.chunks`
	chunks, err := pgnode.QueryOneTx(ctx, t, pgx.RowTo[int64], write, was.ID, []byte(p.NextModel), used)
	if err != nil {
		return err
	}
	if p.MaxChunks > 0 && chunks > was.Chunks && chunks > int64(p.MaxChunks) {
		const op = "sharedbases.Publish"
		return tool.Errorf(op, tool.Limited, "%s would have more than %d chunks", string(was.Name), p.MaxChunks).
			WithHint("ingest less, use another knowledge base, or let the app file allow more: constraints.max_chunks")
	}
	return nil
}

// texts are strings as one argument.
func texts(list []string) [][]byte {
	all := make([][]byte, len(list))
	for i, one := range list {
		all[i] = []byte(one)
	}
	return all
}
