package index

import (
	"cmp"
	"context"
	_ "embed"
	"slices"

	"callgate/internal/doctext"
	"callgate/internal/module"
	"callgate/internal/module/rag/chunkstore"
	"callgate/internal/module/rag/library"
	"callgate/internal/module/rag/ranking"
	"callgate/tool"
)

//go:embed query.md
var queryDoc string

//go:embed context.md
var contextDoc string

const queryInput = `{
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 4000, "description": "What is looked for, in words or by name."},
    ` + sourceProperty + `,
    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 8, "description": "How many passages to give at most."},
    "mode": {"type": "string", "enum": ["both", "keywords", "meaning"], "default": "both",
      "description": "What counts: words, meaning, or both."},
    "under": {"type": "string", "minLength": 1, "description": "Only this document, or documents in this folder."}
  },
  "required": ["query"],
  "additionalProperties": false
}`

const contextInput = `{
  "type": "object",
  "properties": {
    "document": {"type": "string", "minLength": 1, "description": "The document, by its path."},
    "at": {"type": "integer", "minimum": 1, "default": 1, "description": "The line, page, slide or row."},
    "around": {"type": "integer", "minimum": 0, "maximum": 10, "default": 1,
      "description": "How many passages before it and after it to give, too."},
    ` + sourceProperty + `
  },
  "required": ["document"],
  "additionalProperties": false
}`

const passagesOutput = `{
  "type": "object",
  "properties": {
    "passages": {"type": "array", "items": {"type": "object", "properties": {
      "base": {"type": "string"}, "document": {"type": "string"}, "title": {"type": "string"},
      "headings": {"type": "array", "items": {"type": "string"}}, "place": {"type": "string"}, "citation": {"type": "string"},
      "first": {"type": "integer"}, "last": {"type": "integer"}, "score": {"type": "number"}, "text": {"type": "string"}
    }, "required": ["document", "place", "citation", "text"]}}
  },
  "required": ["passages"]
}`

type queryArgs struct {
	Query    string       `json:"query"`
	Source   string       `json:"source"`
	Limit    int          `json:"limit"`
	Mode     ranking.Mode `json:"mode"`
	Under    string       `json:"under"`
	Document string       `json:"document"`
	At       int          `json:"at"`
	Around   *int         `json:"around"`
}

func (s *service) queryTool() module.Definition {
	r := reads()
	r.MaxResult = 48 << 10
	return module.Definition{
		Name: "query", Doc: queryDoc, Input: queryInput, Output: passagesOutput,
		Examples: []tool.Example{module.Example("where something is done", `{"query": "where are file locks released"}`)},
		Aliases: []string{
			"search_code", "search the index", "where is this done", "find code by meaning", "chercher dans le code",
			"Code durchsuchen", "buscar en el código", "搜索代码", "поиск по коду",
		},
		Tags: tags, Runtime: r,
		Handler: handler(s, "query", false, func(ctx context.Context, c *indexCall, in queryArgs) (*tool.Result, error) {
			bases, err := c.sources(ctx, in.Source)
			if err != nil {
				return nil, err
			}
			a, err := c.Ask(ctx, bases, library.Question{
				Text: in.Query, Mode: cmp.Or(in.Mode, ranking.Both), Most: cmp.Or(in.Limit, 8), Under: in.Under,
			})
			if err != nil {
				return nil, err
			}
			return library.Passages(a)
		}),
	}
}

func (s *service) contextTool() module.Definition {
	r := reads()
	r.MaxResult = 48 << 10
	return module.Definition{
		Name: "context", Doc: contextDoc, Input: contextInput, Output: passagesOutput,
		Examples: []tool.Example{module.Example("around a line", `{"document": "internal/gate/gate.go", "at": 120}`)},
		Aliases: []string{
			"show_context", "what stands around this place", "passage at a line", "ce qu'il y a autour", "Umgebung einer Stelle",
			"contexto de un pasaje", "上下文", "контекст места",
		},
		Tags: tags, Runtime: r, Handler: handler(s, "context", false, around),
	}
}

// around gives the passage at a place of a document, and those beside it.
func around(ctx context.Context, c *indexCall, in queryArgs) (*tool.Result, error) {
	bases, err := c.sources(ctx, in.Source)
	if err != nil {
		return nil, err
	}
	beside := 1
	if in.Around != nil {
		beside = *in.Around
	}
	for _, base := range bases {
		chunks, err := c.OfDocument(ctx, base, in.Document)
		if err != nil {
			return nil, err
		}
		if len(chunks) == 0 {
			continue
		}
		at := slices.IndexFunc(chunks, func(k chunkstore.Chunk) bool { return k.Last >= max(in.At, 1) })
		if at < 0 {
			at = len(chunks) - 1
		}
		a := &library.Answer{}
		for _, k := range chunks[max(0, at-beside):min(len(chunks), at+beside+1)] {
			a.Passages = append(a.Passages, library.PassageOf(base.Name, k))
		}
		return library.Passages(a)
	}
	return nil, c.noDocument(in.Document)
}

func (c *indexCall) noDocument(name string) error {
	return tool.Errorf(c.op, tool.NotFound, "%s is not in the index", tool.Truncate(name)).
		WithHint("give its path as citations have it; index.scan reads files that are new")
}

// lineOf is where a passage begins, for lists.
func lineOf(c chunkstore.Chunk) string {
	return c.Document + ", " + doctext.PlaceOf(c.Unit, c.Part, c.First, c.Last)
}
