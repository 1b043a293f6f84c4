package database

import (
	"context"
	_ "embed"

	"callgate/internal/module"
	"callgate/internal/module/database/catalog"
	"callgate/tool"
)

//go:embed schema.md
var schemaDoc string

const schemaInput = `{
  "type": "object",
  "properties": {
    "tables": {"type": "array", "items": {"type": "string"}, "maxItems": 200, "description": "Only these. Default: all."},
    ` + connectionArg + `,
    ` + schemaArg + `,
    ` + timeoutArg + `
  },
  "additionalProperties": false
}`

const schemaOutput = `{
  "type": "object",
  "properties": {"tables": {"type": "array", "description": "Each as database.describe has it."}},
  "required": ["tables"]
}`

func (s *service) schemaTool() definition {
	return definition{
		Name: "schema", Doc: schemaDoc, Input: schemaInput, Output: schemaOutput,
		Examples: []tool.Example{
			module.Example("the whole database", `{}`),
			module.Example("three tables", `{"tables": ["customers", "orders", "order_items"]}`),
		},
		Aliases: []string{
			"introspect", "database.introspect", "get_schema", "database_schema", "dump_schema", "ddl",
			"show the schema of a database",
			"data model", "all tables and columns",
			"schéma de la base de données", "modèle de données", "structure de la base",
		},
		Tags:    []string{"database", "sql", "schema", "ddl", "tables", "columns", "model", "schéma"},
		Runtime: reads(),
		Handler: handler(s, "schema", schema),
	}
}

func schema(ctx context.Context, c *call, in schemaArgs) (*tool.Result, error) {
	ctx, done, conn, err := c.withConnection(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	all := []*catalog.Table{}
	if len(in.Tables) == 0 {
		loaded, err := catalog.Load(ctx, conn.Engine, in.Schema, "")
		if err != nil {
			return nil, withCause(ctx, err)
		}
		all = append(all, loaded...)
	}
	for _, name := range in.Tables {
		t, err := details(ctx, conn.Engine, name)
		if err != nil {
			return nil, withCause(ctx, err)
		}
		all = append(all, t)
	}
	return tablesResult(conn, all, catalog.Show(all))
}
