package pgnode

import (
	"context"

	"github.com/jackc/pgx/v5"

	"callgate/tool"
)

// kept says whether something is kept for a node.
const kept = "SELECT EXISTS (SELECT FROM records WHERE node = $1) OR EXISTS (SELECT FROM drops WHERE node = $1) " +
	"OR EXISTS (SELECT FROM approvals WHERE node = $1) OR EXISTS (SELECT FROM conversations WHERE node = $1) " +
	"OR EXISTS (SELECT FROM documents WHERE node = $1) OR EXISTS (SELECT FROM tasks WHERE node = $1) " +
	"OR EXISTS (SELECT FROM blob_owners WHERE node = $1)"

// Probe connects to a database as [Open] does, and sees whether it could be opened and has rows of a node, without
// changing anything.
func Probe(ctx context.Context, address, node string) (hasRows bool, err error) {
	const op = "postgres.Probe"
	config, schema, err := parse(address)
	if err != nil {
		return false, err
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return false, ConvertError(op, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	const look = "SELECT to_regclass(quote_ident($1) || '.nodes') IS NOT NULL, " +
		"coalesce((SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $1), " +
		"has_database_privilege(current_database(), 'CREATE'))"
	var made, may bool
	if err := conn.QueryRow(ctx, look, schema).Scan(&made, &may); err != nil {
		return false, ConvertError(op, err)
	}
	if !may {
		kind, message, hint := serverError("42501")
		return false, tool.Errorf(op, kind, "%s", message).WithHint("%s", hint)
	}
	if made {
		err = conn.QueryRow(ctx, kept, node).Scan(&hasRows)
	}
	return hasRows, ConvertError(op, err)
}
