// Package catalog reads the tables of a database: their columns, keys, indexes
// and the references between them, in the same form for every database. It uses
// the engine's reads, so it sees what the user of the connection may see.
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

// Table is a table or a view. Only Load fills in its details.
type Table struct {
	Schema      string       `json:"schema,omitempty"` // empty in SQLite
	Name        string       `json:"name"`
	Kind        string       `json:"kind"`                     // table, view, …
	Rows        *int64       `json:"estimated_rows,omitempty"` // nil where the database has no estimate
	Comment     string       `json:"comment,omitempty"`
	Columns     []Column     `json:"columns,omitempty"`
	PrimaryKey  []string     `json:"primary_key,omitempty"`
	Indexes     []Index      `json:"indexes,omitempty"`
	ForeignKeys []ForeignKey `json:"foreign_keys,omitempty"`
	Checks      []string     `json:"checks,omitempty"`
	qualified   bool         // a statement finds it only with its schema
}

// Column is one column of a table.
type Column struct {
	Name      string  `json:"name"`
	Type      string  `json:"type"`
	Nullable  bool    `json:"nullable"`
	Default   *string `json:"default,omitempty"`
	Generated bool    `json:"generated,omitempty"` // only the database sets it
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

// Ref returns the name by which a statement finds the table.
func (t *Table) Ref() string {
	if t.qualified {
		return t.Schema + "." + t.Name
	}
	return t.Name
}

// IsView reports whether the table is a view of any kind.
func (t *Table) IsView() bool { return strings.Contains(t.Kind, "view") }

// Quoted returns the table as an identifier for a statement.
func (t *Table) Quoted(d sqltext.Dialect) string {
	if t.Schema == "" {
		return d.Quote(t.Name)
	}
	return d.Quote(t.Schema) + "." + d.Quote(t.Name)
}

// Column finds a column by its exact name. An error names similar ones.
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

// queries are the catalog queries of one kind of database. Each takes the names
// of a schema and of a table; an empty name stands for all of them.
type queries struct{ tables, columns, indexes, foreignKeys, checks string }

func queriesFor(d sqltext.Dialect) queries {
	switch d {
	case sqltext.Postgres:
		return postgresQueries
	case sqltext.MySQL:
		return mysqlQueries
	default:
		return sqliteQueries
	}
}

// Tables lists the tables and views, without details. An empty schema is the
// connection's own, and in Postgres all schemas but the server's own.
func Tables(ctx context.Context, e engine.Engine, schema string) ([]*Table, error) {
	return tables(ctx, e, schema, "")
}

func tables(ctx context.Context, e engine.Engine, schema, name string) ([]*Table, error) {
	var all []*Table
	err := runQuery(ctx, e, queriesFor(e.Info().Dialect).tables, schema, name, func(row resultRow) {
		all = append(all, &Table{
			Schema: row.text(0), Name: row.text(1), Kind: row.text(2),
			Rows: row.number(3), Comment: row.text(4), qualified: row.bool(5),
		})
	})
	return all, err
}

// Load lists tables with their details. An empty name stands for all tables.
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
		t.fillReferences(byName)
	}
	return all, nil
}

// fillReferences sets the columns of references that name none: they refer to
// the primary key of the other table.
func (t *Table) fillReferences(byName map[[2]string]*Table) {
	for i, f := range t.ForeignKeys {
		if len(f.RefColumns) == 0 {
			if other := byName[[2]string{t.Schema, f.RefTable}]; other != nil {
				t.ForeignKeys[i].RefColumns = other.PrimaryKey
			}
		}
	}
}

func addColumn(t *Table, row resultRow) {
	c := Column{
		Name: row.text(2), Type: row.text(3), Nullable: row.bool(4), Default: row.optional(5),
		Generated: row.bool(6), Comment: row.text(7),
	}
	t.Columns = append(t.Columns, c)
	if position := row.number(8); position != nil && *position > 0 { // only SQLite has it here
		for len(t.PrimaryKey) < int(*position) {
			t.PrimaryKey = append(t.PrimaryKey, "")
		}
		t.PrimaryKey[*position-1] = c.Name
	}
}

