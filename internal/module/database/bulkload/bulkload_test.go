package bulkload_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/database/bulkload"
	"callgate/internal/module/database/catalog"
	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// recorder is an engine that records statements.
type recorder struct {
	engine.Engine
	dialect    sqltext.Dialect
	statements []engine.Statement
}

func (r *recorder) Info() engine.Info { return engine.Info{Dialect: r.dialect} }

func (r *recorder) Transact(_ context.Context, _ string, f func(engine.ExecFunc) error) error {
	return f(func(s engine.Statement, _ *rowset.Writer) (engine.Outcome, error) {
		r.statements = append(r.statements, s)
		return engine.Outcome{Affected: 1}, nil
	})
}

// copyRecorder is a recorder that copies.
type copyRecorder struct {
	recorder
	copied int
}

func (r *copyRecorder) Copy(_ context.Context, _ string, _ []string, rows [][]any) (int64, error) {
	r.copied += len(rows)
	return int64(len(rows)), nil
}

var prices = &catalog.Table{
	Name: "prices", PrimaryKey: []string{"sku"},
	Columns: []catalog.Column{{Name: "sku", Type: "text"}, {Name: "price", Type: "numeric"}, {Name: "doc", Type: "jsonb"}},
}

func raw(rows ...string) (all []json.RawMessage) {
	for _, r := range rows {
		all = append(all, json.RawMessage(r))
	}
	return all
}

