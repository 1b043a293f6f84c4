package database_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/module"
	"callgate/internal/module/database"
	"callgate/internal/module/database/enginetest"
	"callgate/tool"
)

// A SQLite file lies in the workspace, in every spelling of its path.
func TestFilesOfTheWorkspace(t *testing.T) {
	f := open(t)
	ws := f.grant.Workspace
	outside := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(outside, "out.db"), nil, 0o644))
	must(os.Mkdir(filepath.Join(ws, "sub"), 0o755))
	must(os.WriteFile(filepath.Join(ws, "text.txt"), []byte("not a database: "+strings.Repeat("x", 300)), 0o644))
	for name, to := range map[string]string{
		"link.db": filepath.Join(outside, "out.db"), "dir": outside, "dangling.db": filepath.Join(outside, "new.db"),
		"up.db": "../x.db", "inner.db": "sub/inner.db",
	} {
		if err := os.Symlink(to, filepath.Join(ws, name)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	for _, path := range []string{
		filepath.Join(outside, "out.db"), "../out.db", "sub/../../out.db", "link.db", "dir/out.db", "dir/new.db",
		"dangling.db", "up.db", "file:data.db", "FILE:" + filepath.Join(outside, "out.db"), "file:///etc/x?mode=rwc", "/etc/passwd", "a\x00b",
	} {
		f.fails("connect", args{"driver": "sqlite", "database": path}, tool.Denied, "")
	}
	f.fails("connect", args{"driver": "sqlite", "database": ""}, tool.Invalid, "missing")
	f.fails("connect", args{"driver": "sqlite", "database": "sub"}, tool.Invalid, "not a regular file")
	f.fails("connect", args{"driver": "sqlite", "database": "none/x.db"}, tool.NotFound, "folder")
	f.fails("connect", args{"driver": "sqlite", "database": "text.txt"}, tool.Invalid, "not a sound SQLite database")
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("something was made outside: %v", entries)
	}
	if info, err := os.Stat(filepath.Join(outside, "out.db")); err != nil || info.Size() != 0 {
		t.Errorf("the file outside was changed")
	}

	for _, path := range []string{
		"data.db", "./sub/data.db", filepath.Join(ws, "abs.db"), "a?b%20c#d.db", "été.db", "sub/inner.db", "inner.db",
	} {
		f.ok("connect", args{"driver": "sqlite", "database": path})
		f.run("CREATE TABLE IF NOT EXISTS t (a)")
		f.run("INSERT INTO t VALUES (1)")
		if _, err := os.Stat(filepath.Join(ws, strings.TrimPrefix(path, ws))); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got := f.one("SELECT count(*) FROM t"); got != num("2") {
		t.Errorf("a link that stays inside leads elsewhere: %v", got)
	}
}

// A connection reaches one file.
func TestOneFile(t *testing.T) {
	f := open(t)
	outside := t.TempDir()
	f.ok("connect", args{"driver": "sqlite", "database": "data.db"})
	f.run("CREATE TABLE t (a)")
	other := filepath.Join(outside, "x.db")
	for _, name := range []string{"execute_query", "fetch_results"} {
		for _, q := range []string{
			"ATTACH '" + other + "' AS x", "ATTACH DATABASE 'file:" + other + "?mode=rwc' AS x",
			"ATTACH '" + outside + "' || '/x.db' AS x", "ATTACH ':memory:' AS x", "ATTACH '' AS x",
			"VACUUM INTO '" + other + "'", "DETACH main", "PRAGMA temp_store_directory = '" + outside + "'",
			"PRAGMA writable_schema = 1", "PRAGMA writable_schema(ON)", "SELECT load_extension('" + other + "')",
		} {
			f.fails(name, args{"query": q}, tool.Denied, "")
		}
	}
	f.fails("execute_query", args{"query": "ATTACH ? AS x", "params": []any{other}}, tool.Denied, "one file")
	attach := args{"query": "ATTACH '" + other + "' AS x"}
	f.fails("transaction", args{"statements": []any{attach}}, tool.Denied, "one file")
	f.fails("execute_query", args{"query": "UPDATE sqlite_master SET sql = ''"}, tool.Invalid, "may not be modified")
	f.fails("execute_query", args{"query": "INSERT INTO t VALUES (1); ATTACH '" + other + "' AS x"}, tool.Invalid,
		"more than one statement")
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Errorf("something was made outside: %v", entries)
	}
	f.run("CREATE TRIGGER tr AFTER INSERT ON t BEGIN UPDATE t SET a = a + 1; UPDATE t SET a = a + 1; END")
	f.run("INSERT INTO t VALUES (1)")
	if got := f.one("SELECT a FROM t"); got != num("3") {
		t.Errorf("a trigger of two statements: %v", got)
	}
	f.run("PRAGMA user_version = 3")
	if got := f.one("PRAGMA user_version"); got != num("3") {
		t.Errorf("a pragma that may be used: %v", got)
	}
}

