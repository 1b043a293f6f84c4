package database

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/database/catalog"
	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

//go:embed extract_for_index.md
var extractDoc string

const extractInput = `{
  "type": "object",
  "properties": {
    "table": {"type": "string", "minLength": 1, "maxLength": 300, "description": "The table or view, also as schema.table."},
    "columns": {"type": "array", "items": {"type": "string"}, "maxItems": 200,
      "description": "Only these columns, besides the key. Default: all."},
    "key": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 16,
      "description": "The columns that tell one row from another. Default: the primary key."},
    ` + connectionArg + `,
    "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "default": 200, "description": "The most rows to return."},
    "after": {"type": "array", "items": {}, "minItems": 1, "maxItems": 16,
      "description": "Only rows behind the one with this key: next_after of the last answer."},
    "offset": {"type": "integer", "minimum": 0, "maximum": 1000000000, "default": 0,
      "description": "How many rows to pass over first."},
    ` + timeoutArg + `
  },
  "required": ["table"],
  "additionalProperties": false
}`

const extractOutput = `{
  "type": "object",
  "properties": {
    "table": {"type": "string"},
    "items": {"type": "array", "items": {"type": "object", "properties": {
      "id": {"type": "string", "description": "The table and the row's key; without one, the row's number."},
      "key": {"type": "array", "items": {"type": "string"}, "description": "The values of the row's key."},
      "text": {"type": "string"}
    }, "required": ["id", "text"]}},
    "next_after": {"type": "array", "items": {},
      "description": "What after is to be, when there are more and no other row has this key: so no row is missed."},
    "next_offset": {"type": "integer", "description": "The offset to continue with instead, and the same after."}
  },
  "required": ["table", "items"]
}`

func (s *service) extractTool() definition {
	return definition{
		Name: "extract_for_index", Doc: extractDoc, Input: extractInput, Output: extractOutput,
		Examples: []tool.Example{
			module.Example("two columns of a table", `{"table": "articles", "columns": ["title", "body"]}`),
			module.Example("a view, from where the last answer ended",
				`{"table": "open_tickets", "key": ["id"], "after": [4711]}`),
		},
		Aliases: []string{
			"extract_rows_as_text", "rows_to_documents", "make documents of a table", "export rows for search",
			"extraire des lignes pour l'index", "Zeilen für den Index", "extraer filas para el índice",
		},
		Tags:    []string{"database", "index", "rows", "text", "search", "rag", "read"},
		Runtime: reads(),
		Handler: handler(s, "extract_for_index", extract),
	}
}

type extractArgs struct {
	connectionArgs
	Table   string            `json:"table"`
	Columns []string          `json:"columns"`
	Key     []string          `json:"key"`
	After   []json.RawMessage `json:"after"`
	Limit   int               `json:"limit"`
	Offset  int               `json:"offset"`
}

type extractData struct {
	Table     string        `json:"table"`
	Items     []extractItem `json:"items"`
	NextAfter []any         `json:"next_after,omitempty"`
	Next      int           `json:"next_offset,omitempty"`
}

type extractItem struct {
	ID   string   `json:"id"`
	Key  []string `json:"key,omitempty"`
	Text string   `json:"text"`
}

