package database

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"callgate/internal/module"
	"callgate/internal/module/database/catalog"
	"callgate/tool"
)

//go:embed list_tables.md
var listTablesDoc string

const schemaArg = `"schema": {"type": "string", "description": "Only this schema (postgres) or database (mysql). Default: all of postgres's, the connection's own in mysql."}`

const listTablesOutput = `{
  "type": "object",
  "properties": {
    "tables": {"type": "array", "items": {
      "type": "object",
      "properties": {
        "schema": {"type": "string"}, "name": {"type": "string"}, "kind": {"type": "string"},
        "estimated_rows": {"type": "integer"}, "comment": {"type": "string"}
      }
    }}
  },
  "required": ["tables"]
}`

func (r *connPool) listTablesTool() definition {
	return definition{
		Name: "list_tables", Doc: listTablesDoc,
		Input:  `{"type": "object", "properties": {` + connectionArg + `, ` + schemaArg + `, ` + timeoutArg + `}, "additionalProperties": false}`,
		Output: listTablesOutput,
		Examples: []tool.Example{
			module.Example("all of them", `{}`),
			module.Example("of one schema", `{"connection_id": "shop", "schema": "sales"}`),
		},
		Aliases: []string{
			"show_tables", "get_tables", "tables", "list the tables of a database", "what tables are there", "show views",
			"lister les tables", "quelles tables existent", "afficher les tables",
		},
		Tags:    []string{"database", "sql", "tables", "views", "catalog", "list", "base de données"},
		Runtime: reads(),
		Handler: handler(r, "list_tables", listTables),
	}
}

type schemaArgs struct {
	connectionArgs
	Schema string   `json:"schema"`
	Table  string   `json:"table"`
	Tables []string `json:"tables"`
}

func listTables(ctx context.Context, c *call, in schemaArgs) (*tool.Result, error) {
	ctx, done, l, err := c.withConnection(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	all, err := catalog.Tables(ctx, l.engine, in.Schema)
	if err != nil {
		return nil, stopped(ctx, err)
	}
	lines := make([]string, len(all))
	for i, t := range all {
		lines[i] = t.Kind + " " + t.Ref()
		if t.Rows != nil {
			lines[i] += fmt.Sprintf(" ~%d rows", *t.Rows)
		}
		if t.Comment != "" {
			lines[i] += "  -- " + strings.Join(strings.Fields(t.Comment), " ")
		}
	}
	if all == nil {
		all = []*catalog.Table{}
	}
	return shownTables(l.name()+count(len(all), "table")+" and views", all, strings.Join(lines, "\n"))
}

func shownTables(summary string, all []*catalog.Table, text string) (*tool.Result, error) {
	r, err := tool.OK(summary, map[string]any{"tables": all})
	if err == nil && text != "" {
		r.Content = []tool.Content{tool.Text(text)}
	}
	return r, err
}
