package database

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/database/catalog"
	"callgate/tool"
)

//go:embed relations.md
var relationsDoc string

const relationsInput = `{
  "type": "object",
  "properties": {
    "table": {"type": "string", "description": "Only those from or to this table."},
    ` + connectionArg + `,
    ` + schemaArg + `,
    ` + timeoutArg + `
  },
  "additionalProperties": false
}`

const relationsOutput = `{
  "type": "object",
  "properties": {
    "relations": {"type": "array", "items": {
      "type": "object",
      "properties": {
        "from_table": {"type": "string"}, "from_columns": {"type": "array", "items": {"type": "string"}},
        "to_table": {"type": "string"}, "to_columns": {"type": "array", "items": {"type": "string"}},
        "name": {"type": "string"}, "on_delete": {"type": "string"}, "on_update": {"type": "string"}
      }
    }}
  },
  "required": ["relations"]
}`

func (s *service) relationsTool() definition {
	return definition{
		Name: "relations", Doc: relationsDoc, Input: relationsInput, Output: relationsOutput,
		Examples: []tool.Example{
			module.Example("all of them", `{}`),
			module.Example("what depends on customers, and on what it depends", `{"table": "customers"}`),
		},
		Aliases: []string{
			"foreign_keys", "references", "er_diagram", "how tables are related", "which tables refer to a table", "joins between tables",
			"clés étrangères", "relations entre les tables", "quelles tables sont liées",
		},
		Tags:    []string{"database", "sql", "foreign keys", "relations", "graph", "joins", "clés étrangères"},
		Runtime: reads(),
		Handler: handler(s, "relations", relations),
	}
}

type relation struct {
	FromTable   string   `json:"from_table"`
	FromColumns []string `json:"from_columns"`
	ToTable     string   `json:"to_table"`
	ToColumns   []string `json:"to_columns"`
	Name        string   `json:"name,omitempty"`
	OnDelete    string   `json:"on_delete,omitempty"`
	OnUpdate    string   `json:"on_update,omitempty"`
}

func relations(ctx context.Context, c *call, in schemaArgs) (*tool.Result, error) {
	ctx, done, conn, err := c.withConnection(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	only := ""
	if in.Table != "" {
		t, err := catalog.Find(ctx, conn.Engine, in.Table)
		if err != nil {
			return nil, withCause(ctx, err)
		}
		only = t.Ref()
	}
	tables, err := catalog.Load(ctx, conn.Engine, in.Schema, "")
	if err != nil {
		return nil, withCause(ctx, err)
	}
	all := []relation{}
	var lines []string
	for _, t := range tables {
		for _, f := range t.ForeignKeys {
			if only != "" && only != t.Ref() && only != f.RefTable {
				continue
			}
			all = append(all, relation{t.Ref(), f.Columns, f.RefTable, f.RefColumns, f.Name, f.OnDelete, f.OnUpdate})
			line := fmt.Sprintf("%s(%s) -> %s(%s)",
				t.Ref(), strings.Join(f.Columns, ", "), f.RefTable, strings.Join(f.RefColumns, ", "))
			if f.OnDelete != "" {
				line += " on delete " + f.OnDelete
			}
			lines = append(lines, line)
		}
	}
	r, err := tool.OK(label(conn)+amount.Of(len(all), "reference"), map[string]any{"relations": all})
	if err == nil && len(lines) > 0 {
		r.Content = []tool.Content{tool.Text(strings.Join(lines, "\n"))}
	}
	return r, err
}
