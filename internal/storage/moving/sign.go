package moving

import (
	"context"
	"errors"

	"callgate/internal/statedir"
	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/plainrows"
	"callgate/tool"
)

// Signed is what a signing did.
type Signed struct {
	Rows int64  `json:"rows"`
	Key  string `json:"key"` // names the key that signed, and does not reveal it
}

// Sign signs what the database of a state directory holds with the key that is placed there: from then on it counts at
// the nodes that have the key. Whoever runs it says that nobody but nodes wrote what is there. No node may run.
func (m *Migration) Sign(ctx context.Context) (signed Signed, err error) {
	held, err := m.hold()
	if err != nil {
		return signed, err
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	url, err := held.ReadDatabaseURL()
	if err != nil {
		return signed, err
	}
	if url == "" {
		url = m.To
	}
	if url == "" {
		return signed, tool.Errorf(op, tool.Invalid, "%s names no database: there is nothing to sign", held).
			WithHint("name it with --to, or with CALLGATE_DATABASE")
	}
	ctx, db, end, err := m.openNode(ctx, held, url)
	if err != nil {
		return signed, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if db.Key() == nil {
		return signed, noKey(held)
	}
	if err := nobodyElse(ctx, db); err != nil {
		return signed, err
	}
	signed.Key = db.Key().ID()
	signed.Rows, err = plainrows.Sign(ctx, db.DB, true)
	return signed, orFenced(ctx, err)
}

func noKey(held *statedir.Held) error {
	return tool.Errorf(op, tool.Unavailable, "there is no key to sign with").
		WithHint("make one with openssl rand -hex 32, and place it at each node in the file %s, mode 600", held.UsersKey())
}

// nobodyElse returns an error while another node lives: it could have written what it should not, and would go on
// without the key.
func nobodyElse(ctx context.Context, db *postgres.DB) error {
	all, err := db.Nodes().List(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		if one.ID != db.NodeID() && one.State != postgres.Down && !one.Lost() {
			return tool.Errorf(op, tool.Conflict, "the node %s uses the database", one.Name).
				WithHint("stop every node first: callgate down, on its machine")
		}
	}
	return nil
}
