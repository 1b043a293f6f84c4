package database

import (
	"context"
	_ "embed"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/database/catalog"
	"callgate/internal/module/database/connpool"
	"callgate/tool"
)

//go:embed list_tables.md
var listTablesDoc string

const schemaArg = `"schema": {"type": "string",
      "description": "Only this schema (postgres) or database (mysql). Default: all of postgres's, ` +
	`the connection's own in mysql."}`

const listTablesInput = `{
  "type": "object",
  "properties": {
    ` + connectionArg + `,
    ` + schemaArg + `,
    ` + timeoutArg + `
  },
  "additionalProperties": false
}`

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

func (s *service) listTablesTool() definition {
	return definition{
		Name: "list_tables", Doc: listTablesDoc, Input: listTablesInput, Output: listTablesOutput,
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
		Handler: handler(s, "list_tables", listTables),
	}
}

type schemaArgs struct {
	connectionArgs
	Schema string   `json:"schema"`
	Table  string   `json:"table"`
	Tables []string `json:"tables"`
}

func listTables(ctx context.Context, c *call, in schemaArgs) (*tool.Result, error) {
	ctx, done, conn, err := c.withConnection(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	all, err := catalog.Tables(ctx, conn.Engine, in.Schema)
	if err != nil {
		return nil, withCause(ctx, err)
	}
	lines := make([]string, len(all))
	for i, t := range all {
		lines[i] = t.Headline()
	}
	if all == nil {
		all = []*catalog.Table{}
	}
	return tablesResult(conn, all, strings.Join(lines, "\n"))
}

// tablesResult returns tables as data, with a text for people.
func tablesResult(conn *connpool.Conn, all []*catalog.Table, text string) (*tool.Result, error) {
	r, err := tool.OK(label(conn)+tablesSummary(all), map[string]any{"tables": all})
	if err == nil && text != "" {
		r.Content = []tool.Content{tool.Text(text)}
	}
	return r, err
}

// tablesSummary counts tables and views, each where there are some.
func tablesSummary(all []*catalog.Table) string {
	views := 0
	for _, t := range all {
		if t.IsView() {
			views++
		}
	}
	switch tables := len(all) - views; {
	case views == 0:
		return amount.Of(tables, "table")
	case tables == 0:
		return amount.Of(views, "view")
	default:
		return amount.Of(tables, "table") + " and " + amount.Of(views, "view")
	}
}