// addIndex adds an index, or one more column of the last index.
func addIndex(t *Table, row resultRow) {
	name, columns := row.text(2), row.list(5)
	if row.bool(4) {
		t.PrimaryKey = append(t.PrimaryKey, columns...)
		return
	}
	if n := len(t.Indexes); n > 0 && t.Indexes[n-1].Name == name {
		t.Indexes[n-1].Columns = append(t.Indexes[n-1].Columns, columns...)
		return
	}
	t.Indexes = append(t.Indexes, Index{Name: name, Unique: row.bool(3), Columns: columns})
}

// addForeignKey adds a reference, or one more column of the last reference.
func addForeignKey(t *Table, row resultRow) {
	name, columns, to := row.text(2), row.list(3), row.list(5)
	if n := len(t.ForeignKeys); n > 0 && t.ForeignKeys[n-1].Name == name {
		f := &t.ForeignKeys[n-1]
		f.Columns, f.RefColumns = append(f.Columns, columns...), append(f.RefColumns, to...)
		return
	}
	t.ForeignKeys = append(t.ForeignKeys, ForeignKey{
		Name: name, Columns: columns, RefTable: row.text(4), RefColumns: to,
		OnDelete: action(row.text(6)), OnUpdate: action(row.text(7)),
	})
}

// action returns the action of a reference, or "" for the default.
func action(s string) string {
	switch s = strings.ToLower(s); s {
	case "no action", "restrict":
		return ""
	default:
		return s
	}
}

func addCheck(t *Table, row resultRow) { t.Checks = append(t.Checks, row.text(2)) }

// Find resolves the name of a table in a call: alone or after its schema, in the
// right case or not, in quotes or not.
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

// NotFoundError returns the error of a table that does not exist, with similar
// names of those that do.
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

// runQuery runs one catalog query and calls f for each row.
func runQuery(ctx context.Context, e engine.Engine, text, schema, name string, f func(resultRow)) error {
	out := rowset.New(rowset.Limits{Rows: 100_000, Bytes: 32 << 20, Text: 64 << 10})
	names := sqltext.Params{Named: map[string]any{"schema": schema, "table": name}}
	sql, args, err := sqltext.Bind(e.Info().Dialect, text, names)
	if err != nil {
		return err
	}
	if err := e.Read(ctx, engine.Statement{SQL: sql, Args: args}, out); err != nil {
		return err
	}
	return out.Scan(func(row []any) error { f(row); return nil })
}

// resultRow is one row of a catalog query. Databases differ in how they return booleans.
type resultRow []any

func (r resultRow) text(i int) string {
	if i >= len(r) {
		return ""
	}
	switch v := r[i].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	default:
		return ""
	}
}

func (r resultRow) optional(i int) *string {
	if i >= len(r) || r[i] == nil {
		return nil
	}
	s := r.text(i)
	return &s
}

func (r resultRow) number(i int) *int64 {
	if i >= len(r) {
		return nil
	}
	if n, ok := r[i].(json.Number); ok {
		if v, err := n.Int64(); err == nil {
			return &v
		}
	}
	return nil
}

func (r resultRow) bool(i int) bool {
	if i >= len(r) {
		return false
	}
	switch v := r[i].(type) {
	case bool:
		return v
	case json.Number:
		return v != "0"
	default:
		return v == "YES"
	}
}

// list returns several names, or one.
func (r resultRow) list(i int) []string {
	if i >= len(r) || r[i] == nil {
		return nil
	}
	many, ok := r[i].([]any)
	if !ok {
		return []string{r.text(i)}
	}
	var names []string
	for _, v := range many {
		s, _ := v.(string)
		names = append(names, s)
	}
	return names
}
