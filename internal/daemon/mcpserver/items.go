package mcpserver

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/route"
	"callgate/internal/kernel/servers"
	"callgate/internal/kernel/session"
	"callgate/internal/source/mcp"
	"callgate/tool"
)

// itemKind is what servers offer beside tools.
type itemKind int

const (
	resources itemKind = iota
	prompts
	kinds
)

// action is what the rules call it.
func (k itemKind) action() string {
	if k == prompts {
		return "prompts"
	}
	return "resources"
}

// offered reports whether a server is known to have some.
func (k itemKind) offered(s servers.Server) bool {
	return s.Resources && k == resources || s.Prompts && k == prompts
}

// between separates a server's name from that of its prompt.
const between = "__"

// fullName is the name of something that tells its server, by which it always goes.
func (k itemKind) fullName(server, name string) string {
	if k == prompts {
		return server + between + name
	}
	return serverPrefix + url.PathEscape(server) + "/" + name
}

// parseFullName reads a full name of one of some servers.
func (k itemKind) parseFullName(known []servers.Server, name string) (server, own string, ok bool) {
	for _, one := range known {
		if own, ok := strings.CutPrefix(name, k.fullName(one.Name, "")); ok && own != "" {
			return one.Name, own, true
		}
	}
	return "", "", false
}

// item is something that a server has, as the protocol writes it.
type item struct {
	server string
	raw    json.RawMessage
}

