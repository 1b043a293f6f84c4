package rag

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/internal/module/rag/library"
	"callgate/tool"
)

//go:embed create.md
var createDoc string

//go:embed delete.md
var deleteDoc string

//go:embed list.md
var listDoc string

//go:embed stats.md
var statsDoc string

const createInput = `{
  "type": "object",
  "properties": {
    ` + baseProperty + `,
    "description": {"type": "string", "maxLength": 1000, "description": "What is in it, for those who choose among several."},
    "keywords_only": {"type": "boolean", "default": false, "description": "Search it by words alone, without vectors."}
  },
  "required": ["base"],
  "additionalProperties": false
}`

const oneBaseInput = `{
  "type": "object",
  "properties": {` + baseProperty + `},
  "additionalProperties": false
}`

const baseRequiredInput = `{
  "type": "object",
  "properties": {` + baseProperty + `},
  "required": ["base"],
  "additionalProperties": false
}`

const noInput = `{"type": "object", "properties": {}, "additionalProperties": false}`

const baseOutput = `{
  "type": "object",
  "properties": {
    "base": {"type": "string"}, "description": {"type": "string"},
    "model": {"type": "string", "description": "Whose vectors it has; empty: it is searched by words alone."},
    "created": {"type": "string"}, "documents": {"type": "integer"}, "chunks": {"type": "integer"}, "bytes": {"type": "integer"}
  },
  "required": ["base", "model", "documents", "chunks", "bytes"]
}`

const listOutput = `{
  "type": "object",
  "properties": {"bases": {"type": "array", "items": ` + baseOutput + `}},
  "required": ["bases"]
}`

const statsOutput = `{
  "type": "object",
  "properties": {
    "base": {"type": "string"}, "description": {"type": "string"}, "model": {"type": "string"}, "created": {"type": "string"},
    "documents": {"type": "integer"}, "chunks": {"type": "integer"}, "bytes": {"type": "integer"},
    "formats": {"type": "object", "additionalProperties": {"type": "integer"}, "description": "Documents of each format."},
    "document_list": {"type": "array", "items": {"type": "object", "properties": {
      "name": {"type": "string"}, "title": {"type": "string"}, "format": {"type": "string"}, "chunks": {"type": "integer"},
      "bytes": {"type": "integer"}, "ingested": {"type": "string"}}, "required": ["name", "format", "chunks"]}},
    "truncated": {"type": "boolean", "description": "There are more documents than are listed."}
  },
  "required": ["base", "documents", "chunks", "formats", "document_list", "truncated"]
}`

var baseTags = []string{"knowledge base", "documents", "rag", "collection", "Wissensbasis", "base de connaissances"}

// baseData is what a program is told of a base.
type baseData struct {
	Base        string `json:"base"`
	Description string `json:"description,omitempty"`
	Model       string `json:"model"`
	Created     string `json:"created,omitempty"`
	Documents   int    `json:"documents"`
	Chunks      int    `json:"chunks"`
	Bytes       int64  `json:"bytes"`
}

func dataOf(b library.Base) baseData {
	return baseData{b.Name, b.Description, b.Model, b.Created.UTC().Format(time.RFC3339), b.Documents, b.Chunks, b.Bytes}
}

func (d baseData) line() string {
	text := fmt.Sprintf("%s: %s, %s", d.Base, amount.Of(d.Documents, "document"), amount.Of(d.Chunks, "chunk"))
	if d.Description != "" {
		text += "; " + fence.Value(d.Description)
	}
	return text
}

type createArgs struct {
	Base         string `json:"base"`
	Description  string `json:"description"`
	KeywordsOnly bool   `json:"keywords_only"`
}

func (s *service) createTool() module.Definition {
	r := adds()
	r.Idempotent = false // a second time it is there already
	return module.Definition{
		Name: "create", Doc: createDoc, Input: createInput, Output: baseOutput,
		Examples: []tool.Example{module.Example("a base for contracts",
			`{"base": "contracts", "description": "Contracts with suppliers since 2020"}`)},
		Aliases: []string{
			"create_knowledge_base", "new_knowledge_base", "create_kb", "make a knowledge base", "new collection of documents",
			"créer une base de connaissances", "Wissensbasis anlegen", "crear una base de conocimiento", "创建知识库", "создать базу знаний",
		},
		Tags: baseTags, Runtime: r,
		Handler: handler(s, "create", true, func(ctx context.Context, c *ragCall, in createArgs) (*tool.Result, error) {
			b := library.Base{Name: in.Base, Description: in.Description}
			if !in.KeywordsOnly {
				var err error
				if b.Model, err = c.ModelID(); err != nil {
					return nil, err
				}
			}
			b, err := c.Create(ctx, b)
			if err != nil {
				return nil, err
			}
			return module.InWords(b.Name+" is there now, and empty", dataOf(b))
		}),
	}
}

