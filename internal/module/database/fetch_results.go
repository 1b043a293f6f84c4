package database

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/database/rowset"
	"callgate/tool"
)

//go:embed fetch_results.md
var fetchResultsDoc string

const fetchResultsInput = `{
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 200000,
      "description": "One statement that reads, such as SELECT, WITH or EXPLAIN."},
    ` + paramsArg + `,
    ` + connectionArg + `,
    "limit": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 200, "description": "The most rows to return."},
    "offset": {"type": "integer", "minimum": 0, "maximum": 1000000, "default": 0,
      "description": "How many rows to pass over first; use it with ORDER BY."},
    ` + timeoutArg + `
  },
  "required": ["query"],
  "additionalProperties": false
}`

const rowsOutput = `
    "columns": {"type": "array", "description": "The columns, each with its name and type."},
    "rows": {"type": "array", "description": "The rows, each a list in the order of the columns."},
    "row_count": {"type": "integer", "description": "How many rows are here."},
    "truncated": {"type": "boolean", "description": "Whether there are more."},
    "elapsed_ms": {"type": "number"}`

const fetchResultsOutput = `{
  "type": "object",
  "properties": {` + rowsOutput + `},
  "required": ["columns", "rows", "row_count", "truncated", "elapsed_ms"]
}`

func (s *service) fetchResultsTool() definition {
	return definition{
		Name: "fetch_results", Doc: fetchResultsDoc, Input: fetchResultsInput, Output: fetchResultsOutput,
		Examples: []tool.Example{
			module.Example("rows that match a value",
				`{"query": "SELECT id, name FROM customers WHERE country = ? ORDER BY name", "params": ["FR"], "limit": 50}`),
			module.Example("values by name",
				`{"query": "SELECT count(*) FROM orders WHERE placed_at >= :since", "params": {"since": "2024-01-01"}}`),
			module.Example("how the database would do it",
				`{"query": "EXPLAIN SELECT * FROM orders WHERE customer_id = $1", "params": [7], "connection_id": "shop"}`),
		},
		Aliases: []string{
			"query", "select", "run_query", "read_query", "sql_query", "query_database", "database.sql",
			"run a select query", "query the database", "get rows from a table", "read data with sql", "count rows",
			"interroger la base de données", "exécuter une requête select", "lire des lignes d'une table",
		},
		Tags:    []string{"database", "sql", "query", "select", "rows", "read", "requête", "base de données", "lecture"},
		Runtime: reads(),
		Handler: handler(s, "fetch_results", fetchResults),
	}
}

type fetchArgs struct {
	connectionArgs
	Query  string          `json:"query"`
	Params json.RawMessage `json:"params"`
	Limit  int             `json:"limit"`
	Offset int             `json:"offset"`
}

func fetchResults(ctx context.Context, c *call, in fetchArgs) (*tool.Result, error) {
	ctx, done, conn, err := c.withConnection(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	s, err := statement(conn, in.Query, in.Params)
	if err != nil {
		return nil, err
	}
	out := c.borrowWriter(c.rowLimits(in.Limit, in.Offset))
	defer c.returnWriter(out)
	start := time.Now()
	if err := conn.Engine.Read(ctx, s, out); err != nil {
		return nil, withSimilarTables(ctx, conn, withCause(ctx, err))
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

// rowsSummary returns the number of rows, and how to get the next ones.
func rowsSummary(out *rowset.Writer, offset int) string {
	s := amount.Of(out.Rows(), "row")
	switch {
	case offset > 0 && out.Rows() == 0:
		return fmt.Sprintf("0 rows; offset=%d is past the last row", offset)
	case offset > 0 && out.Rows() == 1:
		s = fmt.Sprintf("row %d", offset+1)
	case offset > 0:
		s = fmt.Sprintf("rows %d to %d", offset+1, offset+out.Rows())
	}
	if out.Cut() {
		s += fmt.Sprintf("; there are more: continue with offset=%d, or ask for less", offset+out.Rows())
	}
	return s
}
