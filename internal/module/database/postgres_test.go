package database_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/database/enginetest"
	"callgate/tool"
)

// TestPostgresValues is about types that only PostgreSQL has.
func TestPostgresValues(t *testing.T) {
	f := open(t)
	f.setup(toServer(t, "postgres", servers.Postgres(t)))
	f.run("CREATE TYPE mood AS ENUM ('calm', 'glad')")
	f.run("CREATE TABLE v (m mood, at timestamptz, tags text[], doc jsonb, ids int[])")
	f.run("INSERT INTO v VALUES ($1, $2, $3, $4, $5)", "glad", "2024-05-01T10:11:12.5+02:00",
		[]any{"a b", `q"\`, nil}, []any{1, args{"k": true}}, []any{[]any{1, 2}, []any{3, 4}})
	f.run("SET TIME ZONE 'UTC'")
	r := f.rows("fetch_results", args{"query": "SELECT m, at AT TIME ZONE 'UTC', tags, doc, ids, " +
		"'infinity'::timestamp, 'NaN'::float8, 1e400::numeric > 0 FROM v"})
	want := []any{
		"glad", "2024-05-01T08:11:12.5", `{"a b","q\"\\",NULL}`, []any{num("1"), map[string]any{"k": true}},
		"{{1,2},{3,4}}", "infinity", "NaN", true,
	}
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
		if r := f.rows("fetch_results", in); r.Rows[0][0] != num("1") {
			t.Errorf("%v: %v", in, r.Rows)
		}
	}
	rows := make([]any, 60) // enough for COPY, were it not for the lists
	for i := range rows {
		rows[i] = args{"m": "calm", "tags": []any{"x", "y"}, "doc": []any{i}}
	}
	f.ok("bulk_insert", args{"table": "v", "rows": rows})
	if got := f.one("SELECT count(*) FROM v WHERE tags[2] = 'y' AND jsonb_typeof(doc) = 'array'"); got != num("60") {
		t.Errorf("%v", got)
	}
	f.run("CREATE SCHEMA aside")
	f.run("CREATE TABLE aside.v (a int)")
	if got := f.ok("describe", args{"table": "aside.v"}).Summary; got != "aside.v: 1 column" {
		t.Error(got)
	}
	if got := f.ok("describe", args{"table": "v"}).Summary; got != "v: 5 columns" {
		t.Error(got)
	}
}

// The environment of the kernel and the files of its user have no effect.
func TestPostgresTakesNothingFromOutside(t *testing.T) {
	s := servers.Postgres(t)
	name := s.NewDatabase(t)
	home := t.TempDir()
	passwords := fmt.Appendf(nil, "*:*:*:*:%s\n", enginetest.Password)
	if err := os.WriteFile(filepath.Join(home, ".pgpass"), passwords, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("PGPASSWORD", enginetest.Password)
	t.Setenv("PGOPTIONS", "-c search_path=outside")
	t.Setenv("PGHOST", "192.0.2.1")
	f := open(t)
	f.daemon = true
	to := args{"driver": "postgres", "host": "127.0.0.1", "port": s.Port, "user": "postgres", "database": name}
	f.fails("connect", to, tool.Denied, "password")
	f.fails("connect", args{"driver": "postgres", "port": s.Port, "user": "postgres"}, tool.Invalid, "host is missing")
	to["password"] = enginetest.Password
	f.ok("connect", to)
	if got := f.one("SHOW search_path"); got != `"$user", public` {
		t.Error(got)
	}
}

func TestSockets(t *testing.T) {
	for driver, c := range map[string]struct {
		server func(testing.TB) *enginetest.Server
		slow   string
	}{
		"postgres": {servers.Postgres, "SELECT pg_sleep(60)"},
		"mysql":    {servers.MariaDB, "SELECT SLEEP(60)"},
	} {
		t.Run(driver, func(t *testing.T) {
			f, s := open(t), c.server(t)
			to := toServer(t, driver, s).with(args{"host": s.Socket})
			f.fails("connect", to, tool.Denied, "allowed_hosts")
			f.settings(nil, map[string]any{"allowed_hosts": []any{s.Socket}})
			f.ok("connect", to)
			if got := f.one("SELECT 1"); got != num("1") {
				t.Error(got)
			}
			f.fails("fetch_results", args{"query": c.slow, "timeout_seconds": 1}, tool.Timeout, "cancelled")
		})
	}
}