// listItems asks every server that is known to have some, at once, and passes over
// those that do not answer: one server's trouble does not hide the others'.
func listItems(ctx context.Context, g *client, s *session.Session, k itemKind, list func(*mcp.Server, context.Context) ([]json.RawMessage, error)) []item {
	known, err := g.servers(s).List(ctx)
	if err != nil {
		g.host.opt.Log.Warn("what the MCP servers offer cannot be told", "error", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	all := make([][]item, len(known))
	var wg sync.WaitGroup
	for i, one := range known {
		if !k.offered(one) || !one.Accepted || !mayRead(ctx, s, one.Module, k) {
			continue
		}
		server, err := g.servers(s).Get(one.Name)
		if err != nil {
			continue
		}
		wg.Go(func() {
			found, err := list(server, ctx)
			if err != nil {
				g.host.opt.Log.Warn("an MCP server does not tell what it offers", "server", one.Name, "error", err)
			}
			for _, raw := range found {
				all[i] = append(all[i], item{one.Name, raw})
			}
		})
	}
	wg.Wait()
	return slices.Concat(all...)
}

// named gives what servers offer the names that the guest knows it by: the full
// ones, or bare ones where one server alone has it and nothing else could be
// meant. name finds the server's own name in an offer, and sets another.
func named[T any](g *client, k itemKind, found []item, name func(*T) *string) (list []*T, own []route.Item, bare map[string]string) {
	var from []string
	for _, o := range found {
		one := new(T)
		if json.Unmarshal(o.raw, one) == nil && *name(one) != "" {
			list, from = append(list, one), append(from, o.server)
			own = append(own, route.Item{Server: o.server, Name: *name(one)})
		}
	}
	if g.host.opt.BareNames {
		bare = route.Unique(own)
	}
	for i, one := range list {
		if at := name(one); bare[*at] != from[i] || k.looksFull(from, *at) {
			delete(bare, *at)
			*at = k.fullName(from[i], *at)
		}
	}
	return list, own, bare
}

// looksFull reports whether a bare name reads like a full one.
func (k itemKind) looksFull(servers []string, name string) bool {
	if k == resources {
		return strings.HasPrefix(name, ownScheme)
	}
	return slices.ContainsFunc(servers, func(server string) bool { return strings.HasPrefix(name, server+between) })
}

func (g *client) prompts(ctx context.Context, s *session.Session) []*sdk.Prompt {
	list, _, bare := named(g, prompts, listItems(ctx, g, s, prompts, (*mcp.Server).ListPrompts), func(p *sdk.Prompt) *string { return &p.Name })
	g.cacheRoutes(prompts, bare)
	return list
}

func (g *client) resources(ctx context.Context, s *session.Session) []*sdk.Resource {
	list, _, bare := named(g, resources, listItems(ctx, g, s, resources, (*mcp.Server).ListResources), func(r *sdk.Resource) *string { return &r.URI })
	g.cacheRoutes(resources, bare)
	return list
}

func (g *client) templates(ctx context.Context, s *session.Session) []*sdk.ResourceTemplate {
	list, own, _ := named(g, resources, listItems(ctx, g, s, resources, (*mcp.Server).ListResourceTemplates), func(t *sdk.ResourceTemplate) *string { return &t.URITemplate })
	g.mu.Lock()
	defer g.mu.Unlock()
	g.made = own
	return list
}

// cacheRoutes keeps whose the bare names are.
func (g *client) cacheRoutes(k itemKind, bare map[string]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.routes[k] = bare
}

// find tells which server a name that the guest uses means, and what that calls
// it. Whether the guest may read it is not said here.
func (g *client) find(ctx context.Context, s *session.Session, k itemKind, name string) (server, own string, err error) {
	known, err := g.servers(s).List(ctx)
	if err != nil {
		return "", "", err
	}
	known = slices.DeleteFunc(known, func(one servers.Server) bool { return !one.Accepted })
	if server, own, ok := k.parseFullName(known, name); ok {
		return server, own, nil
	}
	if g.host.opt.BareNames {
		if server, err := g.owner(ctx, s, k, name); err != nil || server != "" {
			return server, name, err
		}
	}
	return "", "", k.missing(name)
}

// owner is the server of a bare name, as it was last seen or else as it is now.
func (g *client) owner(ctx context.Context, s *session.Session, k itemKind, name string) (string, error) {
	seen := func() string {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.routes[k][name]
	}
	if server := seen(); server != "" {
		return server, nil
	}
	if k == prompts {
		g.prompts(ctx, s)
		return seen(), nil
	}
	g.resources(ctx, s)
	if server := seen(); server != "" {
		return server, nil
	}
	g.templates(ctx, s)
	g.mu.Lock()
	servers := route.MatchTemplates(g.made, name)
	g.mu.Unlock()
	switch len(servers) {
	case 0:
		return "", nil
	case 1:
		return servers[0], nil
	}
	e := tool.Errorf("mcpserver.read", tool.Ambiguous, "several servers could have %s", tool.Truncate(name))
	for _, server := range servers {
		e.Similar = append(e.Similar, k.fullName(server, name))
	}
	return "", e.WithHint("ask for one of %s", strings.Join(e.Similar, ", "))
}

// missing is the answer to a name that means nothing.
func (k itemKind) missing(name string) error {
	if k == resources {
		return sdk.ResourceNotFoundError(name)
	}
	return tool.Errorf("mcpserver.prompt", tool.NotFound, "there is no prompt %q", tool.Truncate(name)).WithHint("list the prompts to see which there are")
}

// mayRead reports whether the session's rules let it read what a server has.
func mayRead(ctx context.Context, s *session.Session, module string, k itemKind) bool {
	_, err := s.View().Tool(ctx, module+"."+k.action())
	return err == nil
}

// read reads something of a server, or resumes a read that was left behind.
func (g *client) read(
	ctx context.Context, s *session.Session, name string, k itemKind, args any, state string, v *clientRequest,
) (json.RawMessage, suspension, error) {
	server, err := g.servers(s).Get(name)
	if err != nil {
		return nil, suspension{}, err
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, suspension{}, err
	}
	action := server.Namespace() + "." + k.action()
	key := func() string { return "reading " + action + "\x00" + canonical(raw) }
	f, err := g.findSuspended(state, key)
	if err != nil {
		return nil, suspension{}, err
	}
	if f == nil {
		f = g.startCall(v, key, func(f *pendingCall) *tool.Result { return f.call(s, action, raw, true) })
	}
	left, err := f.await(ctx, v)
	switch {
	case err != nil || left.asked != nil:
		return nil, left, err
	case left.waiting != nil:
		return nil, suspension{}, tool.Errorf("mcpserver.read", tool.Denied, "%s", left.waiting.Summary).
			WithHint("ask for it again once it is approved")
	case f.end.result.Status != tool.Success && !mayRead(ctx, s, server.Namespace(), k):
		return nil, suspension{}, tool.Errorf("mcpserver.read", tool.NotFound,
			"the MCP server %s offers no %s here", name, k.action())
	case f.end.result.Status != tool.Success:
		return nil, suspension{}, f.end.result.Err()
	}
	return f.end.result.Data, suspension{}, nil
}
