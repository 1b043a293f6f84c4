package pgnode

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callgate/tool"
)

// pgxTx is a transaction that has begun, as pgx has transactions. It neither commits nor rolls back: who began it does.
type pgxTx struct{ tx *Tx }

var _ pgx.Tx = pgxTx{}

// Pgx lends the transaction to a library that writes in transactions of pgx. What it writes commits, or not, with all
// the rest, and under the same check of the node's epoch. It begins a transaction that has not begun.
func (t *Tx) Pgx(ctx context.Context) (pgx.Tx, error) {
	if t.token == nil {
		results, err := t.Send(ctx, &pgx.Batch{})
		if err != nil {
			return nil, err
		}
		if err := results.Close(); err != nil {
			return nil, err
		}
	}
	return pgxTx{t}, nil
}

func notLent(what string) error {
	return tool.Errorf("postgres.Pgx", tool.Internal, "a transaction that is lent does not %s", what)
}

func (t pgxTx) Begin(context.Context) (pgx.Tx, error) { return nil, notLent("begin another") }
func (t pgxTx) Commit(context.Context) error          { return notLent("commit") }
func (t pgxTx) Rollback(context.Context) error        { return notLent("roll back") }
func (t pgxTx) LargeObjects() pgx.LargeObjects        { return pgx.LargeObjects{} }
func (t pgxTx) Conn() *pgx.Conn                       { return t.tx.conn }

func (t pgxTx) CopyFrom(
	ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource,
) (int64, error) {
	return t.tx.conn.CopyFrom(ctx, table, columns, rows)
}

func (t pgxTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return t.tx.conn.SendBatch(ctx, b)
}

func (t pgxTx) Prepare(ctx context.Context, name, text string) (*pgconn.StatementDescription, error) {
	return t.tx.conn.Prepare(ctx, name, text)
}

func (t pgxTx) Exec(ctx context.Context, text string, args ...any) (pgconn.CommandTag, error) {
	return t.tx.conn.Exec(ctx, text, args...)
}

func (t pgxTx) Query(ctx context.Context, text string, args ...any) (pgx.Rows, error) {
	return t.tx.conn.Query(ctx, text, args...)
}

func (t pgxTx) QueryRow(ctx context.Context, text string, args ...any) pgx.Row {
	return t.tx.conn.QueryRow(ctx, text, args...)
}
