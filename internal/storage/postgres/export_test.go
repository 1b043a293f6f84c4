package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/storage/postgres/migration"
	"callgate/internal/task"
)

// SetSettlePatience sets how long a lost COMMIT is settled for.
func (db *DB) SetSettlePatience(d time.Duration) { db.settlePatience = d }

// Ask returns what a statement gives, as text.
func (db *DB) Ask(ctx context.Context, statement string) (string, error) {
	return queryOne(ctx, db, pgx.RowTo[string], statement)
}

// Run runs a statement.
func (db *DB) Run(ctx context.Context, statement string) error {
	_, err := db.pool.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol)
	return err
}

// Migrate makes other steps than those of this Callgate.
func (db *DB) Migrate(ctx context.Context, steps []migration.Step) error {
	return db.use(ctx, func(conn *pgx.Conn) error {
		return migration.Apply(ctx, conn, conn.Config().RuntimeParams["search_path"], steps)
	})
}

// Statement is a statement with its arguments.
type Statement struct {
	Text string
	Args []any
}

// RowsStatement is that of a query of the journal.
func RowsStatement(q journal.Query) Statement {
	where, args := condition(q)
	order := " ORDER BY seq"
	if q.Newest {
		order += " DESC"
	}
	return Statement{selectRecords + where + order, args}
}

// UnendedStatement is that of the calls without an end.
func UnendedStatement(from uint64) Statement {
	return Statement{selectRecords + unendedCondition, []any{number(from)}}
}

// DoubtsStatement is that of the calls in doubt.
func DoubtsStatement(q doubt.Query) Statement {
	where, args := doubtCondition(q)
	return Statement{selectDoubts + where, args}
}

// TasksStatement is that of a list of tasks.
func TasksStatement(q task.Query) Statement {
	where, args := taskCondition(q)
	return Statement{selectTasks + "WHERE " + strings.Join(where, " AND ") + " ORDER BY num", args}
}

// DueStatement is that of the tasks to be leased.
func DueStatement(r task.Request) Statement {
	where, args := due(r)
	return Statement{selectTasks + where, args}
}

// PrunableStatement is that of the tasks to be pruned.
func PrunableStatement() Statement {
	return Statement{Text: selectTasks + "WHERE " + settledTasks + " AND ended < 5"}
}

// Plan returns how a statement is run.
func (db *DB) Plan(ctx context.Context, s Statement) (string, error) {
	lines, err := query(ctx, db, pgx.RowTo[string], "EXPLAIN "+s.Text, s.Args...)
	return strings.Join(lines, "\n"), err
}
