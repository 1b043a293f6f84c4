package kernel

import (
	"context"
	"path/filepath"

	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/node"
	"callgate/internal/source/mcp"
	"callgate/internal/source/mcp/oauth"
	"callgate/internal/source/mcp/trust"
)

// NodeOf returns the storage of a kernel, and its place among the kernels that share it.
func NodeOf(k *Kernel) *node.Node { return k.database }

// activity is what a kernel has to do.
func activity(k *Kernel) func() node.Activity {
	return func() node.Activity {
		a := node.Activity{
			Sessions: k.Sessions.Len(), Calls: k.Sessions.Calls() + int(k.recovery.Detached()), Tasks: k.Tasks.Running(),
		}
		for _, id := range k.Sessions.IDs() {
			c, err := k.Conversations.Get(id)
			if err != nil {
				continue
			}
			a.Conversations++
			if info := c.Info(); info.Turns > 0 && info.Last == "" {
				a.Turns++
			}
		}
		return a
	}
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

// amongNodes are the kernels that share the database with this one.
func amongNodes(k *Kernel) consent.Nodes {
	return consent.Nodes{
		Documents: k.database.Stores().Documents, ID: k.database.ID, Name: k.database.MachineName(),
		Several: k.database.IsShared(),
	}
}

// isSharedApp reports whether an app is one at all nodes.
func isSharedApp(k *Kernel) func(app string) (bool, error) {
	return func(app string) (bool, error) { return k.consents.IsShared(app) }
}

// openLogins opens the logins to MCP servers. A login that cannot be imported
// stops nothing: its server asks for another.
func (k *Kernel) openLogins(ctx context.Context) mcp.Logins {
	logins := oauth.NewSealed(k.database.Stores().Documents, k.vault)
	oauth.Import(ctx, logins, filepath.Join(k.state.Servers(), "tokens"), k.log)
	return logins
}
