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

// Module returns the module for the kernel to open. A new tool is a definition, its description
// beside it, and a line here.
func Module() module.Module { return With(nil) }

// With is the module with knowledge bases that several kernels share; nil: there are none.
func With(shared library.SharedBases) module.Module {
	const summary = "Ask documents: ingest files, folders, texts and tables into knowledge bases, " +
		"and find the passages that answer a question, with where they stand."
	return library.Module(namespace, summary, shared, func(t *library.Tools) []module.Definition {
		s := &service{t}
		return []module.Definition{
			s.queryTool(), s.multiQueryTool(), s.sqlQueryTool(),
			s.ingestTextTool(), s.ingestFileTool(), s.ingestFolderTool(), s.ingestDatabaseTool(),
			s.listTool(), s.statsTool(), s.createTool(), s.deleteTool(),
			s.listModelsTool(), s.migrateTool(), s.clearTool(),
		}
	})
}

// service makes the tools.
type service struct{ *library.Tools }

// The time of a call that reads many documents.
const ingestTime = 30 * time.Minute

// ragCall is one call.
type ragCall struct {
	*library.Library
	op string
}

func handler[In any](
	s *service, name string, writes bool, run func(context.Context, *ragCall, In) (*tool.Result, error),
) tool.Handler {
	return library.Handler(s.Tools, name, writes,
		func(ctx context.Context, l *library.Library, op string, in In) (*tool.Result, error) {
			return run(ctx, &ragCall{l, op}, in)
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

const baseProperty = `"base": {"type": "string", "pattern": "^(shared/)?[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$",
      "default": "main", "description": "The knowledge base. One whose name begins with shared/ is one at all nodes, in each folder."}`

const basesProperty = `"bases": {"type": "array", "maxItems": 16, "items": {"type": "string", "minLength": 1,
      "maxLength": 80}, "description": "The knowledge bases to ask; all of them unless given."}`

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
