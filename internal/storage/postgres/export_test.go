package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/storage/postgres/migration"
)

// SetSettlePatience sets how long a lost COMMIT is settled for.
func (db *DB) SetSettlePatience(d time.Duration) { db.settlePatience = d }

// Ask returns what a statement gives, as text.
func (db *DB) Ask(ctx context.Context, statement string) (string, error) {
	return queryOne(ctx, db, pgx.RowTo[string], statement)
}

// Run runs a statement.
func (db *DB) Run(ctx context.Context, statement string) error {
	_, err := db.pool.Exec(ctx, statement)
	return err
}

// Migrate makes other steps than those of this Callgate.
func (db *DB) Migrate(ctx context.Context, steps []migration.Step) error {
	return db.use(ctx, func(conn *pgx.Conn) error {
		return migration.Apply(ctx, conn, conn.Config().RuntimeParams["search_path"], steps)
	})
}