func TestStatements(t *testing.T) {
	object := raw(`{"sku": "A", "price": 9.5}`)
	for name, c := range map[string]struct {
		dialect sqltext.Dialect
		in      bulkload.Insert
		want    []string
	}{
		"sqlite": {sqltext.SQLite, bulkload.Insert{Rows: object}, []string{`INSERT INTO "prices" ("price", "sku") VALUES (?, ?)`}},
		"postgres, two rows": {
			sqltext.Postgres, bulkload.Insert{Rows: raw(`["A", 1]`, `["B", 2]`), Columns: []string{"sku", "price"}},
			[]string{`INSERT INTO "prices" ("sku", "price") VALUES ($1, $2), ($3, $4)`},
		},
		"other columns, another statement": {
			sqltext.SQLite, bulkload.Insert{Rows: raw(`{"sku": "A"}`, `{"sku": "B", "price": null}`, `{"sku": "C", "price": 1}`)},
			[]string{`INSERT INTO "prices" ("sku") VALUES (?)`, `INSERT INTO "prices" ("price", "sku") VALUES (?, ?), (?, ?)`},
		},
		"ignore": {
			sqltext.Postgres, bulkload.Insert{Rows: object, OnConflict: "ignore"},
			[]string{`INSERT INTO "prices" ("price", "sku") VALUES ($1, $2) ON CONFLICT DO NOTHING`},
		},
		"ignore, mysql": {
			sqltext.MySQL, bulkload.Insert{Rows: object, OnConflict: "ignore"},
			[]string{"INSERT INTO `prices` (`price`, `sku`) VALUES (?, ?) ON DUPLICATE KEY UPDATE `price` = `price`"},
		},
		"update": {
			sqltext.SQLite, bulkload.Insert{Rows: object, OnConflict: "update"},
			[]string{`INSERT INTO "prices" ("price", "sku") VALUES (?, ?) ON CONFLICT ("sku") DO UPDATE SET "price" = excluded."price"`},
		},
		"update, mysql": {
			sqltext.MySQL, bulkload.Insert{Rows: object, OnConflict: "update"},
			[]string{"INSERT INTO `prices` (`price`, `sku`) VALUES (?, ?) ON DUPLICATE KEY UPDATE `price` = VALUES(`price`)"},
		},
		"update by another key": {
			sqltext.SQLite, bulkload.Insert{Rows: object, OnConflict: "update", Key: []string{"price"}},
			[]string{`INSERT INTO "prices" ("price", "sku") VALUES (?, ?) ON CONFLICT ("price") DO UPDATE SET "sku" = excluded."sku"`},
		},
		"update, only the key": {
			sqltext.SQLite, bulkload.Insert{Rows: raw(`{"sku": "A"}`), OnConflict: "update"},
			[]string{`INSERT INTO "prices" ("sku") VALUES (?) ON CONFLICT ("sku") DO NOTHING`},
		},
		"update, only the key, mysql": {
			sqltext.MySQL, bulkload.Insert{Rows: raw(`{"sku": "A"}`), OnConflict: "update"},
			[]string{"INSERT INTO `prices` (`sku`) VALUES (?) ON DUPLICATE KEY UPDATE `sku` = `sku`"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{dialect: c.dialect}
			if _, err := c.in.Run(t.Context(), r, prices); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range r.statements {
				got = append(got, s.SQL)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	keyless := &catalog.Table{Name: "log", Columns: []catalog.Column{{Name: "a"}}}
	for name, c := range map[string]struct {
		in    bulkload.Insert
		table *catalog.Table
		kind  tool.Kind
		text  string
	}{
		"an unknown column": {bulkload.Insert{Rows: raw(`{"pirce": 1}`)}, prices, tool.NotFound, "pirce"},
		"SQL as a column":   {bulkload.Insert{Rows: raw(`{"a\") --": 1}`)}, prices, tool.NotFound, ""},
		"an unknown key": {
			bulkload.Insert{Rows: raw(`{"sku": 1}`), OnConflict: "update", Key: []string{"x"}}, prices, tool.NotFound, `"x"`,
		},
		"no key to update by": {bulkload.Insert{Rows: raw(`{"a": 1}`), OnConflict: "update"}, keyless, tool.Invalid, "no primary key"},
		"neither":             {bulkload.Insert{Rows: raw(`{"sku": 1}`, `7`)}, prices, tool.Invalid, "row 2: it is neither"},
		"an empty object":     {bulkload.Insert{Rows: raw(`{}`)}, prices, tool.Invalid, "row 1: it has no values"},
		"an empty list":       {bulkload.Insert{Rows: raw(`[]`)}, prices, tool.Invalid, "row 1: it has no values"},
		"too many values": {
			bulkload.Insert{Rows: raw(`[1, 2]`), Columns: []string{"sku"}}, prices,
			tool.Invalid, "2 values, and columns has 1 name",
		},
		"a list without names":  {bulkload.Insert{Rows: raw(`[1]`)}, prices, tool.Invalid, "1 value, and columns has 0 names"},
		"bytes that are broken": {bulkload.Insert{Rows: raw(`{"sku": {"base64": "!"}}`)}, prices, tool.Invalid, "row 1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{dialect: sqltext.SQLite}
			_, err := c.in.Run(t.Context(), r, c.table)
			if tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.text) || len(r.statements) > 0 {
				t.Errorf("%v after %d statements", err, len(r.statements))
			}
		})
	}
}

// A statement carries a bounded number of rows and values.
func TestChunks(t *testing.T) {
	in := bulkload.Insert{Columns: []string{"sku"}}
	for i := range 1201 {
		in.Rows = append(in.Rows, fmt.Appendf(nil, "[%d]", i))
	}
	r := &recorder{dialect: sqltext.SQLite}
	affected, err := in.Run(t.Context(), r, prices)
	var sizes []int
	for _, s := range r.statements {
		sizes = append(sizes, len(s.Args))
	}
	if diff := cmp.Diff([]int{500, 500, 201}, sizes); err != nil || affected != 3 || diff != "" {
		t.Errorf("%d, %v %s", affected, err, diff)
	}
}

func TestCopy(t *testing.T) {
	rows := func(n int, row string) (all []json.RawMessage) {
		for range n {
			all = append(all, json.RawMessage(row))
		}
		return all
	}
	for name, c := range map[string]struct {
		in     bulkload.Insert
		copied int
	}{
		"many":           {bulkload.Insert{Rows: rows(50, `{"sku": "A"}`)}, 50},
		"few":            {bulkload.Insert{Rows: rows(49, `{"sku": "A"}`)}, 0},
		"with a rule":    {bulkload.Insert{Rows: rows(50, `{"sku": "A"}`), OnConflict: "ignore"}, 0},
		"two batches":    {bulkload.Insert{Rows: append(rows(50, `{"sku": "A"}`), raw(`{"price": 1}`)...)}, 0},
		"JSON as JSON":   {bulkload.Insert{Rows: rows(50, `{"doc": [1]}`)}, 50},
		"list as a text": {bulkload.Insert{Rows: rows(50, `{"sku": [1]}`)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := &copyRecorder{recorder: recorder{dialect: sqltext.Postgres}}
			_, err := c.in.Run(t.Context(), r, prices)
			if err != nil || r.copied != c.copied || (r.copied > 0) == (len(r.statements) > 0) {
				t.Errorf("%d rows copied, %d statements, %v", r.copied, len(r.statements), err)
			}
		})
	}
}
