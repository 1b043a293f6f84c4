package servers

import (
	"context"
	"log/slog"
	"path/filepath"

	"callgate/internal/document"
	"callgate/internal/secret"
	"callgate/internal/source/mcp"
	"callgate/internal/source/mcp/oauth"
	"callgate/internal/source/mcp/trust"
)

// OpenTrust opens what humans accepted of servers and apps, and imports what a file in a folder has of it. If nothing
// may be written now, the next start that may write imports it.
func OpenTrust(ctx context.Context, docs document.Store, dir string, mayWrite bool) (*trust.Store, error) {
	if err := trust.Import(ctx, docs, filepath.Join(dir, "trust.json")); err != nil && mayWrite {
		return nil, err
	}
	return trust.NewStore(docs), nil
}

// OpenLogins opens the logins to MCP servers. A login that cannot be imported stops nothing: its server asks for
// another.
func OpenLogins(
	ctx context.Context, docs document.Store, vault *secret.Vault, dir string, log *slog.Logger,
) mcp.Logins {
	logins := oauth.NewSealed(docs, vault)
	oauth.Import(ctx, logins, filepath.Join(dir, "tokens"), log)
	return logins
}
