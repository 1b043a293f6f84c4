package database

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/database/catalog"
	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

//go:embed browse.md
var browseDoc string

const browseInput = `{
  "type": "object",
  "properties": {
    "table": {"type": "string", "minLength": 1, "maxLength": 300, "description": "The table or view, also as schema.table."},
    "columns": {"type": "array", "items": {"type": "string"}, "maxItems": 200, "description": "Only these columns. Default: all."},
    "order_by": {"type": "string", "description": "The column by which rows are ordered. Default: the primary key."},
    "descending": {"type": "boolean", "default": false},
    ` + connectionArg + `,
    "limit": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 50, "description": "The most rows to return."},
    "offset": {"type": "integer", "minimum": 0, "maximum": 1000000, "default": 0, "description": "How many rows to pass over first."},
    ` + timeoutArg + `
  },
  "required": ["table"],
  "additionalProperties": false
}`

func (s *service) browseTool() definition {
	return definition{
		Name: "browse", Doc: browseDoc, Input: browseInput, Output: fetchResultsOutput,
		Examples: []tool.Example{
			module.Example("the first rows", `{"table": "customers"}`),
			module.Example("the newest, in two columns",
				`{"table": "orders", "columns": ["id", "placed_at"], "order_by": "placed_at", "descending": true, "limit": 10}`),
		},
		Aliases: []string{
			"browse_table", "show_rows", "preview_table", "look at the rows of a table", "first rows of a table",
			"parcourir une table", "voir les lignes d'une table", "ver las filas de una tabla", "Zeilen einer Tabelle ansehen",
		},
		Tags:    []string{"database", "table", "rows", "browse", "read", "base de données"},
		Runtime: reads(),
		Handler: handler(s, "browse", browse),
	}
}

type browseArgs struct {
	connectionArgs
	Table      string   `json:"table"`
	Columns    []string `json:"columns"`
	OrderBy    string   `json:"order_by"`
	Descending bool     `json:"descending"`
	Limit      int      `json:"limit"`
	Offset     int      `json:"offset"`
}

func browse(ctx context.Context, c *call, in browseArgs) (*tool.Result, error) {
	ctx, done, conn, err := c.withConnection(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	text, err := in.query(ctx, conn.Engine)
	if err != nil {
		return nil, withCause(ctx, err)
	}
	if in.Limit == 0 {
		in.Limit = 50
	}
	out := c.borrowWriter(c.rowLimits(in.Limit, 0))
	defer c.returnWriter(out)
	start := time.Now()
	text += fmt.Sprintf(" LIMIT %d OFFSET %d", in.Limit+1, in.Offset) // one more tells whether there are more
	if err := conn.Engine.Read(ctx, engine.Statement{SQL: text}, out); err != nil {
		return nil, withCause(ctx, err)
	}
	r := &tool.Result{Status: tool.Success, Summary: label(conn) + rowsSummary(out, in.Offset)}
	addRows(r, out, time.Since(start))
	if out.Cut() {
		last := in.Offset + out.Rows()
		r.Cut = &tool.Cut{
			Unit: "rows", First: in.Offset + 1, Last: last, Next: fmt.Sprintf("offset=%d", last), Advice: "ask for less",
		}
	}
	return r, nil
}

// query is the statement. Every name in it is one that the database has told, quoted.
func (in *browseArgs) query(ctx context.Context, e engine.Engine) (string, error) {
	t, err := details(ctx, e, in.Table)
	if err != nil {
		return "", err
	}
	d := e.Info().Dialect
	columns, err := quoted(t, d, in.Columns)
	if err != nil {
		return "", err
	}
	keys := t.PrimaryKey
	if in.OrderBy != "" {
		keys = append([]string{in.OrderBy}, keys...)
	}
	order, err := quoted(t, d, keys)
	if err != nil {
		return "", err
	}
	if in.Descending {
		for i := range order {
			order[i] += " DESC"
		}
	}
	return selectText(t, d, columns, "", order), nil
}

// quoted finds columns of a table, and writes their names for a statement.
func quoted(t *catalog.Table, d sqltext.Dialect, names []string) (list []string, err error) {
	for _, name := range names {
		column, err := t.Column(name)
		if err != nil {
			return nil, err
		}
		list = append(list, d.Quote(column.Name))
	}
	return list, nil
}

// selectText is a SELECT over a table. No columns are all of them.
func selectText(t *catalog.Table, d sqltext.Dialect, columns []string, where string, order []string) string {
	if len(columns) == 0 {
		columns = []string{"*"}
	}
	text := "SELECT " + strings.Join(columns, ", ") + " FROM " + t.Quoted(d)
	if where != "" {
		text += " WHERE " + where
	}
	if len(order) > 0 {
		text += " ORDER BY " + strings.Join(order, ", ")
	}
	return text
}
