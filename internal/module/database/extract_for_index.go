package database

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/database/engine"
	"callgate/tool"
)

//go:embed extract_for_index.md
var extractDoc string

const extractInput = `{
  "type": "object",
  "properties": {
    "table": {"type": "string", "minLength": 1, "maxLength": 300, "description": "The table or view, also as schema.table."},
    "columns": {"type": "array", "items": {"type": "string"}, "maxItems": 200,
      "description": "Only these columns, besides the primary key. Default: all."},
    ` + connectionArg + `,
    "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "default": 200, "description": "The most rows to return."},
    "offset": {"type": "integer", "minimum": 0, "maximum": 1000000000, "default": 0,
      "description": "How many rows to pass over first."},
    ` + timeoutArg + `
  },
  "required": ["table"],
  "additionalProperties": false
}`

const extractOutput = `{
  "type": "object",
  "properties": {
    "table": {"type": "string"},
    "items": {"type": "array", "items": {"type": "object", "properties": {
      "id": {"type": "string", "description": "The table and the row's primary key; without one, the row's number."},
      "text": {"type": "string"}
    }, "required": ["id", "text"]}},
    "next_offset": {"type": "integer", "description": "The offset to continue with, when there are more."}
  },
  "required": ["table", "items"]
}`

func (s *service) extractTool() definition {
	return definition{
		Name: "extract_for_index", Doc: extractDoc, Input: extractInput, Output: extractOutput,
		Examples: []tool.Example{module.Example("two columns of a table", `{"table": "articles", "columns": ["title", "body"]}`)},
		Aliases: []string{
			"extract_rows_as_text", "rows_to_documents", "make documents of a table", "export rows for search",
			"extraire des lignes pour l'index", "Zeilen für den Index", "extraer filas para el índice",
		},
		Tags:    []string{"database", "index", "rows", "text", "search", "rag", "read"},
		Runtime: reads(),
		Handler: handler(s, "extract_for_index", extract),
	}
}

type extractData struct {
	Table string        `json:"table"`
	Items []extractItem `json:"items"`
	Next  int           `json:"next_offset,omitempty"`
}

type extractItem struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func extract(ctx context.Context, c *call, in browseArgs) (*tool.Result, error) {
	ctx, done, conn, err := c.withConnection(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	t, err := details(ctx, conn.Engine, in.Table)
	if err != nil {
		return nil, withCause(ctx, err)
	}
	in.Columns = columnsWithKey(t.PrimaryKey, in.Columns)
	text, err := in.query(ctx, conn.Engine)
	if err != nil {
		return nil, withCause(ctx, err)
	}
	if in.Limit == 0 {
		in.Limit = 200
	}
	out := c.borrowWriter(c.rowLimits(in.Limit, 0))
	defer c.returnWriter(out)
	text += fmt.Sprintf(" LIMIT %d OFFSET %d", in.Limit+1, in.Offset) // one more tells whether there are more
	if err := conn.Engine.Read(ctx, engine.Statement{SQL: text}, out); err != nil {
		return nil, withCause(ctx, err)
	}
	names := in.Columns
	if len(names) == 0 {
		for _, column := range t.Columns {
			names = append(names, column.Name)
		}
	}
	data := extractData{Table: t.Name, Items: []extractItem{}}
	if err := out.Scan(func(cells []any) error {
		data.Items = append(data.Items, itemOf(t.Name, t.PrimaryKey, names, cells, in.Offset+len(data.Items)+1))
		return nil
	}); err != nil {
		return nil, &tool.Error{Op: c.op, Kind: tool.Internal, Message: "the rows cannot be read", Err: err}
	}
	if out.Cut() {
		data.Next = in.Offset + out.Rows()
	}
	r, err := tool.OK(label(conn)+amount.Of(len(data.Items), "row")+" of "+t.Name+" as text", data)
	if err == nil {
		r.Warnings = clippedWarning(out)
	}
	return r, err
}

// columnsWithKey returns the columns to read: those that are asked for, and the key, by which a row goes.
func columnsWithKey(key, asked []string) []string {
	if len(asked) == 0 {
		return nil
	}
	all := slices.Clone(asked)
	for _, name := range key {
		if !slices.ContainsFunc(asked, func(have string) bool { return strings.EqualFold(have, name) }) {
			all = append(all, name)
		}
	}
	return all
}

// itemOf makes a text of a row.
func itemOf(table string, key, names []string, row []any, number int) extractItem {
	values := map[string]string{}
	var lines []string
	for i, cell := range row {
		if cell == nil || i >= len(names) {
			continue
		}
		text, isText := cell.(string)
		if !isText {
			data, _ := json.Marshal(cell)
			text = string(data)
		}
		values[strings.ToLower(names[i])] = text
		lines = append(lines, names[i]+": "+text)
	}
	id := fmt.Sprintf("%s/row %d", table, number)
	if len(key) > 0 {
		parts := []string{table}
		for _, name := range key {
			parts = append(parts, values[strings.ToLower(name)])
		}
		id = strings.Join(parts, "/")
	}
	return extractItem{ID: id, Text: strings.Join(lines, "\n")}
}
