package database_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/tool"
)

// attempt is a write that hides in a read.
type attempt struct {
	query string
	by    string // what the refusal says; "": it may succeed, having done nothing
}

// What any database is tried with. The table t holds one row.
var everywhere = []attempt{
	{"INSERT INTO t VALUES (2)", "refused"},
	{"UPDATE t SET a = 2", "refused"},
	{"DELETE FROM t", "refused"},
	{"/* SELECT */ DELETE FROM t -- SELECT", "refused"},
	{"-- SELECT\nDELETE FROM t", "refused"},
	{"DROP TABLE t", "refused"},
	{"ALTER TABLE t ADD COLUMN b INTEGER", "refused"},
	{"CREATE TABLE u (a INTEGER)", "refused"},
	{"CREATE INDEX i ON t (a)", "refused"},
	{"COMMIT; DELETE FROM t", " "},
	{"SELECT 1; DELETE FROM t", " "},
	{"COMMIT", ""},
	{"ROLLBACK", ""},
	{"DELETE FROM t", "refused"},
}

// by holds what each database is tried with besides, after prepare.
var (
	prepare = map[string][]string{
		"sqlite": {"CREATE INDEX ti ON t (a)"},
		"memory": {"CREATE INDEX ti ON t (a)"},
		"postgres": {
			"CREATE SEQUENCE s",
			"CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN DELETE FROM t; RETURN 1; END $$",
			"CREATE FUNCTION g() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('transaction_read_only', 'off', false); DELETE FROM t; RETURN 1; END $$",
			"CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN COMMIT; DELETE FROM t; END $$",
		},
		"mariadb": {
			"CREATE SEQUENCE s",
			"CREATE FUNCTION f() RETURNS int BEGIN DELETE FROM t; RETURN 1; END",
			"CREATE PROCEDURE p() BEGIN COMMIT; SET SESSION TRANSACTION READ WRITE; START TRANSACTION READ WRITE; DELETE FROM t; COMMIT; END",
		},
	}
	besides = map[string][]attempt{
		"sqlite": {
			{"WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", "refused"},
			{"PRAGMA query_only = 0", "refused"},
			{"PRAGMA writable_schema = 1", "not among"},
			{"PRAGMA user_version = 7", "refused"},
			{"PRAGMA journal_mode = WAL", "refused"},
			{"CREATE TEMP TABLE x (a)", "refused"},
			{"ATTACH ':memory:' AS x", "refused"},
			{"VACUUM", "refused"},
			{"BEGIN IMMEDIATE", "refused"},
			{"SELECT load_extension('x')", "never loaded"},
			{"REINDEX", "refused"},
			{"INSERT INTO t VALUES (2) RETURNING a", "refused"},
		},
		"postgres": {
			{"WITH x AS (INSERT INTO t VALUES (2) RETURNING a) SELECT a FROM x", "25006"},
			{"SELECT f()", "25006"},
			{"SELECT g()", "25001"},
			{"SELECT a, f() FROM t", "25006"},
			{"CALL p()", "2D000"},
			{"DO $$ BEGIN DELETE FROM t; END $$", "25006"},
			{"DO $$ BEGIN PERFORM set_config('transaction_read_only', 'off', false); DELETE FROM t; END $$", "25001"},
			{"DO $$ BEGIN COMMIT; DELETE FROM t; END $$", "2D000"},
			{"SET TRANSACTION READ WRITE", "25001"},
			{"SELECT set_config('transaction_read_only', 'off', false)", "25001"},
			{"SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", ""},
			{"SET default_transaction_read_only = off", ""},
			{"DELETE FROM t", "25006"},
			{"BEGIN READ WRITE", "25001"},
			{"ROLLBACK AND CHAIN", ""},
			{"COMMIT AND CHAIN", ""},
			{"DELETE FROM t", "25006"},
			{"PREPARE d AS DELETE FROM t", ""},
			{"EXECUTE d", ""},
			{"EXPLAIN ANALYZE DELETE FROM t", "25006"},
			{"SELECT * FROM t FOR UPDATE", "25006"},
			{"SELECT nextval('s')", "25006"},
			{"SELECT setval('s', 9)", "25006"},
			{"SELECT lo_create(0)", ""}, // newer servers refuse it; in all it is rolled back
			{"DO $$ BEGIN ASSERT (SELECT count(*) FROM pg_largeobject_metadata) > 0; END $$", "P0004"},
			{"TRUNCATE t", "25006"},
			{"SELECT * INTO u FROM t", "25006"},
			{"COPY t FROM PROGRAM 'echo 2'", "COPY"},
			{"COPY t TO STDOUT", "COPY"},
			{"VACUUM", "25001"},
			{"ALTER SYSTEM SET work_mem = '1MB'", "25001"},
		},
		"mariadb": {
			{"SELECT f()", "1792"},
			{"SELECT a, f() FROM t", "1792"},
			{"/*!50000 DELETE FROM t */", "1792"},
			{"/*M!100000 DELETE FROM t */", "1792"},
			{"DELETE FROM t RETURNING a", "1792"},
			{"REPLACE INTO t VALUES (2)", "1792"},
			{"CALL p()", "CALL does not ask for rows"},
			{"TRUNCATE t", "refused"},
			{"SET SESSION TRANSACTION READ WRITE", "refused"},
			{"SET GLOBAL max_connections = 77", "refused"},
			{"BEGIN NOT ATOMIC COMMIT; DELETE FROM t; END", "refused"},
			{"EXECUTE IMMEDIATE 'DELETE FROM t'", "refused"},
			{"ANALYZE DELETE FROM t", "refused"},
			{"LOCK TABLES t WRITE", "refused"},
			{"XA START 'x'", "refused"},
			{"SELECT NEXTVAL(s)", "1792"},
			{"SELECT a FROM t INTO OUTFILE 'OUT'", "writes a file"},
			{"SELECT a INTO/**/OUTFILE 'OUT' FROM t", "writes a file"},
			{"SELECT a FROM t INTO /*!50000 DUMPFILE 'OUT' */", "writes a file"},
			{"DELETE FROM t", "1792"},
		},
	}
)

