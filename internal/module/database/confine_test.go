package database_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/module"
	"callgate/internal/module/database"
	"callgate/tool"
)

// A SQLite file lies in the workspace, however its path is written.
func TestFilesOfTheWorkspace(t *testing.T) {
	h := open(t)
	ws := h.grant.Workspace
	outside := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(outside, "out.db"), nil, 0o644))
	must(os.Mkdir(filepath.Join(ws, "sub"), 0o755))
	must(os.WriteFile(filepath.Join(ws, "text.txt"), []byte("not a database, but long enough to be looked at as if it were one. "+strings.Repeat("x", 200)), 0o644))
	for name, to := range map[string]string{
		"link.db": filepath.Join(outside, "out.db"), "dir": outside, "dangling.db": filepath.Join(outside, "new.db"),
		"up.db": "../x.db", "inner.db": "sub/inner.db",
	} {
		if err := os.Symlink(to, filepath.Join(ws, name)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	for _, path := range []string{
		filepath.Join(outside, "out.db"), "../out.db", "sub/../../out.db", "link.db", "dir/out.db", "dir/new.db", "dangling.db", "up.db",
		"file:data.db", "FILE:" + filepath.Join(outside, "out.db"), "file:///etc/x?mode=rwc", "/etc/passwd", "a\x00b",
	} {
		h.fails("connect", args{"driver": "sqlite", "database": path}, tool.Denied, "")
	}
	h.fails("connect", args{"driver": "sqlite", "database": ""}, tool.Invalid, "missing")
	h.fails("connect", args{"driver": "sqlite", "database": "sub"}, tool.Invalid, "not a regular file")
	h.fails("connect", args{"driver": "sqlite", "database": "none/x.db"}, tool.NotFound, "folder")
	h.fails("connect", args{"driver": "sqlite", "database": "text.txt"}, tool.Invalid, "not a sound SQLite database")
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("something was made outside: %v", entries)
	}
	if info, err := os.Stat(filepath.Join(outside, "out.db")); err != nil || info.Size() != 0 {
		t.Errorf("the file outside was changed")
	}

	for _, path := range []string{"data.db", "./sub/data.db", filepath.Join(ws, "abs.db"), "a?b%20c#d.db", "été.db", "sub/inner.db", "inner.db"} {
		h.ok("connect", args{"driver": "sqlite", "database": path})
		h.run("CREATE TABLE IF NOT EXISTS t (a)")
		h.run("INSERT INTO t VALUES (1)")
		if _, err := os.Stat(filepath.Join(ws, strings.TrimPrefix(path, ws))); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got := h.one("SELECT count(*) FROM t"); got != num("2") {
		t.Errorf("a link that stays inside leads elsewhere: %v", got)
	}
}

// What is open stays one file.
func TestOneFile(t *testing.T) {
	h := open(t)
	outside := t.TempDir()
	h.ok("connect", args{"driver": "sqlite", "database": "data.db"})
	h.run("CREATE TABLE t (a)")
	other := filepath.Join(outside, "x.db")
	for _, name := range []string{"execute_query", "fetch_results"} {
		for _, q := range []string{
			"ATTACH '" + other + "' AS x", "ATTACH DATABASE 'file:" + other + "?mode=rwc' AS x", "ATTACH '" + outside + "' || '/x.db' AS x", "ATTACH ':memory:' AS x", "ATTACH '' AS x",
			"VACUUM INTO '" + other + "'", "DETACH main", "PRAGMA temp_store_directory = '" + outside + "'",
			"PRAGMA writable_schema = 1", "PRAGMA writable_schema(ON)", "SELECT load_extension('" + other + "')",
		} {
			h.fails(name, args{"query": q}, tool.Denied, "")
		}
	}
	h.fails("execute_query", args{"query": "ATTACH ? AS x", "params": []any{other}}, tool.Denied, "one file")
	h.fails("transaction", args{"statements": []any{args{"query": "ATTACH '" + other + "' AS x"}}}, tool.Denied, "one file")
	h.fails("execute_query", args{"query": "UPDATE sqlite_master SET sql = ''"}, tool.Invalid, "may not be modified")
	h.fails("execute_query", args{"query": "INSERT INTO t VALUES (1); ATTACH '" + other + "' AS x"}, tool.Invalid, "more than one statement")
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Errorf("something was made outside: %v", entries)
	}
	h.run("CREATE TRIGGER tr AFTER INSERT ON t BEGIN UPDATE t SET a = a + 1; UPDATE t SET a = a + 1; END")
	h.run("INSERT INTO t VALUES (1)")
	if got := h.one("SELECT a FROM t"); got != num("3") {
		t.Errorf("a trigger of two statements: %v", got)
	}
	h.run("PRAGMA user_version = 3")
	if got := h.one("PRAGMA user_version"); got != num("3") {
		t.Errorf("a pragma that may be used: %v", got)
	}
}

