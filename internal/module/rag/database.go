package rag

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/rag/library"
	"callgate/tool"
)

//go:embed ingest_database.md
var ingestDatabaseDoc string

//go:embed sql_query.md
var sqlQueryDoc string

const ingestDatabaseInput = `{
  "type": "object",
  "properties": {
    "connection_id": {"type": "string", "minLength": 1, "maxLength": 64,
      "description": "The connection of the module database to read from. Default: main, where no path is given."},
    "path": {"type": "string", "minLength": 1,
      "description": "A SQLite file instead of a connection, relative to the workspace or absolute inside it."},
    "table": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The table or view to ingest."},
    "query": {"type": "string", "minLength": 1, "maxLength": 20000, "description": "A SELECT whose rows are ingested, instead of a table."},
    "id_column": {"type": "string", "minLength": 1, "maxLength": 200,
      "description": "The column that rows are known and cited by. Default: the primary key of a table; rows without one are numbered."},
    "name": {"type": "string", "minLength": 1, "maxLength": 200, "description": "What the rows of a query are called in citations."},
    ` + baseProperty + `
  },
  "additionalProperties": false
}`

const sqlQueryInput = `{
  "type": "object",
  "properties": {
    "sql": {"type": "string", "minLength": 1, "maxLength": 20000, "description": "One SELECT of SQLite."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100, "description": "How many rows to give at most."}
  },
  "required": ["sql"],
  "additionalProperties": false
}`

const sqlQueryOutput = `{
  "type": "object",
  "properties": {
    "columns": {"type": "array", "items": {"type": "object"}},
    "rows": {"type": "array", "items": {"type": "array"}},
    "row_count": {"type": "integer"}, "truncated": {"type": "boolean"}
  },
  "required": ["columns", "rows", "row_count", "truncated"]
}`

type databaseArgs struct {
	Base       string `json:"base"`
	Connection string `json:"connection_id"`
	Path       string `json:"path"`
	Table      string `json:"table"`
	Query      string `json:"query"`
	IDColumn   string `json:"id_column"`
	Name       string `json:"name"`
}

func (s *service) ingestDatabaseTool() module.Definition {
	return module.Definition{
		Name: "ingest_database", Doc: ingestDatabaseDoc, Input: ingestDatabaseInput, Output: reportOutput,
		Examples: []tool.Example{
			module.Example("a table of the connection main", `{"table": "products"}`),
			module.Example("what a query gives on another", `{"connection_id": "shop", "name": "open tickets",
        "query": "SELECT id, title, body FROM tickets WHERE closed IS NULL ORDER BY id", "id_column": "id"}`),
			module.Example("a table of a SQLite file", `{"path": "shop.db", "table": "products"}`),
		},
		Aliases: []string{
			"ingest_table", "index_database", "index the rows of a database", "search a table by meaning",
			"indexer une base de données", "Datenbank in die Wissensbasis aufnehmen", "indexar una base de datos",
			"索引数据库", "проиндексировать базу данных",
		},
		Tags:    append([]string{"sqlite", "postgres", "mariadb", "table", "rows"}, ingestTags...),
		Runtime: adds(tool.Effect{Resource: "file:{path}", Mode: tool.S}),
		Handler: handler(s, "ingest_database", true, ingestDatabase),
	}
}

func ingestDatabase(ctx context.Context, c *ragCall, in databaseArgs) (*tool.Result, error) {
	if (in.Table == "") == (in.Query == "") {
		return nil, tool.Errorf(c.op, tool.Invalid, "name a table or give a query, one of them").
			WithHint(`{"table": "products"}`)
	}
	if in.Path != "" && in.Connection != "" {
		return nil, tool.Errorf(c.op, tool.Invalid, "give a connection_id or the path of a file, one of them")
	}
	rows := library.Rows{
		Path: in.Path, Connection: cmp.Or(in.Connection, "main"), Table: in.Table, Query: in.Query, Name: in.Name,
	}
	if in.IDColumn != "" {
		rows.Key = []string{in.IDColumn}
	}
	return c.ingest(ctx, in.Base, func(ctx context.Context, base library.Base) (*library.Report, error) {
		return c.IngestRows(ctx, base, rows)
	})
}

type sqlArgs struct {
	SQL   string `json:"sql"`
	Limit int    `json:"limit"`
}

func (s *service) sqlQueryTool() module.Definition {
	r := reads()
	r.Effects = []tool.Effect{{Resource: "rag:", Mode: tool.IS}}
	return module.Definition{
		Name: "sql_query", Doc: sqlQueryDoc, Input: sqlQueryInput, Output: sqlQueryOutput,
		Examples: []tool.Example{
			module.Example("the documents with the most chunks",
				`{"sql": "SELECT name, chunks FROM documents ORDER BY chunks DESC LIMIT 10"}`),
			module.Example("every chunk that has a word",
				`{"sql": "SELECT d.name, c.first, c.last FROM chunks c JOIN documents d ON d.id = c.document `+
					`WHERE c.text LIKE '%deprecated%'"}`),
		},
		Aliases: []string{
			"query the knowledge base by SQL", "count documents", "list chunks", "sql over documents",
			"interroger la base en SQL", "Wissensbasis mit SQL fragen", "consultar con SQL", "用SQL查询知识库", "SQL-запрос к базе знаний",
		},
		Tags:    []string{"sql", "documents", "chunks", "rag", "knowledge base", "count"},
		Runtime: r, Handler: handler(s, "sql_query", false, sqlQuery),
	}
}

func sqlQuery(ctx context.Context, c *ragCall, in sqlArgs) (*tool.Result, error) {
	limits := rowset.Limits{Rows: cmp.Or(in.Limit, 100), Text: 2 << 10, Blob: 64, Bytes: 256 << 10}
	rows, err := c.Select(ctx, in.SQL, limits)
	if err != nil {
		return nil, err
	}
	r, err := tool.OK(fmt.Sprintf("%d rows", rows.Rows()), json.RawMessage(append(rows.AppendJSON([]byte{'{'}), '}')))
	if err == nil {
		r.Content = []tool.Content{tool.Text(fence.Follows + fence.Data(rows.Table()))}
	}
	return r, err
}
