package rag

import (
	"cmp"
	"context"
	_ "embed"

	"callgate/internal/module"
	"callgate/internal/module/rag/library"
	"callgate/internal/module/rag/ranking"
	"callgate/tool"
)

//go:embed query.md
var queryDoc string

//go:embed multi_query.md
var multiQueryDoc string

const searchProperties = `
    ` + basesProperty + `,
    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 5, "description": "How many passages to give at most."},
    "mode": {"type": "string", "enum": ["both", "keywords", "meaning"], "default": "both",
      "description": "What counts: the words of the question, its meaning, or both."},
    "under": {"type": "string", "minLength": 1, "description": "Only passages of this document, or of documents in this folder."}`

const queryInput = `{
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 200000, "description": "The question, in words."},` + searchProperties + `
  },
  "required": ["query"],
  "additionalProperties": false
}`

const multiQueryInput = `{
  "type": "object",
  "properties": {
    "queries": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 4000}, "minItems": 1, "maxItems": 8,
      "description": "The question in several wordings, or its parts."},` + searchProperties + `
  },
  "required": ["queries"],
  "additionalProperties": false
}`

const passagesOutput = `{
  "type": "object",
  "properties": {
    "passages": {"type": "array", "items": {"type": "object", "properties": {
      "base": {"type": "string"}, "document": {"type": "string"}, "title": {"type": "string"},
      "headings": {"type": "array", "items": {"type": "string"}},
      "place": {"type": "string", "description": "Where in the document, as lines 10-24 or page 3."},
      "citation": {"type": "string", "description": "The document and the place."},
      "unit": {"type": "string"}, "part": {"type": "string"}, "first": {"type": "integer"}, "last": {"type": "integer"},
      "score": {"type": "number"}, "keywords": {"type": "number"}, "meaning": {"type": "number"}, "text": {"type": "string"}
    }, "required": ["document", "place", "citation", "text", "score"]}}
  },
  "required": ["passages"]
}`

type queryArgs struct {
	Query   string       `json:"query"`
	Queries []string     `json:"queries"`
	Bases   []string     `json:"bases"`
	Limit   int          `json:"limit"`
	Mode    ranking.Mode `json:"mode"`
	Under   string       `json:"under"`
}

func (s *service) queryTool() module.Definition {
	r := reads()
	r.Effects, r.Network, r.MaxResult = []tool.Effect{{Resource: "rag:", Mode: tool.IS}}, true, maxPassages
	return module.Definition{
		Name: "query", Doc: queryDoc, Input: queryInput, Output: passagesOutput,
		Examples: []tool.Example{
			module.Example("a question", `{"query": "How long may a boat stay at the north quay?"}`),
			module.Example("in one folder, by words alone", `{"query": "ERR_2041", "under": "docs/errors", "mode": "keywords"}`),
		},
		Aliases: []string{
			"search_documents", "ask_documents", "search the knowledge base", "semantic search", "find a passage",
			"what do the documents say", "retrieve", "rechercher dans les documents", "interroger la base de connaissances",
			"Dokumente durchsuchen", "Wissensbasis fragen", "buscar en los documentos", "搜索文档", "文書を検索", "поиск по документам",
		},
		Tags:    []string{"search", "documents", "knowledge base", "rag", "citations", "question", "Suche", "recherche", "搜索"},
		Runtime: r,
		Handler: handler(s, "query", false, func(ctx context.Context, c *ragCall, in queryArgs) (*tool.Result, error) {
			in.Queries = []string{in.Query}
			return answer(ctx, c, in)
		}),
	}
}

func (s *service) multiQueryTool() module.Definition {
	d := s.queryTool()
	d.Name, d.Doc, d.Input = "multi_query", multiQueryDoc, multiQueryInput
	d.Examples = []tool.Example{
		module.Example("one question in three wordings",
			`{"queries": ["maximum stay at the quay", "how long may a boat moor", "mooring time limit"]}`),
	}
	d.Aliases = []string{
		"search_many", "several questions at once", "ask the documents in several wordings", "query expansion",
		"plusieurs recherches à la fois", "mehrere Suchen auf einmal", "varias búsquedas a la vez", "多个查询", "несколько запросов",
	}
	d.Handler = handler(s, "multi_query", false, answer)
	return d
}

// maxPassages bounds what a model is given of an answer.
const maxPassages = 48 << 10

func answer(ctx context.Context, c *ragCall, in queryArgs) (*tool.Result, error) {
	bases, err := c.bases(ctx, in.Bases)
	if err != nil {
		return nil, err
	}
	q := library.Question{Mode: cmp.Or(in.Mode, ranking.Both), Most: cmp.Or(in.Limit, 5), Under: in.Under}
	var a *library.Answer
	if len(in.Queries) == 1 {
		q.Text = in.Queries[0]
		a, err = c.Ask(ctx, bases, q)
	} else {
		a, err = c.AskAll(ctx, bases, in.Queries, q)
	}
	if err != nil {
		return nil, err
	}
	return library.Passages(a)
}

// bases finds the bases that a call names, or all.
func (c *ragCall) bases(ctx context.Context, names []string) ([]library.Base, error) {
	if len(names) > 0 {
		var some []library.Base
		for _, name := range names {
			base, err := c.Base(ctx, name)
			if err != nil {
				return nil, err
			}
			some = append(some, base)
		}
		return some, nil
	}
	all, err := c.Bases(ctx)
	if err == nil && len(all) == 0 {
		return nil, tool.Errorf(c.op, tool.NotFound, "nothing is ingested yet").
			WithHint("ingest documents first: rag.ingest_folder")
	}
	return all, err
}
