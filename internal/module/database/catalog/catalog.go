// Package catalog asks a database what it holds: tables, their columns, keys,
// indexes and the references between them, in the same words for every
// database. It asks by the same reads as anybody, so it sees what the user of
// the connection may see.
package catalog

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqltext"
	"callgate/internal/nearest"
	"callgate/tool"
)

// Table is a table or a view. Its details are there when they were asked for.
type Table struct {
	Schema      string       `json:"schema,omitempty"` // empty in SQLite
	Name        string       `json:"name"`
	Kind        string       `json:"kind"`                     // table, view, …
	Rows        *int64       `json:"estimated_rows,omitempty"` // where the database keeps count
	Comment     string       `json:"comment,omitempty"`
	Columns     []Column     `json:"columns,omitempty"`
	PrimaryKey  []string     `json:"primary_key,omitempty"`
	Indexes     []Index      `json:"indexes,omitempty"`
	ForeignKeys []ForeignKey `json:"foreign_keys,omitempty"`
	Checks      []string     `json:"checks,omitempty"`
	apart       bool         // its name alone does not find it
}

// Column is one column of a table.
type Column struct {
	Name      string  `json:"name"`
	Type      string  `json:"type"`
	Nullable  bool    `json:"nullable"`
	Default   *string `json:"default,omitempty"`
	Generated bool    `json:"generated,omitempty"` // the database fills it in, and nobody else may
	Comment   string  `json:"comment,omitempty"`
}

// Index is one index of a table.
type Index struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"` // or expressions
	Unique  bool     `json:"unique"`
}

// ForeignKey is a reference to another table.
type ForeignKey struct {
	Name       string   `json:"name,omitempty"`
	Columns    []string `json:"columns"`
	RefTable   string   `json:"ref_table"`
	RefColumns []string `json:"ref_columns"`
	OnDelete   string   `json:"on_delete,omitempty"`
	OnUpdate   string   `json:"on_update,omitempty"`
}

// Ref is the name by which a statement finds the table.
func (t *Table) Ref() string {
	if t.apart {
		return t.Schema + "." + t.Name
	}
	return t.Name
}

// Quoted is the table as an identifier of a statement.
func (t *Table) Quoted(d sqltext.Dialect) string {
	if t.Schema == "" {
		return d.Quote(t.Name)
	}
	return d.Quote(t.Schema) + "." + d.Quote(t.Name)
}

// Column finds a column by its exact name, or says which is near.
func (t *Table) Column(name string) (Column, error) {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		if c.Name == name {
			return c, nil
		}
		names[i] = c.Name
	}
	e := engine.Fail(tool.NotFound, "the table %s has no column %q", t.Ref(), tool.Truncate(name))
	if e.Similar = nearest.Names(name, names, 3); len(e.Similar) > 0 {
		return Column{}, e.WithHint("did you mean %q?", e.Similar[0])
	}
	return Column{}, e.WithHint("its columns are %s", tool.Truncate(strings.Join(names, ", ")))
}

// queries are the questions to one kind of database. Each takes the schema and
// the table, as an empty text for all of them.
type queries struct{ tables, columns, indexes, foreignKeys, checks string }

func queriesFor(d sqltext.Dialect) queries {
	switch d {
	case sqltext.Postgres:
		return postgresTexts
	case sqltext.MySQL:
		return mysqlTexts
	default:
		return sqliteTexts
	}
}

// Tables lists what there is, without details. An empty schema is the one the
// connection is in, in Postgres all of them but the server's own.
func Tables(ctx context.Context, e engine.Engine, schema string) ([]*Table, error) {
	return tables(ctx, e, schema, "")
}

func tables(ctx context.Context, e engine.Engine, schema, name string) ([]*Table, error) {
	var all []*Table
	err := runQuery(ctx, e, queriesFor(e.Info().Dialect).tables, schema, name, func(row resultRow) {
		t := &Table{Schema: row.text(0), Name: row.text(1), Kind: row.text(2), Rows: row.number(3), Comment: row.text(4), apart: row.yes(5)}
		all = append(all, t)
	})
	return all, err
}

