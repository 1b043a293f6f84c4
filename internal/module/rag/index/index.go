// Package index is the module that indexes sources of the workspace: folders that are registered
// once, scanned when they changed, and then answer questions about where something stands. It is
// thin over package library: a source is a knowledge base whose folder is known.
package index

import (
	"context"
	"encoding/json"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/rag/chunkstore"
	"callgate/internal/module/rag/library"
	"callgate/tool"
)

const namespace = "index"

// Module returns the module for the kernel to open. A new tool is a definition, its description
// beside it, and a line here.
func Module() module.Module {
	const summary = "Index folders of the workspace: find where code and documents speak of something, " +
		"what stands around it, and which files name which."
	return library.Module(namespace, summary, nil, func(t *library.Tools) []module.Definition {
		s := &service{t}
		return []module.Definition{
			s.queryTool(), s.contextTool(), s.relationsTool(), s.registerTool(), s.extractorTool(), s.scanTool(),
			s.invalidateTool(),
		}
	})
}

// service makes the tools.
type service struct{ *library.Tools }

// indexCall is one call.
type indexCall struct {
	*library.Library
	op string
}

func handler[In any](
	s *service, name string, writes bool, run func(context.Context, *indexCall, In) (*tool.Result, error),
) tool.Handler {
	return library.Handler(s.Tools, name, writes,
		func(ctx context.Context, l *library.Library, op string, in In) (*tool.Result, error) {
			return run(ctx, &indexCall{l, op}, in)
		})
}

func reads() tool.Runtime {
	return tool.Runtime{
		Effects: []tool.Effect{{Resource: "index:", Mode: tool.IS}},
		Risk:    tool.Low, SideEffect: tool.Read, Idempotent: true, Data: tool.DataSensitive, Network: true,
	}
}

func writes(more ...tool.Effect) tool.Runtime {
	return tool.Runtime{
		Effects: append(more, tool.Effect{Resource: "index:", Mode: tool.IX}),
		Risk:    tool.Low, SideEffect: tool.Write, Idempotent: true, Timeout: 30 * time.Minute, Network: true,
	}
}

// folder is what is known of a source: it is kept as the description of its base.
type folder struct {
	Path    string `json:"path"`
	Pattern string `json:"pattern,omitempty"`
	Ignored bool   `json:"ignored,omitempty"`

	Extractors []library.Extractor `json:"extractors,omitempty"`
}

func folderOf(base chunkstore.Base) (f folder, err error) {
	if err := json.Unmarshal([]byte(base.Description), &f); err != nil {
		return f, tool.Errorf(namespace, tool.Internal, "what is stored of the source %s is damaged: %w", base.Name, err).
			WithHint("register it again under another name")
	}
	return f, nil
}

// sources finds the sources that a call names, or all.
func (c *indexCall) sources(ctx context.Context, names ...string) ([]chunkstore.Base, error) {
	all, err := c.Bases(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, tool.Errorf(c.op, tool.NotFound, "no source is registered yet").
			WithHint(`register one and scan it: index.register_source {"source": "docs", "path": "docs"}`)
	}
	var some []chunkstore.Base
	for _, name := range names {
		if name == "" {
			continue
		}
		base, err := c.Base(ctx, name)
		if err != nil {
			return nil, noSource(err)
		}
		some = append(some, base)
	}
	if some == nil {
		return all, nil
	}
	return some, nil
}

// noSource calls a base what this module calls it.
func noSource(err error) error {
	if e, ok := err.(*tool.Error); ok && e.Kind == tool.NotFound {
		e.Message = "there is no such source"
	}
	return err
}

const sourceProperty = `"source": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$",
      "description": "The source, by its name"}`

var tags = []string{"index", "code", "documents", "search", "source", "folder", "Suche", "recherche"}
