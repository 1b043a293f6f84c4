// Package bench tries the search engine on a dataset: keywords alone, meaning
// alone, and both.
package bench

import (
	"context"
	"strings"

	"callgate/internal/search"
	"callgate/internal/search/eval"
	"callgate/tool"
)

// Engine is one way to search, by name.
type Engine struct {
	Name   string
	Search eval.Searcher
}

// Engines makes the engines that a dataset is tried with.
func Engines(ctx context.Context, set *eval.Set, embedder search.Embedder) ([]Engine, error) {
	tools := Tools(set)
	ids := make(map[*tool.Tool]string, len(tools))
	for i, t := range tools {
		ids[t] = set.Tools[i].ID
	}
	var engines []Engine
	for _, way := range []struct {
		name     string
		embedder search.Embedder
		only     search.Mode
	}{{"keywords", nil, search.Keywords}, {"meaning", embedder, search.Semantic}, {"both", embedder, search.Both}} {
		index := search.New(search.Options{Embedder: way.embedder})
		catalog, err := index.Catalog(ctx, tools)
		if err != nil {
			return nil, err
		}
		engines = append(engines, Engine{way.name, func(query string, k int) []string {
			r, err := catalog.Search(ctx, search.Request{Queries: []string{query}, Limit: k, Half: way.only})
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

// Tools makes tools of a dataset's. A tool that has a server has its name for
// a module, as the tools of an MCP server do.
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
