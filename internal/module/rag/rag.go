// Package rag is the module of knowledge bases: documents are ingested once and then answer
// questions, with passages that say where they stand. Package library says by which law.
package rag

import (
	"context"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/rag/library"
	"callgate/tool"
)

const namespace = "rag"

// settings are what an app file may say about the module.
type settings struct{ library.Settings }

func defaults() *settings { return &settings{*library.Defaults()} }

// Check reads the rules, so that a mistake is reported when the app is opened.
func (s *settings) Check() error { return s.PrepareFor(namespace) }

// Module returns the module for the kernel to open.
func Module() module.Module {
	return module.Module{
		Name: namespace, Summary: "Ask documents: ingest files, folders, texts and tables into knowledge bases, " +
			"and find the passages that answer a question, with where they stand.",
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
		s.queryTool(), s.multiQueryTool(), s.sqlQueryTool(),
		s.ingestTextTool(), s.ingestFileTool(), s.ingestFolderTool(), s.ingestDatabaseTool(),
		s.listTool(), s.statsTool(), s.createTool(), s.deleteTool(),
		s.listModelsTool(), s.migrateTool(), s.clearTool(),
	} {
		all = append(all, d.Tool(namespace))
	}
	return all
}

// The time of a call that reads many documents.
const ingestTime = 30 * time.Minute

// ragCall is one call.
type ragCall struct {
	*library.Library
	op       string
	grant    tool.Grant
	settings *library.Settings
}

func handler[In any](
	s *service, name string, writes bool, run func(context.Context, *ragCall, In) (*tool.Result, error),
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
		return run(ctx, &ragCall{l, op, grant, set}, in)
	})
}

// The resources that calls claim: the base that they read or change.
func reads() tool.Runtime {
	return tool.Runtime{
		Effects: []tool.Effect{{Resource: "rag:{base}", Mode: tool.IS}},
		Risk:    tool.Low, SideEffect: tool.Read, Idempotent: true, Data: tool.DataSensitive,
	}
}

func adds(more ...tool.Effect) tool.Runtime {
	return tool.Runtime{
		Effects: append(more, tool.Effect{Resource: "rag:{base}", Mode: tool.IX}),
		Risk:    tool.Low, SideEffect: tool.Write, Idempotent: true, Timeout: ingestTime, Network: true,
	}
}

func replaces() tool.Runtime {
	return tool.Runtime{
		Effects: []tool.Effect{{Resource: "rag:{base}", Mode: tool.X}},
		Risk:    tool.Medium, SideEffect: tool.Write, Idempotent: true, Timeout: ingestTime, Network: true,
	}
}

// mainBase is the base of calls that name none.
const mainBase = "main"

const baseProperty = `"base": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", "default": "main",
      "description": "The knowledge base."}`

const basesProperty = `"bases": {"type": "array", "maxItems": 16, "items": {"type": "string", "minLength": 1,
      "maxLength": 64}, "description": "The knowledge bases to ask; all of them unless given."}`

const reportOutput = `{
  "type": "object",
  "properties": {
    "base": {"type": "string"},
    "added": {"type": "integer"}, "updated": {"type": "integer"}, "unchanged": {"type": "integer"},
    "removed": {"type": "integer"}, "chunks": {"type": "integer", "description": "Chunks that were written."},
    "skipped": {"type": "array", "items": {"type": "object", "properties": {
      "document": {"type": "string"}, "why": {"type": "string"}}, "required": ["document", "why"]}},
    "skipped_count": {"type": "integer"},
    "warnings": {"type": "array", "items": {"type": "string"}}
  },
  "required": ["base", "added", "updated", "unchanged", "removed", "chunks"]
}`
