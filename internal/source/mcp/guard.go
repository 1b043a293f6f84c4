package mcp

import (
	"context"
	"encoding/json"
)

// ItemKind is a kind of what a server has beside tools.
type ItemKind string

// The kinds.
const (
	ResourceItem ItemKind = "resource"
	TemplateItem ItemKind = "resource template"
	PromptItem   ItemKind = "prompt"
)

// ItemGuard decides what of a server's resources and prompts is shown, as
// Options.Vet does for its tools.
type ItemGuard interface {
	// VetItems returns the items that may be listed.
	VetItems(s *Server, kind ItemKind, items []json.RawMessage) []json.RawMessage
	// MayRead refuses, with an error, to read an item that is held back.
	MayRead(ctx context.Context, s *Server, kind ItemKind, name string) error
	// MarkContent returns what was read, marked where it looks like an attempt to
	// steer a model, and a line on that, or "".
	MarkContent(s *Server, read json.RawMessage) (marked json.RawMessage, warning string)
}

// openGuard lets everything through.
type openGuard struct{}

func (openGuard) VetItems(_ *Server, _ ItemKind, items []json.RawMessage) []json.RawMessage {
	return items
}

func (openGuard) MayRead(context.Context, *Server, ItemKind, string) error { return nil }

func (openGuard) MarkContent(_ *Server, read json.RawMessage) (json.RawMessage, string) {
	return read, ""
}

// guarded is the guard of one server.
type guarded struct {
	ItemGuard
	server *Server
}

// list lists items without those that are held back.
func (g guarded) list(kind ItemKind, items []json.RawMessage, err error) ([]json.RawMessage, error) {
	if err != nil || len(items) == 0 {
		return items, err
	}
	return g.VetItems(g.server, kind, items), nil
}

// read reads an item, if it is not held back.
func (g guarded) read(
	ctx context.Context, i item, read func() (json.RawMessage, error),
) (raw json.RawMessage, warning string, err error) {
	kind := ResourceItem
	if i.method == getPrompt {
		kind = PromptItem
	}
	if err := g.MayRead(ctx, g.server, kind, i.name); err != nil {
		return nil, "", err
	}
	if raw, err = read(); err != nil {
		return nil, "", err
	}
	raw, warning = g.MarkContent(g.server, raw)
	return raw, warning, nil
}
