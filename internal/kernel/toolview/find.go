package toolview

import (
	"context"

	"callgate/internal/registry"
	"callgate/tool"
	"callgate/toolcatalog"
)

// FindBy returns the tools of the session that a filter selects, every version, by name.
func (v *View) FindBy(ctx context.Context, f toolcatalog.Filter, s toolcatalog.Scores) ([]Tool, error) {
	snap, err := v.maker.Tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	var all []*tool.Tool
	for _, t := range snap.View(v.caller.Place().Scope).Find(registry.Filter{}) {
		if !t.Runtime.Control && v.caller.Sees(t) {
			all = append(all, t)
		}
	}
	found, err := toolcatalog.Find(all, f, s)
	if err != nil {
		return nil, err
	}
	list := make([]Tool, len(found))
	for i, t := range found {
		list[i] = v.Of(t)
	}
	return list, nil
}

// SearchWords finds tools of the session by the words of a text, and not by what it means.
func (v *View) SearchWords(ctx context.Context, q toolcatalog.Query) ([]toolcatalog.Hit, error) {
	all, err := v.visible(ctx)
	if err != nil {
		return nil, err
	}
	return toolcatalog.Search(all, q), nil
}