// Load lists tables with all their details. An empty name is all of them.
func Load(ctx context.Context, e engine.Engine, schema, name string) ([]*Table, error) {
	all, err := tables(ctx, e, schema, name)
	if err != nil || len(all) == 0 {
		return all, err
	}
	byName := map[[2]string]*Table{}
	for _, t := range all {
		byName[[2]string{t.Schema, t.Name}] = t
	}
	q := queriesFor(e.Info().Dialect)
	for _, part := range []struct {
		text string
		add  func(*Table, resultRow)
	}{{q.columns, addColumn}, {q.indexes, addIndex}, {q.foreignKeys, addForeignKey}, {q.checks, addCheck}} {
		if part.text == "" {
			continue
		}
		err := runQuery(ctx, e, part.text, schema, name, func(row resultRow) {
			if t := byName[[2]string{row.text(0), row.text(1)}]; t != nil {
				part.add(t, row)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	for _, t := range all {
		t.implicit(byName)
	}
	return all, nil
}

// implicit fills in the columns of references that name none: those of the
// other table's primary key.
func (t *Table) implicit(byName map[[2]string]*Table) {
	for i, f := range t.ForeignKeys {
		if len(f.RefColumns) == 0 {
			if other := byName[[2]string{t.Schema, f.RefTable}]; other != nil {
				t.ForeignKeys[i].RefColumns = other.PrimaryKey
			}
		}
	}
}

func addColumn(t *Table, row resultRow) {
	c := Column{Name: row.text(2), Type: row.text(3), Nullable: row.yes(4), Default: row.optional(5), Generated: row.yes(6), Comment: row.text(7)}
	t.Columns = append(t.Columns, c)
	if place := row.number(8); place != nil && *place > 0 { // SQLite tells it here
		for len(t.PrimaryKey) < int(*place) {
			t.PrimaryKey = append(t.PrimaryKey, "")
		}
		t.PrimaryKey[*place-1] = c.Name
	}
}

// addIndex takes an index whole, or a column of one at a time.
func addIndex(t *Table, row resultRow) {
	name, columns := row.text(2), row.list(5)
	if row.yes(4) {
		t.PrimaryKey = append(t.PrimaryKey, columns...)
		return
	}
	if n := len(t.Indexes); n > 0 && t.Indexes[n-1].Name == name {
		t.Indexes[n-1].Columns = append(t.Indexes[n-1].Columns, columns...)
		return
	}
	t.Indexes = append(t.Indexes, Index{Name: name, Unique: row.yes(3), Columns: columns})
}

// addForeignKey takes a reference whole, or a column of one at a time.
func addForeignKey(t *Table, row resultRow) {
	name, columns, to := row.text(2), row.list(3), row.list(5)
	if n := len(t.ForeignKeys); n > 0 && t.ForeignKeys[n-1].Name == name {
		f := &t.ForeignKeys[n-1]
		f.Columns, f.RefColumns = append(f.Columns, columns...), append(f.RefColumns, to...)
		return
	}
	f := ForeignKey{Name: name, Columns: columns, RefTable: row.text(4), RefColumns: to, OnDelete: action(row.text(6)), OnUpdate: action(row.text(7))}
	t.ForeignKeys = append(t.ForeignKeys, f)
}

// action leaves out what is so anyhow.
func action(s string) string {
	switch s = strings.ToLower(s); s {
	case "no action", "restrict":
		return ""
	default:
		return s
	}
}

func addCheck(t *Table, row resultRow) { t.Checks = append(t.Checks, row.text(2)) }

// Find resolves the name of a table as somebody wrote it: alone or after its
// schema, in the right case or not, in quotes or not.
func Find(ctx context.Context, e engine.Engine, written string) (*Table, error) {
	all, err := Tables(ctx, e, "")
	if err != nil {
		return nil, err
	}
	name := strings.NewReplacer(`"`, "", "`", "", "[", "", "]", "").Replace(strings.TrimSpace(written))
	if schema, _, ok := strings.Cut(name, "."); ok && e.Info().Dialect == sqltext.MySQL {
		other, err := Tables(ctx, e, schema)
		if err != nil {
			return nil, err
		}
		all = append(all, other...)
	}
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, short := range []bool{true, false} {
			i := slices.IndexFunc(all, func(t *Table) bool {
				return same(name, t.Ref()) || same(name, t.Schema+"."+t.Name) || !short && same(name, t.Name)
			})
			if i >= 0 {
				return all[i], nil
			}
		}
	}
	return nil, NotFoundError(written, all)
}

// NotFoundError is the error of a table that does not exist, with those that do.
func NotFoundError(written string, all []*Table) *tool.Error {
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Ref()
	}
	err := engine.Fail(tool.NotFound, "%w", engine.NoTableError{Name: tool.Truncate(written)})
	err.Similar = nearest.Names(written, names, 5)
	switch {
	case len(err.Similar) > 0:
		return err.WithHint("did you mean %q?", err.Similar[0])
	case len(names) == 0:
		return err.WithHint("the database has no tables yet")
	default:
		return err.WithHint("there are: %s", tool.Truncate(strings.Join(names, ", ")))
	}
}

// runQuery runs one question.
func runQuery(ctx context.Context, e engine.Engine, text, schema, name string, f func(resultRow)) error {
	out := rowset.New(rowset.Limits{Rows: 100_000, Bytes: 32 << 20, Text: 64 << 10})
	sql, args, err := sqltext.Bind(e.Info().Dialect, text, sqltext.Params{Named: map[string]any{"schema": schema, "table": name}})
	if err != nil {
		return err
	}
	if err := e.Read(ctx, engine.Statement{SQL: sql, Args: args}, out); err != nil {
		return err
	}
	return out.Scan(func(row []any) error { f(row); return nil })
}

// resultRow is one answer. Databases differ in how they say yes.
type resultRow []any

func (c resultRow) text(i int) string {
	if i >= len(c) {
		return ""
	}
	switch v := c[i].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	default:
		return ""
	}
}

func (c resultRow) optional(i int) *string {
	if i >= len(c) || c[i] == nil {
		return nil
	}
	s := c.text(i)
	return &s
}

func (c resultRow) number(i int) *int64 {
	if i >= len(c) {
		return nil
	}
	if n, ok := c[i].(json.Number); ok {
		if v, err := n.Int64(); err == nil {
			return &v
		}
	}
	return nil
}

func (c resultRow) yes(i int) bool {
	if i >= len(c) {
		return false
	}
	switch v := c[i].(type) {
	case bool:
		return v
	case json.Number:
		return v != "0"
	default:
		return v == "YES"
	}
}

// list reads several names, or one.
func (c resultRow) list(i int) []string {
	if i >= len(c) || c[i] == nil {
		return nil
	}
	many, ok := c[i].([]any)
	if !ok {
		return []string{c.text(i)}
	}
	var names []string
	for _, v := range many {
		s, _ := v.(string)
		names = append(names, s)
	}
	return names
}