// What fetch_results is given, it does not write: the database refuses.
func TestReadOnly(t *testing.T) {
	besides["memory"] = besides["sqlite"]
	each(t, func(t *testing.T, h *house, k kind) {
		h.run("CREATE TABLE t (a INTEGER)")
		h.run("INSERT INTO t VALUES (1)")
		for _, q := range prepare[k.name] {
			h.run(q)
		}
		file := filepath.Join(h.grant.Workspace, "outfile")
		if err := os.Chmod(h.grant.Workspace, 0o777); err != nil {
			t.Fatal(err)
		}
		for _, a := range append(append([]attempt(nil), everywhere...), besides[k.name]...) {
			q := strings.ReplaceAll(a.query, "OUT'", file+"'")
			_, err := h.call(t.Context(), "fetch_results", args{"query": q})
			switch {
			case a.by == "":
			case err == nil:
				t.Errorf("%s was not refused", q)
			case !strings.Contains(err.Error(), a.by):
				t.Errorf("%s was refused otherwise: %v (want %q)", q, err, a.by)
			}
			r := h.rows("fetch_results", args{"query": "SELECT a FROM t"})
			if len(r.Rows) != 1 || r.Rows[0][0] != num("1") || len(r.Columns) != 1 {
				t.Fatalf("after %s the table holds %v", q, r.Rows)
			}
			if _, err := os.Stat(file); err == nil {
				t.Fatalf("%s wrote a file", q)
			}
		}
		list := h.ok("list_tables", nil).Content[0].Text
		if strings.Contains(list, "table u") {
			t.Errorf("a table was made: %s", list)
		}
		h.run("DELETE FROM t") // and the writer still writes
	})
}

// The server alone refuses too, without the fence before it.
func TestMariaDBRefusesAlone(t *testing.T) {
	s := mariadbServer()
	name := newDatabase(t, s)
	ctx := t.Context()
	c, err := s.admin.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	must := func(q string) {
		t.Helper()
		if _, err := c.ExecContext(ctx, q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	must("USE " + name)
	must("CREATE TABLE t (a INTEGER)")
	must("SET SESSION TRANSACTION READ ONLY")
	defer must("SET SESSION TRANSACTION READ WRITE")
	for _, q := range []string{"INSERT INTO t VALUES (1)", "CREATE TABLE u (a INTEGER)", "DROP TABLE t", "ALTER TABLE t ADD b INTEGER", "TRUNCATE t"} {
		must("START TRANSACTION READ ONLY")
		if _, err := c.ExecContext(ctx, q); err == nil || !strings.Contains(err.Error(), "1792") {
			t.Errorf("%s: %v", q, err)
		}
		must("ROLLBACK")
	}
}

// A user without the FILE privilege is refused by the server.
func TestMariaDBFilePrivilege(t *testing.T) {
	s := mariadbServer()
	name := newDatabase(t, s)
	for _, q := range []string{"CREATE USER IF NOT EXISTS 'plain'@'%' IDENTIFIED BY 'plain'", "GRANT ALL PRIVILEGES ON " + name + ".* TO 'plain'@'%'"} {
		if _, err := s.admin.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	h := open(t)
	h.setup(args{"driver": "mysql", "host": "127.0.0.1", "port": s.port, "user": "plain", "password": "plain", "database": name})
	h.fails("execute_query", args{"query": "SELECT 1 INTO OUTFILE '/tmp/callgate-never'"}, tool.Denied, "1227")
}

// Connections that were cut are opened again; one that is cut under a write
// leaves no certainty.
func TestLostConnection(t *testing.T) {
	for _, k := range kinds[2:] {
		t.Run(k.name, func(t *testing.T) {
			h := open(t)
			k.connect(t, h)
			h.run("CREATE TABLE t (a INTEGER)")
			cut := func() {
				t.Helper()
				kill(t, k, h.one(map[string]string{"postgres": "SELECT current_database()", "mariadb": "SELECT DATABASE()"}[k.name]).(string))
			}
			cut()
			h.run("INSERT INTO t VALUES (1)")
			cut()
			if got := h.one("SELECT count(*) FROM t"); got != num("1") {
				t.Errorf("%v", got)
			}
			go func() {
				running(t, k, 1)
				cut2 := h.one(map[string]string{"postgres": "SELECT current_database()", "mariadb": "SELECT DATABASE()"}[k.name]).(string)
				kill(t, k, cut2)
			}()
			_, err := h.call(context.Background(), "execute_query", args{"query": k.slow})
			var e *tool.Error
			if !errors.As(err, &e) || e.Kind != tool.InDoubt && e.Kind != tool.Unavailable {
				t.Errorf("cut under a write: %v", err)
			}
			h.run("INSERT INTO t VALUES (2)")
		})
	}
}

// kill ends every connection to a database, as an administrator would.
func kill(t *testing.T, k kind, name string) {
	t.Helper()
	if k.name == "postgres" {
		if _, err := postgresServer().admin.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name); err != nil {
			t.Error(err)
		}
		return
	}
	rows, err := mariadbServer().admin.Query("SELECT id FROM information_schema.processlist WHERE db = ?", name)
	if err != nil {
		t.Error(err)
		return
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Error(err)
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		if _, err := mariadbServer().admin.Exec("KILL " + id); err != nil {
			t.Error(err)
		}
	}
}
