package database_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/tool"
)

// What only PostgreSQL has.
func TestPostgresValues(t *testing.T) {
	h := open(t)
	kinds[2].connect(t, h)
	h.run("CREATE TYPE mood AS ENUM ('calm', 'glad')")
	h.run("CREATE TABLE v (m mood, at timestamptz, tags text[], doc jsonb, ids int[])")
	h.ok("execute_query", args{"query": "INSERT INTO v VALUES ($1, $2, $3, $4, $5)", "params": []any{"glad", "2024-05-01T10:11:12.5+02:00", []any{"a b", `q"\`, nil}, []any{1, args{"k": true}}, []any{[]any{1, 2}, []any{3, 4}}}})
	h.run("SET TIME ZONE 'UTC'")
	r := h.rows("fetch_results", args{"query": "SELECT m, at AT TIME ZONE 'UTC', tags, doc, ids, 'infinity'::timestamp, 'NaN'::float8, 1e400::numeric > 0 FROM v"})
	want := []any{"glad", "2024-05-01T08:11:12.5", `{"a b","q\"\\",NULL}`, []any{num("1"), map[string]any{"k": true}}, "{{1,2},{3,4}}", "infinity", "NaN", true}
	if diff := cmp.Diff(want, r.Rows[0]); diff != "" {
		t.Error(diff)
	}
	if r.Columns[0].Type != "mood" || r.Columns[2].Type != "text[]" {
		t.Errorf("%v", r.Columns)
	}
	for _, in := range []args{
		{"query": "SELECT count(*) FROM v WHERE m::text = ANY($1)", "params": []any{[]any{"glad", "sad"}}},
		{"query": "SELECT count(*) FROM v WHERE doc @> $1", "params": []any{[]any{1}}},
		{"query": "SELECT count(*) FROM v WHERE doc->1 ? 'k'"},
		{"query": "SELECT count(*) FROM v WHERE doc->1 ?? 'k' AND m = ?", "params": []any{"glad"}},
		{"query": "SELECT count(*) FROM v WHERE doc->1 ? 'k' AND m = :m", "params": args{"m": "glad"}},
	} {
		if r := h.rows("fetch_results", in); r.Rows[0][0] != num("1") {
			t.Errorf("%v: %v", in, r.Rows)
		}
	}
	rows := make([]any, 60) // enough for COPY, were it not for the lists
	for i := range rows {
		rows[i] = args{"m": "calm", "tags": []any{"x", "y"}, "doc": []any{i}}
	}
	h.ok("bulk_insert", args{"table": "v", "rows": rows})
	if got := h.one("SELECT count(*) FROM v WHERE tags[2] = 'y' AND jsonb_typeof(doc) = 'array'"); got != num("60") {
		t.Errorf("%v", got)
	}
	h.run("CREATE SCHEMA aside")
	h.run("CREATE TABLE aside.v (a int)")
	if got := h.ok("describe", args{"table": "aside.v"}).Summary; got != "aside.v: 1 column" {
		t.Error(got)
	}
	if got := h.ok("describe", args{"table": "v"}).Summary; got != "v: 5 columns" {
		t.Error(got)
	}
}

// Nothing that lies about in the kernel's environment is used.
func TestPostgresTakesNothingFromOutside(t *testing.T) {
	s := postgresServer()
	name := newDatabase(t, s)
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".pgpass"), fmt.Appendf(nil, "*:*:*:*:%s\n", secretWord), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("PGPASSWORD", secretWord)
	t.Setenv("PGOPTIONS", "-c search_path=outside")
	t.Setenv("PGHOST", "192.0.2.1")
	h := open(t)
	h.daemon = true
	to := args{"driver": "postgres", "host": "127.0.0.1", "port": s.port, "user": "postgres", "database": name}
	h.fails("connect", to, tool.Denied, "password")
	h.fails("connect", args{"driver": "postgres", "port": s.port, "user": "postgres"}, tool.Invalid, "host is missing")
	to["password"] = secretWord
	h.ok("connect", to)
	if got := h.one("SHOW search_path"); got != `"$user", public` {
		t.Error(got)
	}
}

func TestSockets(t *testing.T) {
	for name, c := range map[string]struct {
		s    server
		user string
	}{"postgres": {postgresServer(), "postgres"}, "mysql": {mariadbServer(), "app"}} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			to := args{"driver": name, "host": c.s.local, "port": c.s.port, "user": c.user, "password": secretWord, "database": newDatabase(t, c.s)}
			h.fails("connect", to, tool.Denied, "allowed_hosts")
			h.settings(nil, map[string]any{"allowed_hosts": []any{c.s.local}})
			h.ok("connect", to)
			if got := h.one("SELECT 1"); got != num("1") {
				t.Error(got)
			}
			h.fails("fetch_results", args{"query": map[string]string{"postgres": "SELECT pg_sleep(60)", "mysql": "SELECT SLEEP(60)"}[name], "timeout_seconds": 1}, tool.Timeout, "cancelled")
		})
	}
}
