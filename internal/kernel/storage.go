package kernel

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"callgate/internal/source/mcp"
	"callgate/internal/source/mcp/oauth"
	"callgate/internal/source/mcp/trust"
	"callgate/internal/statedir"
	"callgate/internal/storage"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

// openStorage opens the place where everything is kept: a path is SQLite in
// that file, with large payloads in a folder beside it, and "" is the file of
// the state directory. This is the one function that knows the drivers.
func openStorage(ctx context.Context, place string, dir statedir.Dir) (storage.Driver, error) {
	const op = "callgate.Open"
	var d storage.Driver
	var err error
	switch scheme, _, isURL := strings.Cut(place, "://"); {
	case place == "":
		d, err = sqlite.Open(ctx, dir.Database())
	case isURL && (scheme == "postgres" || scheme == "postgresql"):
		return nil, tool.Errorf(op, tool.Unavailable, "storage in PostgreSQL is not built in yet").
			WithHint("leave storage empty, and everything is kept in the state directory; " +
				"a later version shares it through PostgreSQL")
	case isURL:
		return nil, tool.Errorf(op, tool.Invalid, "there is no storage of the kind %q", tool.Truncate(scheme)).
			WithHint("name a file for SQLite, or leave storage empty")
	default:
		if place, err = filepath.Abs(place); err == nil {
			d, err = sqlite.Open(ctx, place)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := d.Stores().Check(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// openTrust opens what humans accepted of servers and apps.
func (k *Kernel) openTrust(ctx context.Context) (*trust.Store, error) {
	docs := k.database.Stores().Documents
	err := trust.Import(ctx, docs, filepath.Join(k.state.Servers(), "trust.json"))
	if err != nil && k.Journal.Held() == nil { // the next start that may write imports it
		return nil, err
	}
	return trust.NewStore(docs), nil
}

// openLogins opens the logins to MCP servers. A login that cannot be imported
// stops nothing: its server asks for another.
func (k *Kernel) openLogins(ctx context.Context) mcp.Logins {
	logins := oauth.NewSealed(k.database.Stores().Documents, k.vault)
	oauth.Import(ctx, logins, filepath.Join(k.state.Servers(), "tokens"), k.log)
	return logins
}
