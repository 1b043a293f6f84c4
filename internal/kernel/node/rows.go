package node

import (
	"context"

	"callgate/internal/secret"
	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/plainrows"
	"callgate/tool"
)

// # The key of a cluster
//
// Nodes that share a database have a key in common, which an operator places at each. It signs the rows that give
// rights: see package authority. A node that is the only one may do without; then whoever writes in its database has
// the rights of its users. A second node needs the key, and so does every node of a database whose rows are signed.
//
// Rows that were there before the key are signed once, by callgate migrate --sign, while no node runs: a human says
// then that what the database holds is what the nodes wrote. Nothing else makes an unsigned row count.

// checkRows refuses to share a database without the key, or with another.
func checkRows(ctx context.Context, db *postgres.DB, o Options) error {
	const op = "node.Open"
	rows, err := plainrows.LookAtCodes(ctx, db.DB)
	if err != nil {
		return err
	}
	place := "place it at this node too: the same 64 hexadecimal digits in " + o.State.UsersKey() + ", mode 600, or in its variable " +
		secret.PlacedVariable
	switch {
	case db.Key() == nil && rows.Signed:
		return tool.Errorf(op, tool.Denied, "the nodes of this database sign what they write, and this one has no key").WithHint("%s", place)
	case db.Key() == nil:
		other, err := otherNode(ctx, db)
		if err != nil || other == "" {
			return err
		}
		return tool.Errorf(op, tool.Denied, "the node %s uses this database, and nodes that share one need a key in common", other).
			WithHint("stop the nodes, make a key with openssl rand -hex 32, place it at each of them in user-secrets.key of the state " +
				"directory, mode 600, and run callgate migrate --sign at one; then start them again")
	case rows.Signed && !rows.Ours:
		return tool.Errorf(op, tool.Denied, "the nodes of this database sign with another key than this one has (%s)", db.Key().ID()).
			WithHint("%s", place)
	case rows.Unsigned && !rows.Signed:
		return tool.Errorf(op, tool.Denied, "this node has a key, and what the database holds was never signed with one").
			WithHint("if you trust what is in the database, stop every node and run callgate migrate --sign; until then leave the key away")
	case rows.Unsigned:
		o.Log.Warn("the database holds rows that are not signed; they do not count")
	}
	if db.Key() == nil {
		return nil
	}
	signed, err := plainrows.Sign(ctx, db.DB, false) // with the first key what an earlier one signed
	if signed > 0 {
		o.Log.Info("rows were signed with the first key of this node", "rows", signed)
	}
	return err
}

// otherNode is the name of another node that lives; "": none does.
func otherNode(ctx context.Context, db *postgres.DB) (string, error) {
	all, err := db.Nodes().List(ctx)
	for _, one := range all {
		if one.ID != db.NodeID() && one.State != postgres.Down && !one.Lost() {
			return one.Name, nil
		}
	}
	return "", err
}