// No connection opens the kernel's own files, even in the workspace.
func TestHiddenFiles(t *testing.T) {
	f := open(t)
	state := filepath.Join(f.grant.Workspace, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	m := database.Module()
	instance, err := m.Open(module.Host{Hidden: []string{state}})
	if err != nil {
		t.Fatal(err)
	}
	defer instance.Close()
	for _, made := range instance.Tools {
		f.tools[made.ID.Name] = made
	}
	f.fails("connect", args{"driver": "sqlite", "database": "state/journal.db"}, tool.Denied,
		"not a file of the workspace")
}

// A model may connect to the servers that the app file lists; a setup step to any.
func TestAllowedHosts(t *testing.T) {
	pg, my := servers.Postgres(t), servers.MariaDB(t)
	to := toServer(t, "postgres", pg)
	f := open(t)
	f.fails("connect", to, tool.Denied, "allowed_hosts")
	f.fails("connect", to.with(args{"host": "localhost"}), tool.Denied, "allowed_hosts")
	f.fails("connect", to.with(args{"host": "/var/run/postgresql"}), tool.Denied, "allowed_hosts")
	f.fails("connect", to.with(args{"host": "169.254.169.254"}), tool.Denied, "allowed_hosts")
	f.fails("connect", to.with(args{"host": ""}), tool.Invalid, "host is missing")
	dsn := fmt.Sprintf("postgres://postgres:x@127.0.0.1:%d/postgres", pg.Port)
	f.fails("connect", args{"dsn": dsn}, tool.Denied, "allowed_hosts")

	f.settings(nil, map[string]any{"allowed_hosts": []any{"localhost", fmt.Sprintf("127.0.0.1:%d", pg.Port)}})
	f.ok("connect", to)
	if got := f.one("SELECT 1"); got != num("1") {
		t.Error(got)
	}
	f.fails("fetch_results", args{"query": "SELECT pg_sleep(60)", "timeout_seconds": 1}, tool.Timeout, "cancelled")
	f.ok("connect", to.with(args{"host": "localhost"}))
	f.fails("connect", to.with(args{"host": "127.0.0.2"}), tool.Denied, "allowed_hosts")
	f.fails("connect", to.with(args{"host": "localhost,127.0.0.2"}), tool.Denied, "")
	f.fails("connect", to.with(args{"host": "127.0.0.1", "port": 1}), tool.Denied, "allowed_hosts")
	f.fails("connect", to.with(args{"host": "localhost", "port": 1}), tool.Unavailable, "")
	f.fails("connect", to.with(args{"driver": "mysql", "port": my.Port}), tool.Denied, "allowed_hosts")
	f.fails("connect", to.with(args{"options": args{"options": "-c x=y"}}), tool.Invalid, "not known")
	f.fails("connect", to.with(args{"options": args{"timezone": "UTC' x"}}), tool.Invalid, "time zone")
	f.ok("connect", to.with(args{"options": args{"timezone": "Asia/Tokyo", "search_path": "pg_catalog"}}))
	if got := f.one("SHOW timezone"); got != "Asia/Tokyo" {
		t.Error(got)
	}
}

// No result and no error contains a password; the fixture looks for it.
func TestPasswordsStaySecret(t *testing.T) {
	for driver, server := range map[string]func(testing.TB) *enginetest.Server{
		"postgres": servers.Postgres, "mariadb": servers.MariaDB,
	} {
		t.Run(driver, func(t *testing.T) {
			f, s := open(t), server(t)
			f.daemon = true
			to := toServer(t, driver, s)
			delete(to, "database")
			f.fails("connect", to.with(args{"user": "nobody"}), tool.Denied, "refused the connection")
			f.fails("connect", to.with(args{"database": "nosuch"}), tool.NotFound, "nosuch")
			f.fails("connect", to.with(args{"tls": "verify-full"}), tool.Unavailable, "")
			f.fails("connect", to.with(args{"port": 1}), tool.Unavailable, "")
			url := driver + "://" + s.User
			f.fails("connect", args{"dsn": url + ":" + enginetest.Password + "@127.0.0.1:x/y"}, tool.Invalid, "dsn")
			f.fails("connect", args{"dsn": url + ":h%25@127.0.0.1/y?allowAllFiles=true"}, tool.Invalid, "allowAllFiles")
			f.fails("connect", args{"dsn": url + "@127.0.0.1/y?sslmode=none"}, tool.Invalid, "TLS")
			// The module's credential stands in for a password that the call does not give.
			f.grant.Credential = enginetest.Password
			delete(to, "password")
			f.ok("connect", to)
			f.daemon = false
			f.ok("list_connections", nil)
		})
	}
}

// An app that blocks drop_table drops no table, by whatever action and in whatever writing,
// and does everything else. A setup step of its file may.
func TestNoTableIsDropped(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.settings(nil, map[string]any{"blocked_statements": []any{"drop_table"}})
		f.run("CREATE TABLE kept (a int)")
		for _, query := range tableDrops(f, k) {
			f.fails("execute_query", args{"query": query}, tool.Denied, "drops no tables")
			f.fails("transaction", args{"statements": []any{
				args{"query": "INSERT INTO kept VALUES (1)"}, args{"query": query},
			}}, tool.Denied, "drops no tables")
			if _, err := f.call(t.Context(), "fetch_results", args{"query": query}); err == nil {
				t.Errorf("%s was read", query)
			}
		}
		f.run("INSERT INTO kept VALUES (2)")
		f.run("ALTER TABLE kept ADD COLUMN b int")
		if got := f.one("SELECT count(*) FROM kept"); fmt.Sprint(got) != "1" {
			t.Errorf("%v rows", got)
		}
		f.daemon = true
		f.run("DROP TABLE kept")
	})
}

