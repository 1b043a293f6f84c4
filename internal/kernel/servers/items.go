package servers

import (
	"context"
	"encoding/json"
	"slices"

	"callgate/internal/source/mcp"
	"callgate/internal/source/mcp/trust"
	"callgate/internal/source/mcp/trust/content"
	"callgate/tool"
)

// itemGuard holds a server's resources and prompts as its tools are held: what is
// listed first is pinned, and what changed, or in which the scan finds something
// serious, waits for a human. A prompt that is new waits too; a list of resources
// grows by itself, so a new one that is clean is shown.
type itemGuard struct{ set *Set }

var _ mcp.ItemGuard = itemGuard{}

// itemKey is the name under which a human's word on the items of a server is
// kept.
func itemKey(s *mcp.Server, kind mcp.ItemKind) string {
	suffix := map[mcp.ItemKind]string{
		mcp.ResourceItem: "-resources", mcp.TemplateItem: "-templates", mcp.PromptItem: "-prompts",
	}[kind]
	return trustKey(s) + suffix
}

// trustKeys are the names under which a human's word on anything of a server is
// kept.
func trustKeys(s *mcp.Server) []string {
	return []string{
		trustKey(s), itemKey(s, mcp.PromptItem), itemKey(s, mcp.ResourceItem), itemKey(s, mcp.TemplateItem),
	}
}

// itemName is what an item is called among all that is held of a server.
func itemName(kind mcp.ItemKind, name string) string { return string(kind) + " " + name }

// itemDefinition is an item as it is reviewed.
func itemDefinition(kind mcp.ItemKind, raw json.RawMessage) (d trust.Definition, ok bool) {
	var in struct {
		Name        string          `json:"name"`
		Title       string          `json:"title"`
		URI         string          `json:"uri"`
		URITemplate string          `json:"uriTemplate"`
		Description string          `json:"description"`
		Arguments   json.RawMessage `json:"arguments"`
		Annotations json.RawMessage `json:"annotations"`
	}
	if json.Unmarshal(raw, &in) != nil {
		return d, false
	}
	d = trust.Definition{
		Title: in.Title, Description: in.Description, Input: in.Arguments, Annotations: in.Annotations,
	}
	name := in.Name
	switch kind {
	case mcp.ResourceItem:
		name, d.Title = in.URI, titled(in.Name, in.Title)
	case mcp.TemplateItem:
		name, d.Title = in.URITemplate, titled(in.Name, in.Title)
	}
	d.Name = itemName(kind, name)
	return d, name != ""
}

// titled is a title with the name before it, where both are shown.
func titled(name, title string) string {
	if title == "" || title == name {
		return name
	}
	return name + ": " + title
}

// VetItems returns the items that may be listed.
func (g itemGuard) VetItems(s *mcp.Server, kind mcp.ItemKind, items []json.RawMessage) []json.RawMessage {
	names := make([]string, len(items))
	var definitions []trust.Definition
	for i, raw := range items {
		if d, ok := itemDefinition(kind, raw); ok {
			names[i] = d.Name
			definitions = append(definitions, d)
		}
	}
	options := trust.Options{
		Strict: g.set.pinned(s), Growing: kind == mcp.ResourceItem, Others: g.set.otherNames(s),
	}
	review, err := g.set.opt.Trust.Review(itemKey(s, kind), definitions, options)
	if err != nil {
		g.set.opt.Log.Error("the "+string(kind)+"s of an MCP server cannot be reviewed, so none is shown",
			"server", s.Config().Name, "error", err)
		return nil
	}
	for _, h := range review.Held {
		g.set.opt.Log.Warn("something of an MCP server is held back until a human accepts it",
			"server", s.Config().Name, "what", h.Definition.Name, "why", h.Reason)
	}
	shown := map[string]bool{}
	for _, d := range review.Published {
		shown[d.Name] = true
	}
	var list []json.RawMessage
	for i, raw := range items {
		if shown[names[i]] {
			list = append(list, raw)
		}
	}
	return list
}

// pinned reports whether an app wants a human to have seen all of a server. The
// items of a server are listed for all its apps together, so the strictest counts.
func (s *Set) pinned(server *mcp.Server) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sources := range s.byScope {
		for _, one := range sources {
			if one.Server == server && one.pin {
				return true
			}
		}
	}
	return false
}

// MayRead refuses to read an item that is held back. The list is read first where
// nobody has read it yet: what nobody looked at is not clean.
func (g itemGuard) MayRead(ctx context.Context, s *mcp.Server, kind mcp.ItemKind, name string) error {
	if kind == mcp.PromptItem {
		if _, err := s.ListPrompts(ctx); err != nil {
			return err
		}
	}
	held, err := g.set.opt.Trust.Pending(itemKey(s, kind))
	if err != nil {
		return err
	}
	same := func(h trust.Held) bool { return h.Definition.Name == itemName(kind, name) }
	at := slices.IndexFunc(held, same)
	if at < 0 && g.set.pinned(s) {
		if held, err = g.set.opt.Trust.Unreviewed(itemKey(s, kind)); err != nil {
			return err
		}
		at = slices.IndexFunc(held, same)
	}
	if at < 0 {
		return nil
	}
	const text = "the %s %s of the MCP server %s is held back until a human accepts it (%s)"
	return tool.Errorf("servers.read", tool.Denied, text, kind, tool.Truncate(name), s.Config().Name, held[at].Reason).
		WithHint("a human looks at it with: callgate mcp trust %s", s.Config().Name)
}

// MarkContent marks what was read where it looks like an attempt to steer a model.
func (g itemGuard) MarkContent(s *mcp.Server, read json.RawMessage) (json.RawMessage, string) {
	return content.Mark(s.Config().Name, read)
}

// decide hands a human's word on definitions to where each is kept.
func (s *Set) decide(
	server *mcp.Server, by string, refs []trust.DefinitionRef, say func(key, by string, refs ...trust.DefinitionRef) error,
) error {
	byKey := map[string][]trust.DefinitionRef{}
	for _, ref := range refs {
		key, err := s.keeperOf(server, ref)
		if err != nil {
			return err
		}
		byKey[key] = append(byKey[key], ref)
	}
	for _, key := range trustKeys(server) {
		if len(byKey[key]) > 0 {
			if err := say(key, by, byKey[key]...); err != nil {
				return err
			}
		}
	}
	return nil
}

// keeperOf returns the key under which a definition is kept: that of the tools,
// unless it is an item's.
func (s *Set) keeperOf(server *mcp.Server, ref trust.DefinitionRef) (string, error) {
	keys := trustKeys(server)
	for _, key := range keys[1:] {
		held, err := s.opt.Trust.Pending(key)
		if err != nil {
			return "", err
		}
		unseen, err := s.opt.Trust.Unreviewed(key)
		if err != nil {
			return "", err
		}
		for _, h := range append(held, unseen...) {
			if h.Ref() == ref {
				return key, nil
			}
		}
	}
	return keys[0], nil
}
