package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/storage/postgres/migration"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/task"
)

// Ask returns what a statement gives, as text.
func (db *DB) Ask(ctx context.Context, statement string) (string, error) {
	return pgnode.QueryOne(ctx, db.DB, pgx.RowTo[string], statement)
}

// Run runs a statement.
func (db *DB) Run(ctx context.Context, statement string) error {
	_, err := db.Pool().Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol)
	return err
}

// Migrate makes other steps than those of this Callgate.
func (db *DB) Migrate(ctx context.Context, steps []migration.Step) error {
	return db.Use(ctx, func(conn *pgx.Conn) error {
		return migration.Apply(ctx, conn, conn.Config().RuntimeParams["search_path"], db.NodeID(), steps)
	})
}

// Statement is a statement with its arguments.
type Statement struct {
	Text string
	Args []any
}

// RowsStatement is that of a query of the journal.
func RowsStatement(node string, q journal.Query) Statement {
	where, args := condition(node, q)
	order := " ORDER BY seq"
	if q.Newest {
		order += " DESC"
	}
	return Statement{selectRecords + where + order, args}
}

// UnendedStatement is that of the calls without an end.
func UnendedStatement(node string, from uint64) Statement {
	return Statement{selectRecords + unendedCondition, []any{node, number(from)}}
}

// DoubtsStatement is that of the calls in doubt.
func DoubtsStatement(node string, q doubt.Query) Statement {
	where, args := doubtCondition(node, q)
	return Statement{selectDoubts + where, args}
}

// TasksStatement is that of a list of tasks.
func TasksStatement(node string, q task.Query) Statement {
	where, args := taskCondition(node, q)
	return Statement{selectTasks + strings.Join(where, " AND ") + " ORDER BY num", args}
}

// DueStatement is that of the tasks to be leased.
func DueStatement(node string, r task.Request) Statement {
	where, args := due(node, r)
	return Statement{selectTasks + where, args}
}

// PrunableStatement is that of the tasks to be pruned.
func PrunableStatement(node string) Statement {
	return Statement{selectTasks + settledTasks + " AND ended < 5", []any{node}}
}

// Plan returns how a statement is run.
func (db *DB) Plan(ctx context.Context, s Statement) (string, error) {
	lines, err := pgnode.Query(ctx, db.DB, pgx.RowTo[string], "EXPLAIN "+s.Text, s.Args...)
	return strings.Join(lines, "\n"), err
}

// ConversationsStatement is that of a list of conversations.
func ConversationsStatement(node string) Statement {
	return Statement{"SELECT info FROM conversations WHERE node = $1 ORDER BY updated DESC, id LIMIT 9", []any{node}}
}

// EventsStatement is that of the events of a conversation.
func EventsStatement(node, id string) Statement {
	return Statement{selectEvents, []any{node, text(id), 0}}
}

// DocumentStatement is that of one document.
func DocumentStatement(node, collection, key string) Statement {
	return Statement{selectDocuments + "AND key = $3", []any{node, text(collection), text(key)}}
}

// BlobsStatement is that of a list of blobs.
func BlobsStatement(node string) Statement { return Statement{listBlobs, []any{node, "", 9}} }

// LocateStatement is that of where something is.
func LocateStatement(what Located, node, id string) Statement {
	statement, args := locating(what, node, id)
	return Statement{statement, args}
}