func extract(ctx context.Context, c *call, in extractArgs) (*tool.Result, error) {
	ctx, done, conn, err := c.withConnection(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	t, err := details(ctx, conn.Engine, in.Table)
	if err != nil {
		return nil, withCause(ctx, err)
	}
	in.Limit = cmp.Or(in.Limit, 200)
	s, err := in.statement(t, conn.Engine.Info().Dialect)
	if err != nil {
		return nil, err
	}
	out := c.borrowWriter(c.rowLimits(in.Limit, 0))
	defer c.returnWriter(out)
	if err := conn.Engine.Read(ctx, s, out); err != nil {
		return nil, withCause(ctx, err)
	}
	data := extractData{Table: t.Name, Items: []extractItem{}}
	var last []any
	if err := out.Scan(func(cells []any) error {
		var key []any
		for _, name := range in.Key {
			key = append(key, cells[in.place(name)])
		}
		data.Items = append(data.Items, itemOf(t.Name, key, in.Columns, cells, in.Offset+len(data.Items)+1))
		last = key
		return nil
	}); err != nil {
		return nil, &tool.Error{Op: c.op, Kind: tool.Internal, Message: "the rows cannot be read", Err: err}
	}
	if out.Cut() {
		data.Next = in.Offset + out.Rows()
		if data.NextAfter, err = in.nextAfter(ctx, t, conn.Engine, last); err != nil {
			return nil, withCause(ctx, err)
		}
	}
	r, err := tool.OK(label(conn)+amount.Of(len(data.Items), "row")+" of "+t.Name+" as text", data)
	if err == nil {
		r.Warnings = clippedWarning(out)
	}
	return r, err
}

// statement is the SELECT of a page. It sets the key and the columns to those that are read: the
// key, by which a row goes, is among them.
func (in *extractArgs) statement(t *catalog.Table, d sqltext.Dialect) (s engine.Statement, err error) {
	own := len(in.Key) == 0 // the table's own
	if own {
		in.Key = t.PrimaryKey
	}
	if len(in.Columns) == 0 {
		for _, c := range t.Columns {
			in.Columns = append(in.Columns, c.Name)
		}
	}
	for _, name := range in.Key {
		if in.place(name) < 0 {
			in.Columns = append(in.Columns, name)
		}
	}
	columns, err := quoted(t, d, in.Columns)
	if err != nil {
		return s, err
	}
	key, err := quoted(t, d, in.Key)
	if err != nil {
		return s, err
	}
	where, values := "", sqltext.Params{}
	if in.After != nil {
		if len(in.After) != len(key) {
			return s, tool.Errorf("", tool.Invalid, "after has %s, and the key of %s has %s",
				amount.Of(len(in.After), "value"), t.Name, amount.Of(len(key), "column")).
				WithHint("give next_after of the last answer")
		}
		if values.List, err = sqltext.ParseValues(in.After); err != nil {
			return s, tool.Errorf("", tool.Invalid, "after cannot be read: %w", err)
		}
		marks := strings.TrimSuffix(strings.Repeat("?, ", len(key)), ", ")
		where = "(" + strings.Join(key, ", ") + ") > (" + marks + ")"
	}
	order := slices.Clone(key)
	for i := range order {
		if !own && d == sqltext.Postgres { // as elsewhere: what is after a key is never null
			order[i] += " NULLS FIRST"
		}
	}
	text := selectText(t, d, columns, where, order)
	text += fmt.Sprintf(" LIMIT %d OFFSET %d", in.Limit+1, in.Offset) // one more tells whether there are more
	s.SQL, s.Args, err = sqltext.Bind(d, text, values)
	return s, err
}

// nextAfter is the key that the next page begins after; nil: it goes by its offset. A key that the
// caller names may be that of several rows, and what is after it would leave out those that are not on
// this page.
func (in *extractArgs) nextAfter(ctx context.Context, t *catalog.Table, e engine.Engine, last []any) ([]any, error) {
	after := afterKey(last)
	if after == nil || slices.Equal(in.Key, t.PrimaryKey) {
		return after, nil
	}
	d := e.Info().Dialect
	key, err := quoted(t, d, in.Key)
	if err != nil {
		return nil, err
	}
	var values sqltext.Params
	for i, value := range after {
		key[i] += " = ?"
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		parsed, err := sqltext.ParseValue(raw)
		if err != nil {
			return nil, err
		}
		values.List = append(values.List, parsed)
	}
	var s engine.Statement
	text := selectText(t, d, []string{"1"}, strings.Join(key, " AND "), nil) + " LIMIT 2"
	if s.SQL, s.Args, err = sqltext.Bind(d, text, values); err != nil {
		return nil, err
	}
	same := rowset.New(rowset.Limits{Rows: 2})
	if err := e.Read(ctx, s, same); err != nil || same.Rows() != 1 {
		return nil, err
	}
	return after, nil
}

// place is where a column is among those that are read; -1: nowhere.
func (in *extractArgs) place(name string) int {
	return slices.IndexFunc(in.Columns, func(have string) bool { return strings.EqualFold(have, name) })
}

// itemOf makes a text of a row.
func itemOf(table string, key []any, names []string, row []any, number int) extractItem {
	item := extractItem{ID: fmt.Sprintf("%s/row %d", table, number), Text: rowset.Text(names, row)}
	if len(key) > 0 {
		for _, cell := range key {
			item.Key = append(item.Key, rowset.Plain(cell))
		}
		item.ID = table + "/" + strings.Join(item.Key, "/")
	}
	return item
}

// afterKey is the key that the next page begins after; nil: the rows have none that can be compared.
func afterKey(key []any) (values []any) {
	for _, cell := range key {
		switch cell := cell.(type) {
		case nil:
			return nil
		case map[string]any:
			bytes, ok := cell["base64"]
			if _, clipped := cell["clipped"]; !ok || clipped {
				return nil
			}
			values = append(values, map[string]any{"base64": bytes})
		case []any:
			return nil
		default:
			values = append(values, cell)
		}
	}
	return values
}
