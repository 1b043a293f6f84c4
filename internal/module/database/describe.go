package database

import (
	"context"
	_ "embed"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/database/catalog"
	"callgate/internal/module/database/engine"
	"callgate/tool"
)

//go:embed describe.md
var describeDoc string

const describeInput = `{
  "type": "object",
  "properties": {
    "table": {"type": "string", "minLength": 1, "description": "The table or view, as name or schema.name."},
    ` + connectionArg + `,
    ` + timeoutArg + `
  },
  "required": ["table"],
  "additionalProperties": false
}`

const describeOutput = `{
  "type": "object",
  "properties": {
    "name": {"type": "string"}, "schema": {"type": "string"}, "kind": {"type": "string"},
    "estimated_rows": {"type": "integer"}, "comment": {"type": "string"},
    "columns": {"type": "array", "description": "Each with name, type, nullable, default, generated, comment."},
    "primary_key": {"type": "array", "items": {"type": "string"}},
    "indexes": {"type": "array"},
    "foreign_keys": {"type": "array"},
    "checks": {"type": "array", "items": {"type": "string"}}
  },
  "required": ["name", "kind"]
}`

func (s *service) describeTool() definition {
	return definition{
		Name: "describe", Doc: describeDoc, Input: describeInput, Output: describeOutput,
		Examples: []tool.Example{
			module.Example("one table", `{"table": "orders"}`),
			module.Example("in another schema", `{"table": "sales.orders", "connection_id": "shop"}`),
		},
		Aliases: []string{
			"describe_table", "table_info", "show_columns", "get_table_schema", "columns of a table", "what columns does a table have",
			"indexes of a table", "décrire une table", "colonnes d'une table", "structure d'une table",
		},
		Tags:    []string{"database", "sql", "table", "columns", "types", "indexes", "keys", "colonnes", "structure"},
		Runtime: reads(),
		Handler: handler(s, "describe", describe),
	}
}

func describe(ctx context.Context, c *call, in schemaArgs) (*tool.Result, error) {
	ctx, done, conn, err := c.withConnection(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	t, err := details(ctx, conn.Engine, in.Table)
	if err != nil {
		return nil, withCause(ctx, err)
	}
	r, err := tool.OK(label(conn)+t.Ref()+": "+amount.Of(len(t.Columns), "column"), t)
	if err == nil {
		r.Content = []tool.Content{tool.Text(catalog.Show([]*catalog.Table{t}))}
	}
	return r, err
}

// details finds a table and loads its details.
func details(ctx context.Context, e engine.Engine, name string) (*catalog.Table, error) {
	found, err := catalog.Find(ctx, e, name)
	if err != nil {
		return nil, err
	}
	all, err := catalog.Load(ctx, e, found.Schema, found.Name)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, catalog.NotFoundError(name, nil)
	}
	return all[0], nil
}