// The kernel's own files are nobody's database, though they lie in the workspace.
func TestHiddenFiles(t *testing.T) {
	h := open(t)
	state := filepath.Join(h.grant.Workspace, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	m := database.Module()
	opened, err := m.Open(module.Host{Hidden: []string{state}})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for _, made := range opened.Tools {
		h.tools[made.ID.Name] = made
	}
	h.fails("connect", args{"driver": "sqlite", "database": "state/journal.db"}, tool.Denied, "not a file of the workspace")
}

// A model reaches the servers that the app file lists; its author, any.
func TestAllowedHosts(t *testing.T) {
	pg, my := postgresServer(), mariadbServer()
	to := args{"driver": "postgres", "host": "127.0.0.1", "port": pg.port, "user": "postgres", "password": secretWord, "database": newDatabase(t, pg)}
	with := func(more args) args {
		in := args{}
		for k, v := range to {
			in[k] = v
		}
		for k, v := range more {
			in[k] = v
		}
		return in
	}
	h := open(t)
	h.fails("connect", to, tool.Denied, "allowed_hosts")
	h.fails("connect", with(args{"host": "localhost"}), tool.Denied, "allowed_hosts")
	h.fails("connect", with(args{"host": "/var/run/postgresql"}), tool.Denied, "allowed_hosts")
	h.fails("connect", with(args{"host": "169.254.169.254"}), tool.Denied, "allowed_hosts")
	h.fails("connect", with(args{"host": ""}), tool.Invalid, "host is missing")
	h.fails("connect", args{"dsn": fmt.Sprintf("postgres://postgres:x@127.0.0.1:%d/postgres", pg.port)}, tool.Denied, "allowed_hosts")

	h.settings(nil, map[string]any{"allowed_hosts": []any{"localhost", fmt.Sprintf("127.0.0.1:%d", pg.port)}})
	h.ok("connect", to)
	if got := h.one("SELECT 1"); got != num("1") {
		t.Error(got)
	}
	h.fails("fetch_results", args{"query": "SELECT pg_sleep(60)", "timeout_seconds": 1}, tool.Timeout, "cancelled")
	h.ok("connect", with(args{"host": "localhost"}))
	h.fails("connect", with(args{"host": "127.0.0.2"}), tool.Denied, "allowed_hosts")
	h.fails("connect", with(args{"host": "localhost,127.0.0.2"}), tool.Denied, "")
	h.fails("connect", with(args{"host": "127.0.0.1", "port": 1}), tool.Denied, "allowed_hosts")
	h.fails("connect", with(args{"host": "localhost", "port": 1}), tool.Unavailable, "")
	h.fails("connect", with(args{"driver": "mysql", "host": "127.0.0.1", "port": my.port}), tool.Denied, "allowed_hosts")
	h.fails("connect", with(args{"options": args{"options": "-c x=y"}}), tool.Invalid, "not known")
	h.fails("connect", with(args{"options": args{"timezone": "UTC' x"}}), tool.Invalid, "time zone")
	h.ok("connect", with(args{"options": args{"timezone": "Asia/Tokyo", "search_path": "pg_catalog"}}))
	if got := h.one("SHOW timezone"); got != "Asia/Tokyo" {
		t.Error(got)
	}
}

func TestPasswordsAreNotTold(t *testing.T) {
	for _, k := range kinds[2:] {
		t.Run(k.name, func(t *testing.T) {
			h := open(t)
			k.connect(t, h)
			s, who := postgresServer(), "postgres"
			if k.name == "mariadb" {
				s, who = mariadbServer(), "app"
			}
			h.daemon = true
			// Wrong, each in another way; the harness looks for the word.
			h.fails("connect", args{"driver": k.name, "host": "127.0.0.1", "port": s.port, "user": "nobody", "password": secretWord}, tool.Denied, "refused the connection")
			h.fails("connect", args{"driver": k.name, "host": "127.0.0.1", "port": s.port, "user": who, "password": secretWord, "database": "nosuch"}, tool.NotFound, "nosuch")
			h.fails("connect", args{"driver": k.name, "host": "127.0.0.1", "port": s.port, "user": who, "password": secretWord, "tls": "verify-full"}, tool.Unavailable, "")
			h.fails("connect", args{"driver": k.name, "host": "127.0.0.1", "port": 1, "user": who, "password": secretWord}, tool.Unavailable, "")
			h.fails("connect", args{"dsn": k.name + "://" + who + ":" + secretWord + "@127.0.0.1:x/y"}, tool.Invalid, "dsn")
			h.fails("connect", args{"dsn": k.name + "://" + who + ":h%25@127.0.0.1/y?allowAllFiles=true"}, tool.Invalid, "allowAllFiles")
			h.fails("connect", args{"dsn": k.name + "://" + who + "@127.0.0.1/y?sslmode=none"}, tool.Invalid, "TLS")
			// The module's credential stands in for a password that is not given.
			h.grant.Credential = secretWord
			h.ok("connect", args{"driver": k.name, "host": "127.0.0.1", "port": s.port, "user": who})
			h.daemon = false
			h.ok("list_connections", nil)
		})
	}
}

func TestConstraints(t *testing.T) {
	h := open(t)
	h.settings(nil, map[string]any{"read_only": true})
	h.fails("connect", args{"driver": "sqlite", "database": "data.db"}, tool.NotFound, "only reads")
	if err := os.WriteFile(filepath.Join(h.grant.Workspace, "data.db"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	h.ok("connect", args{"driver": "sqlite", "database": "data.db"})
	h.fails("execute_query", args{"query": "CREATE TABLE t (a)"}, tool.Denied, "read_only")
	h.fails("transaction", args{"statements": []any{args{"query": "CREATE TABLE t (a)"}}}, tool.Denied, "read_only")
	h.fails("bulk_insert", args{"table": "t", "rows": []any{args{"a": 1}}}, tool.Denied, "read_only")
	h.ok("list_tables", nil)

	h.settings(map[string]any{"max_connections": 2}, map[string]any{"allowed_drivers": []any{"sqlite3"}})
	h.fails("connect", args{"driver": "postgres", "host": "localhost"}, tool.Denied, "allowed_drivers")
	h.ok("connect", args{"driver": "sqlite", "database": ":memory:", "connection_id": "two"})
	h.fails("connect", args{"driver": "sqlite", "database": ":memory:", "connection_id": "three"}, tool.Limited, "main, two")
	h.ok("connect", args{"driver": "sqlite", "database": ":memory:", "connection_id": "two"})

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

// A file that is in WAL mode, or that two sessions have open, is read and
// written like any other.
func TestSharedFile(t *testing.T) {
	h := open(t)
	for _, s := range []string{"s1", "s2"} {
		h.session = s
		h.ok("connect", args{"driver": "sqlite", "database": "data.db"})
	}
	h.run("CREATE TABLE t (a)")
	h.run("PRAGMA journal_mode = WAL")
	for i, s := range []string{"s1", "s2", "s1"} {
		h.session = s
		h.run("INSERT INTO t VALUES (1)")
		if got := h.one("SELECT count(*) FROM t"); got != num(fmt.Sprint(i+1)) {
			t.Errorf("%s sees %v rows", s, got)
		}
	}
	h.opened.OnSessionEnd("s1")
	h.opened.OnSessionEnd("s2")
	h.session = "s3"
	h.settings(nil, map[string]any{"read_only": true})
	h.ok("connect", args{"driver": "sqlite", "database": "data.db"})
	if got := h.one("SELECT count(*) FROM t"); got != num("3") {
		t.Errorf("after closing: %v", got)
	}
}
