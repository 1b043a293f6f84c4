package index

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/rag/chunkstore"
	"callgate/internal/module/rag/library"
	"callgate/tool"
)

//go:embed register_source.md
var registerDoc string

//go:embed scan.md
var scanDoc string

//go:embed invalidate.md
var invalidateDoc string

const registerInput = `{
  "type": "object",
  "properties": {
    ` + sourceProperty + `,
    "path": {"type": "string", "minLength": 1, "description": "The folder, relative to the workspace or absolute inside it."},
    "pattern": {"type": "string", "minLength": 1, "description": "Only files that match, as **/*.go; every known kind unless given."},
    "ignored": {"type": "boolean", "default": false, "description": "Index too what .gitignore and .ignore files name."}
  },
  "required": ["source", "path"],
  "additionalProperties": false
}`

const registerOutput = `{
  "type": "object",
  "properties": {"source": {"type": "string"}, "path": {"type": "string"}, "known": {"type": "boolean"}},
  "required": ["source", "path", "known"]
}`

const scanInput = `{
  "type": "object",
  "properties": {` + sourceProperty + `},
  "additionalProperties": false
}`

const scanOutput = `{
  "type": "object",
  "properties": {"sources": {"type": "array", "items": {"type": "object", "properties": {
    "source": {"type": "string"}, "added": {"type": "integer"}, "updated": {"type": "integer"},
    "unchanged": {"type": "integer"}, "removed": {"type": "integer"}, "chunks": {"type": "integer"},
    "skipped_count": {"type": "integer"}
  }, "required": ["source", "added", "updated", "unchanged", "removed", "chunks"]}}},
  "required": ["sources"]
}`

const invalidateInput = `{
  "type": "object",
  "properties": {
    ` + sourceProperty + `,
    "document": {"type": "string", "minLength": 1, "description": "Only this document, by its path."}
  },
  "required": ["source"],
  "additionalProperties": false
}`

const invalidateOutput = `{
  "type": "object",
  "properties": {"source": {"type": "string"}, "documents": {"type": "integer"}},
  "required": ["source", "documents"]
}`

type sourceArgs struct {
	Source   string `json:"source"`
	Path     string `json:"path"`
	Pattern  string `json:"pattern"`
	Ignored  bool   `json:"ignored"`
	Document string `json:"document"`
}

func (s *service) registerTool() module.Definition {
	return module.Definition{
		Name: "register_source", Doc: registerDoc, Input: registerInput, Output: registerOutput,
		Examples: []tool.Example{module.Example("the Go code", `{"source": "code", "path": "internal", "pattern": "**/*.go"}`)},
		Aliases: []string{
			"add_source", "index a folder", "register a folder for the index", "watch this folder for search",
			"indexer ce dossier", "Ordner zum Index hinzufügen", "añadir carpeta al índice", "注册索引源", "добавить папку в индекс",
		},
		Tags: tags, Runtime: writes(tool.Effect{Resource: "file:{path}", Mode: tool.S}),
		Handler: handler(s, "register_source", true, register),
	}
}

func register(ctx context.Context, c *indexCall, in sourceArgs) (*tool.Result, error) {
	f := folder{Path: strings.TrimSuffix(in.Path, "/"), Pattern: in.Pattern, Ignored: in.Ignored}
	stored, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	if err := c.CheckFolder(f.Path); err != nil {
		return nil, err
	}
	model, err := c.ModelID()
	if err != nil {
		return nil, err
	}
	known := false
	_, err = c.Create(ctx, chunkstore.Base{Name: in.Source, Description: string(stored), Model: model})
	if tool.KindOf(err) == tool.Conflict {
		base, problem := c.Base(ctx, in.Source)
		if problem != nil {
			return nil, problem
		}
		was, problem := folderOf(base)
		if problem != nil {
			return nil, problem
		}
		if was.Path != f.Path || was.Pattern != f.Pattern || was.Ignored != f.Ignored {
			return nil, tool.Errorf(c.op, tool.Conflict, "the source %s is another folder or pattern already", in.Source).
				WithHint("choose another name")
		}
		known, err = true, nil
	}
	if err != nil {
		return nil, err
	}
	return module.InWords(in.Source+" is registered; index.scan reads it",
		map[string]any{"source": in.Source, "path": f.Path, "known": known})
}

func (s *service) scanTool() module.Definition {
	return module.Definition{
		Name: "scan", Doc: scanDoc, Input: scanInput, Output: scanOutput,
		Examples: []tool.Example{module.Example("every source", `{}`), module.Example("one", `{"source": "code"}`)},
		Aliases: []string{
			"reindex", "update_index", "refresh the index", "read what changed", "actualiser l'index", "Index auffrischen",
			"actualizar el índice", "更新索引", "обновить индекс",
		},
		Tags: tags, Runtime: writes(tool.Effect{Resource: "workspace", Mode: tool.IS}),
		Handler: handler(s, "scan", true, scan),
	}
}

// scanned is what a scan did to a source.
type scanned struct {
	Source string `json:"source"`
	*library.Report
}

func scan(ctx context.Context, c *indexCall, in sourceArgs) (*tool.Result, error) {
	bases, err := c.sources(ctx, in.Source)
	if err != nil {
		return nil, err
	}
	all, lines := []scanned{}, []string{}
	for _, base := range bases {
		f, err := folderOf(base)
		if err != nil {
			return nil, err
		}
		if base, err = c.sameModel(ctx, base); err != nil {
			return nil, err
		}
		report, err := c.IngestFolder(ctx, base, library.Folder{
			Path: f.Path, Pattern: f.Pattern, Ignored: f.Ignored, Extractors: f.Extractors,
		})
		if err != nil {
			return nil, err
		}
		all, lines = append(all, scanned{base.Name, report}), append(lines, report.Summary(base.Name))
	}
	return module.InWords(strings.Join(lines, "\n"), map[string]any{"sources": all})
}

// sameModel computes the vectors of a source anew where the app uses another model now.
func (c *indexCall) sameModel(ctx context.Context, base chunkstore.Base) (chunkstore.Base, error) {
	model, err := c.ModelID()
	if err != nil || model == base.Model {
		return base, err
	}
	if _, _, err := c.Migrate(ctx, base); err != nil {
		return base, err
	}
	return c.Base(ctx, base.Name)
}

func (s *service) invalidateTool() module.Definition {
	return module.Definition{
		Name: "invalidate", Doc: invalidateDoc, Input: invalidateInput, Output: invalidateOutput,
		Examples: []tool.Example{module.Example("a source", `{"source": "code"}`)},
		Aliases: []string{
			"invalidate_index", "forget what was read", "force a rescan", "invalider l'index", "Index ungültig machen",
			"invalidar el índice", "使索引失效", "сбросить индекс",
		},
		Tags: tags, Runtime: writes(),
		Handler: handler(s, "invalidate", true, func(ctx context.Context, c *indexCall, in sourceArgs) (*tool.Result, error) {
			base, err := c.Base(ctx, in.Source)
			if err != nil {
				return nil, noSource(err)
			}
			n, err := c.Invalidate(ctx, base, in.Document)
			if err != nil {
				return nil, err
			}
			if n == 0 && in.Document != "" {
				return nil, tool.Errorf(c.op, tool.NotFound, "%s is not in %s", tool.Truncate(in.Document), in.Source).
					WithHint("give its path as citations have it")
			}
			return module.InWords(fmt.Sprintf("the next scan reads %s of %s anew", amount.Of(n, "document"), in.Source),
				map[string]any{"source": cmp.Or(in.Source), "documents": n})
		}),
	}
}
