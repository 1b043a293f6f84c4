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

// settings are what an app file may say about the module.
type settings struct{ library.Settings }

func defaults() *settings { return &settings{*library.Defaults()} }

// Check reads the rules, so that a mistake is reported when the app is opened.
func (s *settings) Check() error { return s.PrepareFor(namespace) }

// Module returns the module for the kernel to open.
func Module() module.Module {
	return module.Module{
		Name: namespace, Summary: "Index folders of the workspace: find where code and documents speak of something, " +
			"what stands around it, and which files name which.",
		Settings: func() any { return defaults() }, Credential: true, NeedsSettings: true,
		Open: func(h module.Host) (*module.Instance, error) {
			usual := defaults()
			if err := usual.Check(); err != nil {
				return nil, err
			}
			s := &service{library.New(h), usual}
			return &module.Instance{Tools: s.tools(), Close: s.libraries.Close}, nil
		},
	}
}

type service struct {
	libraries *library.Service
	usual     *settings
}

// tools returns the tools of the module. A new tool is a definition, its description beside it,
// and a line here.
func (s *service) tools() []*tool.Tool {
	var all []*tool.Tool
	for _, d := range []module.Definition{
		s.queryTool(), s.contextTool(), s.relationsTool(), s.registerTool(), s.scanTool(), s.invalidateTool(),
	} {
		all = append(all, d.Tool(namespace))
	}
	return all
}

// indexCall is one call.
type indexCall struct {
	*library.Library
	op string
}

func handler[In any](
	s *service, name string, writes bool, run func(context.Context, *indexCall, In) (*tool.Result, error),
) tool.Handler {
	op := namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
		in, err := module.Args[In](op, call)
		if err != nil {
			return nil, err
		}
		set := &module.SettingsOf(grant, func() *settings { return s.usual }).Settings
		l, release, err := s.libraries.For(ctx, op, call, grant, set, writes)
		if err != nil {
			return nil, err
		}
		defer release()
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
