package database

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/database/catalog"
	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

//go:embed bulk_insert.md
var bulkInsertDoc string

const bulkInsertInput = `{
  "type": "object",
  "properties": {
    "table": {"type": "string", "minLength": 1, "description": "Where to, as name or schema.name."},
    "rows": {"type": "array", "minItems": 1, "maxItems": 10000, "items": {}, "description": "The rows: objects with a value for each column, or lists in the order of columns. A column that an object leaves out gets its default."},
    "columns": {"type": "array", "items": {"type": "string"}, "description": "The columns, when rows are lists."},
    "on_conflict": {"type": "string", "enum": ["error", "ignore", "update"], "default": "error", "description": "What to do with a row whose key exists: fail and insert nothing, leave the old one, or change the old one."},
    "key": {"type": "array", "items": {"type": "string"}, "description": "For update: the columns of the key. Default: the primary key. MySQL uses every unique key."},
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
    "rows_affected": {"type": "integer", "description": "How many the database says it changed; MySQL counts a row that was updated twice."},
    "elapsed_ms": {"type": "number"}
  },
  "required": ["table", "rows", "rows_affected"]
}`

func (r *connPool) bulkInsertTool() definition {
	return definition{
		Name: "bulk_insert", Doc: bulkInsertDoc, Input: bulkInsertInput, Output: bulkInsertOutput,
		Examples: []tool.Example{
			module.Example("objects", `{"table": "customers", "rows": [{"name": "Ada", "country": "UK"}, {"name": "Linus", "country": "FI"}]}`),
			module.Example("lists, changing rows that are there", `{"table": "prices", "columns": ["sku", "price"], "rows": [["A1", 9.5], ["B2", 12]], "on_conflict": "update", "key": ["sku"]}`),
		},
		Aliases: []string{
			"insert_many", "insert_rows", "load_data", "import_rows", "upsert", "insert many rows", "load rows into a table", "import data into a table",
			"insérer plusieurs lignes", "importer des données dans une table", "charger des lignes",
		},
		Tags:    []string{"database", "sql", "insert", "bulk", "import", "upsert", "load", "write", "base de données"},
		Runtime: writes(tool.Medium),
		Handler: handler(r, "bulk_insert", bulkInsert),
	}
}

type bulkArgs struct {
	connectionArgs
	Table      string            `json:"table"`
	Rows       []json.RawMessage `json:"rows"`
	Columns    []string          `json:"columns"`
	OnConflict string            `json:"on_conflict"`
	Key        []string          `json:"key"`
}

func bulkInsert(ctx context.Context, c *call, in bulkArgs) (*tool.Result, error) {
	ctx, done, l, err := c.write(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	t, err := details(ctx, l.engine, in.Table)
	if err != nil {
		return nil, stopped(ctx, err)
	}
	batches, err := in.batches(t)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	affected, err := in.insert(ctx, l.engine, t, batches)
	if err != nil {
		return nil, stopped(ctx, err)
	}
	return tool.OK(fmt.Sprintf("%s%s sent to %s; %s changed", l.name(), count(len(in.Rows), "row"), t.Ref(), count(int(affected), "row")), map[string]any{
		"table": t.Ref(), "rows": len(in.Rows), "rows_affected": affected, "elapsed_ms": float64(time.Since(start).Microseconds()) / 1000,
	})
}

// batch is rows with the same columns, which exist.
type batch struct {
	columns []string
	rows    [][]any
}

// batches reads the rows, in their order.
func (in *bulkArgs) batches(t *catalog.Table) ([]batch, error) {
	var all []batch
	for i, raw := range in.Rows {
		columns, values, err := in.row(raw)
		if err != nil {
			return nil, tool.Errorf("", tool.Invalid, "row %d: %w", i+1, err).WithHint("a row is an object, or a list with a value for each of columns")
		}
		if n := len(all); n == 0 || !slices.Equal(all[n-1].columns, columns) {
			for _, name := range columns {
				if _, err := t.Column(name); err != nil {
					return nil, err
				}
			}
			all = append(all, batch{columns: columns})
		}
		last := &all[len(all)-1]
		last.rows = append(last.rows, values)
	}
	return all, nil
}

func (in *bulkArgs) row(raw json.RawMessage) (columns []string, values []any, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, nil, err
		}
		if len(list) != len(in.Columns) {
			return nil, nil, fmt.Errorf("it has %d values, and there are %d columns", len(list), len(in.Columns))
		}
		values, err = readValues(list)
		return in.Columns, values, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, nil, fmt.Errorf("it is neither an object nor a list")
	}
	if len(object) == 0 {
		return nil, nil, fmt.Errorf("it has no values")
	}
	columns = slices.Sorted(maps.Keys(object))
	values = make([]any, len(columns))
	for i, name := range columns {
		if values[i], err = readValue(object[name]); err != nil {
			return nil, nil, err
		}
	}
	return columns, values, nil
}

