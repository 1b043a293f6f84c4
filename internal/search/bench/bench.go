// Package bench runs the search engine on a dataset: with keywords alone, with
// meaning alone, and with both.
package bench

import (
	"context"
	"strings"

	"callgate/internal/search"
	"callgate/internal/search/eval"
	"callgate/tool"
)

// Engine is one way to search.
type Engine struct {
	Name   string
	Search eval.Searcher
}

// Engines makes the engines for a dataset.
func Engines(ctx context.Context, set *eval.Set, embedder search.Embedder) ([]Engine, error) {
	tools := Tools(set)
	ids := make(map[*tool.Tool]string, len(tools))
	for i, t := range tools {
		ids[t] = set.Tools[i].ID
	}
	var engines []Engine
	for _, e := range []struct {
		name     string
		embedder search.Embedder
		mode     search.Mode
	}{{"keywords", nil, search.Keywords}, {"meaning", embedder, search.Semantic}, {"both", embedder, search.Both}} {
		index := search.New(search.Options{Embedder: e.embedder})
		catalog, err := index.Catalog(ctx, tools)
		if err != nil {
			return nil, err
		}
		engines = append(engines, Engine{e.name, func(query string, k int) []string {
			r, err := catalog.Search(ctx, search.Request{Queries: []string{query}, Limit: k, Mode: e.mode})
			if err != nil || len(r.Answers) == 0 {
				return nil
			}
			found := make([]string, len(r.Answers[0].Hits))
			for i, h := range r.Answers[0].Hits {
				found[i] = ids[h.Tool]
			}
			return found
		}})
	}
	return engines, nil
}

// Tools converts the tools of a dataset. The module of a tool is its server, as
// for the tools of an MCP server.
func Tools(set *eval.Set) []*tool.Tool {
	tools := make([]*tool.Tool, len(set.Tools))
	for i, in := range set.Tools {
		t := &tool.Tool{
			ID:   tool.ID{Name: in.Name, Version: tool.Version{Major: 1}},
			Spec: tool.Spec{Description: in.Description, Input: in.Parameters},
		}
		if in.Server != "" {
			t.ID.Namespace = "mcp_" + in.Server[strings.LastIndexByte(in.Server, '/')+1:]
		}
		tools[i] = t
	}
	return tools
}
