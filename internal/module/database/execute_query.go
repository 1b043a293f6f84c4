package database

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/tool"
)

//go:embed execute_query.md
var executeQueryDoc string

const executeQueryInput = `{
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 200000,
      "description": "One statement: INSERT, UPDATE, DELETE, CREATE, ALTER, DROP …"},
    ` + paramsArg + `,
    ` + connectionArg + `,
    "limit": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 200,
      "description": "The most rows to return, of a statement with RETURNING."},
    ` + timeoutArg + `
  },
  "required": ["query"],
  "additionalProperties": false
}`

const outcomeOutput = `
    "rows_affected": {"type": "integer", "description": "How many rows were changed."},
    "last_insert_id": {"type": "integer", "description": "The id of the row that was inserted, in SQLite and MySQL."},`

const executeQueryOutput = `{
  "type": "object",
  "properties": {` + outcomeOutput + rowsOutput + `},
  "required": ["elapsed_ms"]
}`

func (s *service) executeQueryTool() definition {
	return definition{
		Name: "execute_query", Doc: executeQueryDoc, Input: executeQueryInput, Output: executeQueryOutput,
		Examples: []tool.Example{
			module.Example("change rows", `{"query": "UPDATE orders SET status = ? WHERE id = ?", "params": ["shipped", 42]}`),
			module.Example("insert a row and get its id",
				`{"query": "INSERT INTO customers (name, country) VALUES (:name, :country) RETURNING id", "params": `+
					`{"name": "Ada", "country": "UK"}}`),
			module.Example("make a table", `{"query": "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL)"}`),
		},
		Aliases: []string{
			"execute", "execute_sql", "run_sql", "write_query", "insert", "update", "delete_rows", "create_table", "drop_table",
			"insert a row", "update rows", "delete rows from a table", "create a table", "alter a table", "run a sql statement",
			"insérer une ligne", "modifier des lignes", "supprimer des lignes", "créer une table", "exécuter une requête sql",
		},
		Tags:    []string{"database", "sql", "write", "insert", "update", "delete", "ddl", "table", "base de données", "écriture"},
		Runtime: writes(tool.High),
		Handler: handler(s, "execute_query", executeQuery),
	}
}

func executeQuery(ctx context.Context, c *call, in fetchArgs) (*tool.Result, error) {
	ctx, done, conn, err := c.withWriter(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	s, err := c.change(conn, in.Query, in.Params)
	if err != nil {
		return nil, err
	}
	out := rowset.New(c.rowLimits(in.Limit, 0))
	start := time.Now()
	did, err := conn.Engine.Write(ctx, s, out)
	if err != nil {
		return nil, withSimilarTables(ctx, conn, withCause(ctx, err))
	}
	took := time.Since(start)
	r := &tool.Result{
		Status: tool.Success, Summary: label(conn) + outcomeSummary(did, out), Warnings: clippedWarning(out),
		Data: append(appendElapsed(appendOutcome([]byte{'{'}, did, out), took), '}'),
	}
	if out.HasColumns() {
		r.Content = []tool.Content{tool.Text(out.Table())}
	}
	if out.Cut() {
		r.Cut = &tool.Cut{Unit: "rows", Last: out.Rows(), Advice: "they were changed too; read them with SELECT"}
	}
	return r, nil
}

// appendOutcome appends the effect of a statement and its rows to a JSON object
// that is open.
func appendOutcome(b []byte, did engine.Outcome, out *rowset.Writer) []byte {
	if did.Affected >= 0 {
		b = append(b, `"rows_affected":`...)
		b = append(strconv.AppendInt(b, did.Affected, 10), ',')
	}
	if did.LastID != nil {
		b = append(b, `"last_insert_id":`...)
		b = append(strconv.AppendInt(b, *did.LastID, 10), ',')
	}
	if out.HasColumns() {
		b = append(out.AppendJSON(b), ',')
	}
	return b
}

func outcomeSummary(did engine.Outcome, out *rowset.Writer) string {
	s := "done"
	if did.Affected > 0 || did.Affected == 0 && !out.HasColumns() {
		s = amount.Of(int(did.Affected), "row") + " changed"
	}
	if did.LastID != nil {
		s += fmt.Sprintf("; the last id is %d", *did.LastID)
	}
	if out.HasColumns() {
		s += "; " + amount.Of(out.Rows(), "row") + " returned"
	}
	return s
}
