package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"callgate/internal/storage/postgres/pgnode"
)

// Located says of what kind a thing is that one node has.
type Located struct {
	table      string // it is looked for there
	collection string // of documents
}

// LocatedApproval is an approval.
func LocatedApproval() Located { return Located{table: "approvals"} }

// LocatedConversation is a conversation.
func LocatedConversation() Located { return Located{table: "conversations"} }

// LocatedTask is a task.
func LocatedTask() Located { return Located{table: "tasks"} }

// LocatedCall is a call that is on record.
func LocatedCall() Located { return Located{table: "records"} }

// LocatedDocument is a document of a collection.
func LocatedDocument(collection string) Located { return Located{"documents", collection} }

// Locate returns the node that has something; "": none has. Where several have one of that ID, this node comes first,
// and one that is down last.
func (db *DB) Locate(ctx context.Context, what Located, id string) (string, error) {
	statement, args := locating(what, db.NodeID(), id)
	found, err := pgnode.Query(ctx, db.DB, pgx.RowTo[string], statement, args...)
	if err != nil || len(found) == 0 {
		return "", pgnode.ConvertError("postgres.Locate", err)
	}
	return found[0], nil
}

// locating asks for each node, of which there are few: every index has the node first.
func locating(what Located, self, id string) (statement string, args []any) {
	args = []any{self, text(id)}
	where := "x.id = $2"
	switch what.table {
	case "records":
		where = "x.call <> '' AND substring(x.call FROM 1 FOR 256) = substring($2::bytea FROM 1 FOR 256) AND x.call = $2"
	case "documents":
		where, args = "x.collection = $3 AND x.key = $2", append(args, text(what.collection))
	}
	// The limit keeps the planner from reading the whole table once for all nodes.
	return "SELECT n.id FROM nodes AS n, LATERAL (SELECT FROM " + what.table + " AS x WHERE x.node = n.id AND " + where +
		" LIMIT 1) AS found ORDER BY n.id <> $1, n.state = 'down', n.id LIMIT 1", args
}