// copyFrom is from how many rows on a faster way pays.
const copyFrom = 50

func (in *bulkArgs) insert(ctx context.Context, e engine.Engine, t *catalog.Table, batches []batch) (affected int64, err error) {
	d := e.Info().Dialect
	if copier, ok := e.(engine.Copier); ok && len(batches) == 1 && len(in.Rows) >= copyFrom && in.OnConflict != "ignore" && in.OnConflict != "update" && copyable(t, batches[0]) {
		return copier.Copy(ctx, t.Quoted(d), batches[0].columns, batches[0].rows)
	}
	tail, err := in.conflict(d, t)
	if err != nil {
		return 0, err
	}
	err = e.Transact(ctx, "", func(do engine.ExecFunc) error {
		for _, b := range batches {
			for chunk := range slices.Chunk(b.rows, max(1, min(500, maxValues/len(b.columns)))) {
				did, err := do(insertion(d, t, b.columns, chunk, tail(b.columns)), rowset.New(rowset.Limits{Rows: 1}))
				if err != nil {
					return err
				}
				affected += max(0, did.Affected)
			}
		}
		return nil
	})
	return affected, err
}

// maxValues is how many values one statement may carry, in the strictest
// database of the three.
const maxValues = 30_000

// copyable reports whether every value means the same to COPY. A list would
// have to become an array, which needs the server's word for what is wanted.
func copyable(t *catalog.Table, b batch) bool {
	for _, row := range b.rows {
		for i, v := range row {
			if _, ok := v.(json.RawMessage); ok {
				if c, err := t.Column(b.columns[i]); err != nil || !strings.HasPrefix(c.Type, "json") {
					return false
				}
			}
		}
	}
	return true
}

// insertion writes INSERT INTO t (a, b) VALUES (?, ?), (?, ?) and its tail.
func insertion(d sqltext.Dialect, t *catalog.Table, columns []string, rows [][]any, tail string) engine.Statement {
	var b strings.Builder
	b.WriteString("INSERT INTO " + t.Quoted(d) + " (" + quoteAll(d, columns) + ") VALUES ")
	args := make([]any, 0, len(rows)*len(columns))
	for i, row := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		for j, v := range row {
			if j > 0 {
				b.WriteString(", ")
			}
			args = append(args, v)
			if d == sqltext.Postgres {
				b.WriteString("$" + strconv.Itoa(len(args)))
			} else {
				b.WriteByte('?')
			}
		}
		b.WriteByte(')')
	}
	b.WriteString(tail)
	return engine.Statement{SQL: b.String(), Args: args}
}

func quoteAll(d sqltext.Dialect, names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = d.Quote(n)
	}
	return strings.Join(quoted, ", ")
}

// conflict returns what follows the values, given the columns that are set.
func (in *bulkArgs) conflict(d sqltext.Dialect, t *catalog.Table) (func(columns []string) string, error) {
	key := in.Key
	if len(key) == 0 {
		key = t.PrimaryKey
	}
	for _, name := range key {
		if _, err := t.Column(name); err != nil {
			return nil, err
		}
	}
	switch {
	case in.OnConflict != "ignore" && in.OnConflict != "update":
		return func([]string) string { return "" }, nil
	case d == sqltext.MySQL && in.OnConflict == "ignore": // INSERT IGNORE would pass over other errors too
		return func(columns []string) string {
			return " ON DUPLICATE KEY UPDATE " + d.Quote(columns[0]) + " = " + d.Quote(columns[0])
		}, nil
	case in.OnConflict == "ignore":
		return func([]string) string { return " ON CONFLICT DO NOTHING" }, nil
	case len(key) == 0 && d != sqltext.MySQL:
		return nil, tool.Errorf("", tool.Invalid, "the table %s has no primary key, so it is not known which rows are the same", t.Ref()).
			WithHint("name the columns of a unique index in key")
	}
	return func(columns []string) string {
		var sets []string
		for _, name := range columns {
			if slices.Contains(key, name) {
				continue
			}
			if q := d.Quote(name); d == sqltext.MySQL {
				sets = append(sets, q+" = VALUES("+q+")")
			} else {
				sets = append(sets, q+" = excluded."+q)
			}
		}
		switch {
		case d == sqltext.MySQL && len(sets) == 0:
			return " ON DUPLICATE KEY UPDATE " + d.Quote(columns[0]) + " = " + d.Quote(columns[0])
		case d == sqltext.MySQL:
			return " ON DUPLICATE KEY UPDATE " + strings.Join(sets, ", ")
		case len(sets) == 0:
			return " ON CONFLICT (" + quoteAll(d, key) + ") DO NOTHING"
		default:
			return " ON CONFLICT (" + quoteAll(d, key) + ") DO UPDATE SET " + strings.Join(sets, ", ")
		}
	}, nil
}