// A statement whose kind MariaDB's version decides is neither read nor done in a transaction:
// the server skips what is in the comment here, and the read-only transaction would be ended.
func TestVersionCommentsHideNothing(t *testing.T) {
	f := open(t)
	f.setup(toServer(t, "mariadb", servers.MariaDB(t)))
	f.run("CREATE TABLE kept (a int)")
	const skipped = "/*!999999 SELECT */ "
	f.fails("fetch_results", args{"query": skipped + "BEGIN NOT ATOMIC COMMIT; SET SESSION TRANSACTION READ WRITE; " +
		"DROP TABLE kept; END"}, tool.Denied, "version")
	f.fails("transaction", args{"statements": []any{
		args{"query": "INSERT INTO kept VALUES (1)"}, args{"query": skipped + "COMMIT"},
		args{"query": "INSERT INTO nosuch VALUES (1)"},
	}}, tool.Denied, "version")
	if got := f.one("SELECT count(*) FROM kept"); got != num("0") {
		t.Errorf("%v rows", got)
	}
}

// tableDrops returns statements that drop the table kept in a database.
func tableDrops(f *fixture, k kind) []string {
	drops := []string{"DROP TABLE kept", "drop /* x */ table if exists kept", "-- x\nDROP TABLE kept"}
	switch {
	case strings.HasPrefix(k.Name, "postgres"):
		return append(drops, "DROP SCHEMA public CASCADE", "DO $$ BEGIN EXECUTE 'DROP TABLE kept'; END $$",
			"-- x\rDROP SCHEMA public CASCADE", "DELETE FROM pg_class WHERE relname = 'kept'",
			"CREATE FUNCTION f() RETURNS void LANGUAGE sql AS 'DROP TABLE kept'")
	case strings.HasPrefix(k.Name, "mariadb"):
		name := fmt.Sprintf("`%v`", f.one("SELECT database()"))
		const execute = " EXECUTE IMMEDIATE CONCAT('DROP TA','BLE kept'); "
		return append(drops, "IF 1 THEN"+execute+"END IF", "BEGIN NOT ATOMIC"+execute+"END",
			"CREATE OR REPLACE SEQUENCE kept", "CREATE OR REPLACE DATABASE "+name,
			"SET STATEMENT max_statement_time=10 FOR DROP DATABASE "+name,
			"/*!999999 SELECT */ DROP DATABASE "+name, "DROP /*!999999 INDEX i */ TABLE kept")
	default:
		return append(drops, `PRAGMA "writable_schema" = 1`)
	}
}