func (s *service) deleteTool() module.Definition {
	r := replaces()
	r.Risk = tool.High // nothing brings back what is gone, and texts lie nowhere else
	return module.Definition{
		Name: "delete", Doc: deleteDoc, Input: baseRequiredInput, Output: baseOutput,
		Examples: []tool.Example{module.Example("a base that nobody asks any more", `{"base": "contracts"}`)},
		Aliases: []string{
			"delete_knowledge_base", "delete_kb", "drop_knowledge_base", "remove a knowledge base", "forget all documents",
			"supprimer une base de connaissances", "Wissensbasis löschen", "borrar la base de conocimiento", "删除知识库", "удалить базу знаний",
		},
		Tags: baseTags, Runtime: r,
		Handler: handler(s, "delete", true, func(ctx context.Context, c *ragCall, in createArgs) (*tool.Result, error) {
			b, err := c.Base(ctx, in.Base)
			if err != nil {
				return nil, err
			}
			if err := c.Delete(ctx, b); err != nil {
				return nil, err
			}
			return module.InWords(fmt.Sprintf("%s is deleted, with %s", b.Name, amount.Of(b.Documents, "document")), dataOf(b))
		}),
	}
}

func (s *service) listTool() module.Definition {
	r := reads()
	r.Effects = []tool.Effect{{Resource: "rag:", Mode: tool.IS}}
	return module.Definition{
		Name: "list", Doc: listDoc, Input: noInput, Output: listOutput,
		Examples: []tool.Example{module.Example("all of them", `{}`)},
		Aliases: []string{
			"list_knowledge_bases", "list_kb", "which knowledge bases are there", "list collections",
			"lister les bases de connaissances", "Wissensbasen auflisten", "listar bases de conocimiento", "列出知识库", "список баз знаний",
		},
		Tags: baseTags, Runtime: r,
		Handler: handler(s, "list", false, func(ctx context.Context, c *ragCall, _ struct{}) (*tool.Result, error) {
			all, err := c.Bases(ctx)
			if err != nil {
				return nil, err
			}
			data, lines := []baseData{}, []string{}
			for _, b := range all {
				data = append(data, dataOf(b))
				lines = append(lines, dataOf(b).line())
			}
			text := strings.Join(lines, "\n")
			if text == "" {
				text = "there is no knowledge base yet"
			}
			return module.InWords(text, map[string]any{"bases": data})
		}),
	}
}

// maxListed bounds the documents that stats lists.
const maxListed = 500

type documentData struct {
	Name     string `json:"name"`
	Title    string `json:"title,omitempty"`
	Format   string `json:"format"`
	Chunks   int    `json:"chunks"`
	Bytes    int64  `json:"bytes"`
	Ingested string `json:"ingested"`
}

func (s *service) statsTool() module.Definition {
	return module.Definition{
		Name: "stats", Doc: statsDoc, Input: oneBaseInput, Output: statsOutput,
		Examples: []tool.Example{module.Example("of the usual base", `{}`)},
		Aliases: []string{
			"knowledge_base_stats", "what is in the knowledge base", "which documents are ingested", "how many chunks",
			"statistiques de la base", "Statistik der Wissensbasis", "estadísticas de la base", "知识库统计", "статистика базы знаний",
		},
		Tags: baseTags, Runtime: reads(), Handler: handler(s, "stats", false, stats),
	}
}

func stats(ctx context.Context, c *ragCall, in createArgs) (*tool.Result, error) {
	b, err := c.Base(ctx, cmp.Or(in.Base, mainBase))
	if err != nil {
		return nil, err
	}
	all, err := c.Documents(ctx, b)
	if err != nil {
		return nil, err
	}
	data := struct {
		baseData
		Formats   map[string]int `json:"formats"`
		Listed    []documentData `json:"document_list"`
		Truncated bool           `json:"truncated"`
	}{dataOf(b), map[string]int{}, []documentData{}, len(all) > maxListed}
	var text strings.Builder
	text.WriteString(dataOf(b).line() + "\n")
	for i, d := range all {
		data.Formats[d.Format]++
		if i < maxListed {
			data.Listed = append(data.Listed, documentData{
				d.Name, d.Title, d.Format, d.Chunks, d.Bytes, d.Ingested.UTC().Format(time.RFC3339),
			})
			fmt.Fprintf(&text, "%s: %s\n", fence.Value(d.Name), amount.Of(d.Chunks, "chunk"))
		}
	}
	r, err := tool.OK(dataOf(b).line(), data)
	if err == nil {
		r.Content = []tool.Content{tool.Text(strings.TrimSpace(text.String()))}
	}
	return r, err
}
