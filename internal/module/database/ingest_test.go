package database_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"callgate/internal/module"
	"callgate/internal/module/rag"
	"callgate/tool"
)

// knowledge is the module rag, which reads the connections of a fixture.
type knowledge struct {
	*fixture
	tools []*tool.Tool
	calls int // of the module database
}

func (f *fixture) knowledge() *knowledge {
	f.t.Helper()
	k := &knowledge{fixture: f}
	m := rag.Module()
	instance, err := m.Open(module.Host{
		State: f.t.TempDir(),
		Call: func(ctx context.Context, call tool.Call, name string, args any) (*tool.Result, error) {
			k.calls++
			raw, err := json.Marshal(args)
			if err != nil {
				return nil, err
			}
			made := f.tools[strings.TrimPrefix(name, "database.")]
			f.conforms(made.Spec.Input, raw)
			call.Args = raw
			return made.Handler.Execute(ctx, call, f.grant)
		},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = instance.Close() })
	k.tools = instance.Tools
	return k
}

func (k *knowledge) try(name string, in args) (*tool.Result, error) {
	k.t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		k.t.Fatal(err)
	}
	i := slices.IndexFunc(k.tools, func(one *tool.Tool) bool { return one.ID.Name == name })
	k.conforms(k.tools[i].Spec.Input, raw)
	call := tool.Call{Args: raw, Principal: tool.Principal{Session: k.session}}
	grant := k.grant
	grant.Settings = nil // those of the module database
	return k.tools[i].Handler.Execute(k.t.Context(), call, grant)
}

// ingests checks what an ingestion did, as its summary says it.
func (k *knowledge) ingests(in args, want string) {
	k.t.Helper()
	r, err := k.try("ingest_database", in)
	if err != nil || r.Summary != want {
		k.t.Errorf("%v: %v, %+v; want %s", in, err, r, want)
	}
}

func (k *knowledge) citation(in args) string {
	k.t.Helper()
	r, err := k.try("query", in)
	if err != nil {
		k.t.Fatal(err)
	}
	got := decode[struct{ Passages []struct{ Citation string } }](k.t, r.Data)
	if len(got.Passages) == 0 {
		return ""
	}
	return got.Passages[0].Citation
}

// Rows of every kind of database are ingested from a connection, page after page, are cited by their
// keys, and are kept up to date.
func TestRowsIntoKnowledge(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.run("CREATE TABLE goods (id INT PRIMARY KEY, name VARCHAR(40), about VARCHAR(200))")
		rows := make([]any, 2100) // two pages
		for i := range rows {
			rows[i] = args{"id": i + 1, "name": fmt.Sprintf("thing%d", i+1), "about": "lies on a shelf"}
		}
		f.ok("bulk_insert", args{"table": "goods", "rows": rows})
		f.run("CREATE VIEW dear AS SELECT name, about FROM goods WHERE id > 2095")
		base := f.knowledge()
		base.ingests(args{"table": "goods"}, "main: 2100 rows added, 0 updated, 0 unchanged; 2100 chunks written")
		if got := base.citation(args{"query": "thing2077"}); got != "main, table goods, key 2077" {
			t.Error(got)
		}
		f.run("UPDATE goods SET about = 'a lighthouse in a bottle' WHERE id = 2077")
		f.run("DELETE FROM goods WHERE id <= 2")
		f.run("INSERT INTO goods VALUES (9000, 'new', 'just arrived')")
		base.calls = 0
		base.ingests(args{"table": "goods"},
			"main: 1 row added, 1 updated, 2097 unchanged, 2 removed; 2 chunks written")
		if base.calls != 2 {
			t.Errorf("%d calls for two pages", base.calls)
		}
		if got := base.citation(args{"query": "lighthouse"}); got != "main, table goods, key 2077" {
			t.Error(got)
		}
		view := args{"connection_id": "main", "table": "dear", "id_column": "name"}
		base.ingests(view, "main: 6 rows added, 0 updated, 0 unchanged; 6 chunks written")
		if got := base.citation(args{"query": "thing2100", "under": "main:dear"}); got != "main, table dear, key thing2100" {
			t.Error(got)
		}
		query := args{"query": "SELECT id, about FROM goods WHERE id > 2000 ORDER BY id", "id_column": "id", "name": "late"}
		f.settings(map[string]any{"max_rows": 60}, nil) // pages of a query are as the app says
		base.ingests(query, "main: 101 rows added, 0 updated, 0 unchanged; 101 chunks written")
		if got := base.citation(args{"query": "arrived", "under": "main:late"}); got != "main, late, key 9000" {
			t.Error(got)
		}
		for name, in := range map[string]args{
			"a write":       {"query": "DELETE FROM goods"},
			"no table":      {"table": "nothing"},
			"no column":     {"table": "goods", "id_column": "nothing"},
			"same keys":     {"table": "goods", "id_column": "about"},
			"no connection": {"table": "goods", "connection_id": "other"},
		} {
			if r, err := base.try("ingest_database", in); err == nil {
				t.Errorf("%s: %+v", name, r)
			}
		}
	})
}

// A key that has nothing in one of its columns, as SQLite allows, ends no page by its value: the rows
// behind it are read by their number, and those behind the next one by its value again.
func TestRowsBehindAKeyWithoutAValue(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.setup(args{"driver": "sqlite", "database": ":memory:"})
	f.run("CREATE TABLE parts (a INT, b INT, about VARCHAR(50), PRIMARY KEY (a, b))")
	for i := 1; i <= 12; i++ {
		b := "1"
		if i == 4 {
			b = "NULL"
		}
		f.run(fmt.Sprintf("INSERT INTO parts VALUES (%d, %s, 'thing %d')", i, b, i))
	}
	base := f.knowledge()
	base.ingests(args{"table": "parts"}, "main: 12 rows added, 0 updated, 0 unchanged; 12 chunks written")
	f.settings(map[string]any{"max_rows": 4}, nil)
	base.ingests(args{"table": "parts"}, "main: 0 rows added, 0 updated, 12 unchanged; 0 chunks written")
}

// Two rows of one key are told apart by nothing. That is an error wherever a page ends between them,
// and nothing that is known of the table is removed for it.
func TestRowsOfOneKeyOnTwoPages(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.run("CREATE TABLE parts (a INT, about VARCHAR(50))")
		for i := 1; i <= 8; i++ {
			f.run(fmt.Sprintf("INSERT INTO parts VALUES (%d, 'thing%d')", i, i))
		}
		f.settings(map[string]any{"max_rows": 4}, nil)
		base, in := f.knowledge(), args{"table": "parts", "id_column": "a"}
		base.ingests(in, "main: 8 rows added, 0 updated, 0 unchanged; 8 chunks written")
		f.run("DELETE FROM parts WHERE a = 8")
		f.run("INSERT INTO parts VALUES (4, 'thing4 again')")
		if r, err := base.try("ingest_database", in); err == nil || !strings.Contains(err.Error(), "two rows have the key 4") {
			t.Errorf("%v, %+v", err, r)
		}
		if got := base.citation(args{"query": "thing8"}); got != "main, table parts, key 8" {
			t.Errorf("%q", got)
		}
		f.run("DELETE FROM parts WHERE about = 'thing4 again'")
		base.ingests(in, "main: 0 rows added, 0 updated, 7 unchanged, 1 removed; 0 chunks written")
	})
}