// What an app that blocks drop_table may still do in MariaDB drops no table either.
func TestWhatIsAllowedDropsNoTable(t *testing.T) {
	f := open(t)
	f.setup(toServer(t, "mariadb", servers.MariaDB(t)))
	f.settings(nil, map[string]any{"blocked_statements": []any{"drop_table"}})
	f.run("CREATE TABLE kept (a int)")
	for _, query := range []string{
		"DROP VIEW kept", "DROP SEQUENCE kept", "CREATE OR REPLACE VIEW kept AS SELECT 1", "CREATE TABLE kept (b int)",
		"CREATE SEQUENCE kept", "SELECT 1; DROP DATABASE test",
	} {
		if _, err := f.call(t.Context(), "execute_query", args{"query": query}); err == nil {
			t.Errorf("%s was done", query)
		}
	}
	f.run("CREATE OR REPLACE VIEW seen AS SELECT a FROM kept")
	f.run("DROP VIEW seen")
	f.run("SET @x = 1")
	f.run("RENAME TABLE kept TO moved")
	f.run("ALTER TABLE moved RENAME TO kept")
	f.run("INSERT INTO kept VALUES (1)")
}

func TestConstraints(t *testing.T) {
	f := open(t)
	f.settings(nil, map[string]any{"read_only": true})
	f.fails("connect", args{"driver": "sqlite", "database": "data.db"}, tool.NotFound, "only reads")
	if err := os.WriteFile(filepath.Join(f.grant.Workspace, "data.db"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f.ok("connect", args{"driver": "sqlite", "database": "data.db"})
	f.fails("execute_query", args{"query": "CREATE TABLE t (a)"}, tool.Denied, "read_only")
	f.fails("transaction", args{"statements": []any{args{"query": "CREATE TABLE t (a)"}}}, tool.Denied, "read_only")
	f.fails("bulk_insert", args{"table": "t", "rows": []any{args{"a": 1}}}, tool.Denied, "read_only")
	f.ok("list_tables", nil)

	f.settings(map[string]any{"max_connections": 2}, map[string]any{"allowed_drivers": []any{"sqlite3"}})
	f.fails("connect", args{"driver": "postgres", "host": "localhost"}, tool.Denied, "allowed_drivers")
	f.ok("connect", args{"driver": "sqlite", "database": ":memory:", "connection_id": "two"})
	f.fails("connect", args{"driver": "sqlite", "database": ":memory:", "connection_id": "three"}, tool.Limited,
		"2 connections already: main, two")
	f.ok("connect", args{"driver": "sqlite", "database": ":memory:", "connection_id": "two"})

	m := database.Module()
	for name, c := range map[string]struct{ config, constraints map[string]any }{
		"an unknown driver": {nil, map[string]any{"allowed_drivers": []any{"oracle"}}},
		"a bad host":        {nil, map[string]any{"allowed_hosts": []any{"http://x"}}},
		"too long":          {map[string]any{"timeout_seconds": 601}, nil},
		"too many rows":     {map[string]any{"max_rows": 10_001}, nil},
		"an unknown key":    {map[string]any{"timeout": 1}, nil},
	} {
		if _, err := m.Read(c.config, c.constraints); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Two sessions may open the same file, in WAL mode too.
func TestSharedFile(t *testing.T) {
	f := open(t)
	for _, s := range []string{"s1", "s2"} {
		f.session = s
		f.ok("connect", args{"driver": "sqlite", "database": "data.db"})
	}
	f.run("CREATE TABLE t (a)")
	f.run("PRAGMA journal_mode = WAL")
	for i, s := range []string{"s1", "s2", "s1"} {
		f.session = s
		f.run("INSERT INTO t VALUES (1)")
		if got := f.one("SELECT count(*) FROM t"); got != num(fmt.Sprint(i+1)) {
			t.Errorf("%s sees %v rows", s, got)
		}
	}
	f.instance.OnSessionEnd("s1")
	f.instance.OnSessionEnd("s2")
	f.session = "s3"
	f.settings(nil, map[string]any{"read_only": true})
	f.ok("connect", args{"driver": "sqlite", "database": "data.db"})
	if got := f.one("SELECT count(*) FROM t"); got != num("3") {
		t.Errorf("after closing: %v", got)
	}
}
