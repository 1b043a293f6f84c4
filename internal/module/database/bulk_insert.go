package database

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/database/bulkload"
	"callgate/tool"
)

//go:embed bulk_insert.md
var bulkInsertDoc string

const bulkInsertInput = `{
  "type": "object",
  "properties": {
    "table": {"type": "string", "minLength": 1, "description": "Where to, as name or schema.name."},
    "rows": {"type": "array", "minItems": 1, "maxItems": 10000, "items": {},
      "description": "The rows: objects with a value for each column, or lists in the order of columns. A ` +
	`column that an object leaves out gets its default."},
    "columns": {"type": "array", "items": {"type": "string"}, "description": "The columns, when rows are lists."},
    "on_conflict": {"type": "string", "enum": ["error", "ignore", "update"], "default": "error",
      "description": "What to do with a row whose key exists: fail and insert nothing, leave the old one, or ` +
	`change the old one."},
    "key": {"type": "array", "items": {"type": "string"},
      "description": "For update: the columns of the key. Default: the primary key. MySQL uses every unique key."},
    ` + connectionArg + `,
    ` + timeoutArg + `
  },
  "required": ["table", "rows"],
  "additionalProperties": false
}`

const bulkInsertOutput = `{
  "type": "object",
  "properties": {
    "table": {"type": "string"},
    "rows": {"type": "integer", "description": "How many were sent."},
    "rows_affected": {"type": "integer",
      "description": "How many the database says it changed; MySQL counts a row that was updated twice."},
    "elapsed_ms": {"type": "number"}
  },
  "required": ["table", "rows", "rows_affected"]
}`

func (s *service) bulkInsertTool() definition {
	return definition{
		Name: "bulk_insert", Doc: bulkInsertDoc, Input: bulkInsertInput, Output: bulkInsertOutput,
		Examples: []tool.Example{
			module.Example("objects",
				`{"table": "customers", "rows": [{"name": "Ada", "country": "UK"}, {"name": "Linus", "country": "FI"}]}`),
			module.Example("lists, changing rows that are there",
				`{"table": "prices", "columns": ["sku", "price"], "rows": [["A1", 9.5], ["B2", 12]], "on_conflict": `+
					`"update", "key": ["sku"]}`),
		},
		Aliases: []string{
			"insert_many", "insert_rows", "load_data", "import_rows", "upsert", "insert many rows", "load rows into a table",
			"import data into a table",
			"insérer plusieurs lignes", "importer des données dans une table", "charger des lignes",
		},
		Tags:    []string{"database", "sql", "insert", "bulk", "import", "upsert", "load", "write", "base de données"},
		Runtime: writes(tool.Medium),
		Handler: handler(s, "bulk_insert", bulkInsert),
	}
}

type bulkArgs struct {
	connectionArgs
	bulkload.Insert
	Table string `json:"table"`
}

func bulkInsert(ctx context.Context, c *call, in bulkArgs) (*tool.Result, error) {
	ctx, done, conn, err := c.withWriter(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	t, err := details(ctx, conn.Engine, in.Table)
	if err != nil {
		return nil, withCause(ctx, err)
	}
	start := time.Now()
	affected, err := in.Run(ctx, conn.Engine, t)
	if err != nil {
		return nil, withCause(ctx, err)
	}
	summary := fmt.Sprintf("%s%s sent to %s; %s changed",
		label(conn), amount.Of(len(in.Rows), "row"), t.Ref(), amount.Of(int(affected), "row"))
	return tool.OK(summary, map[string]any{
		"table": t.Ref(), "rows": len(in.Rows), "rows_affected": affected, "elapsed_ms": milliseconds(time.Since(start)),
	})
}
