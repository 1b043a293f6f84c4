// Package items lists what MCP servers offer beside tools, their resources and
// prompts, and finds the server that a client means by a name.
//
// An item has a full name, which contains its server. A client may also be shown bare
// names: those that the servers give, where only one server has the name and it
// cannot be taken for a full one.
package items

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/route"
	"callgate/internal/kernel/servers"
	"callgate/internal/kernel/session"
	"callgate/internal/source/mcp"
	"callgate/tool"
)

// listTimeout bounds how long the servers may take to list their items.
const listTimeout = 10 * time.Second

// Scope is the session of a client and the MCP servers of its app.
type Scope struct {
	Session *session.Session
	Servers servers.Scoped
}

// MayRead reports whether the session's rules let it read items of a server,
// which is a module by this name.
func (s Scope) MayRead(ctx context.Context, module string, k Kind) bool {
	_, err := s.Session.View().Tool(ctx, module+"."+k.Action())
	return err == nil
}

// Catalog is the items as one client knows them.
type Catalog struct {
	Log       *slog.Logger
	BareNames bool // items go by bare names where possible

	mu        sync.Mutex
	owners    [kinds]map[string]string // the server of each bare name, as last listed
	templates []route.Item             // of resources, as last listed
}

// Prompts lists the prompts.
func (c *Catalog) Prompts(ctx context.Context, s Scope) []*sdk.Prompt {
	found := c.list(ctx, s, Prompts, (*mcp.Server).ListPrompts)
	list, _, bare := named(c, Prompts, found, func(p *sdk.Prompt) *string { return &p.Name })
	c.setOwners(Prompts, bare)
	return list
}

// Resources lists the resources.
func (c *Catalog) Resources(ctx context.Context, s Scope) []*sdk.Resource {
	found := c.list(ctx, s, Resources, (*mcp.Server).ListResources)
	list, _, bare := named(c, Resources, found, func(r *sdk.Resource) *string { return &r.URI })
	c.setOwners(Resources, bare)
	return list
}

// Templates lists the templates of resources.
func (c *Catalog) Templates(ctx context.Context, s Scope) []*sdk.ResourceTemplate {
	found := c.list(ctx, s, Resources, (*mcp.Server).ListResourceTemplates)
	list, own, _ := named(c, Resources, found, func(t *sdk.ResourceTemplate) *string { return &t.URITemplate })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.templates = own
	return list
}

// Find returns the server that a client's name for an item means, and the
// server's own name for it. It does not say whether the client may read it.
func (c *Catalog) Find(ctx context.Context, s Scope, k Kind, name string) (server, own string, err error) {
	known, err := s.Servers.List(ctx)
	if err != nil {
		return "", "", err
	}
	known = slices.DeleteFunc(known, func(one servers.Server) bool {
		return !one.Accepted || !s.Session.Caller().Gives(one.Module)
	})
	if server, own, ok := k.parseFullName(known, name); ok {
		return server, own, nil
	}
	if c.BareNames {
		if server, err := c.owner(ctx, s, k, name); err != nil || server != "" {
			return server, name, err
		}
	}
	return "", "", k.NotFound(name)
}

// owner is the server of a bare name: as last listed, else as listed now, else by
// the templates of resources. It is "" if no server has the name.
func (c *Catalog) owner(ctx context.Context, s Scope, k Kind, name string) (string, error) {
	if server := c.knownOwner(k, name); server != "" {
		return server, nil
	}
	if k == Prompts {
		c.Prompts(ctx, s)
		return c.knownOwner(k, name), nil
	}
	c.Resources(ctx, s)
	if server := c.knownOwner(k, name); server != "" {
		return server, nil
	}
	c.Templates(ctx, s)
	c.mu.Lock()
	matches := route.MatchTemplates(c.templates, name)
	c.mu.Unlock()
	switch len(matches) {
	case 0:
		return "", nil
	case 1:
		return matches[0], nil
	}
	e := tool.Errorf("mcpserver.read", tool.Ambiguous, "several servers could have %s", tool.Truncate(name))
	for _, server := range matches {
		e.Similar = append(e.Similar, k.FullName(server, name))
	}
	return "", e.WithHint("ask for one of %s", strings.Join(e.Similar, ", "))
}

func (c *Catalog) knownOwner(k Kind, name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owners[k][name]
}

func (c *Catalog) setOwners(k Kind, bare map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owners[k] = bare
}

// item is an item of a server, as the protocol writes it.
type item struct {
	server string
	raw    json.RawMessage
}

// list asks all servers that are known to offer items of a kind, at once. It skips
// a server that does not answer, so that the others' items are listed.
func (c *Catalog) list(
	ctx context.Context, s Scope, k Kind, list func(*mcp.Server, context.Context) ([]json.RawMessage, error),
) []item {
	known, err := s.Servers.List(ctx)
	if err != nil {
		c.Log.Warn("the MCP servers cannot be listed", "error", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	all := make([][]item, len(known))
	var wg sync.WaitGroup
	for i, one := range known {
		if !k.offeredBy(one) || !one.Accepted || !s.MayRead(ctx, one.Module, k) {
			continue
		}
		server, err := s.Servers.Get(one.Name)
		if err != nil {
			continue
		}
		wg.Go(func() {
			found, err := list(server, ctx)
			if err != nil {
				c.Log.Warn("an MCP server does not list its "+k.Action(), "server", one.Name, "error", err)
			}
			for _, raw := range found {
				all[i] = append(all[i], item{one.Name, raw})
			}
		})
	}
	wg.Wait()
	return slices.Concat(all...)
}

// named gives items the names that the client knows them by. name points to the
// server's own name in an item. It returns the items, their servers' own names,
// and the server of each bare name.
func named[T any](
	c *Catalog, k Kind, found []item, name func(*T) *string,
) (list []*T, own []route.Item, bare map[string]string) {
	var from []string
	for _, it := range found {
		one := new(T)
		if json.Unmarshal(it.raw, one) == nil && *name(one) != "" {
			list, from = append(list, one), append(from, it.server)
			own = append(own, route.Item{Server: it.server, Name: *name(one)})
		}
	}
	if c.BareNames {
		bare = route.Unique(own)
	}
	for i, one := range list {
		if at := name(one); bare[*at] != from[i] || k.looksFull(from, *at) {
			delete(bare, *at)
			*at = k.FullName(from[i], *at)
		}
	}
	return list, own, bare
}
