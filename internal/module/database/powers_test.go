package database_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/module/database/enginetest"
	"callgate/tool"
)

// A superuser's connection reads all tables, and nothing that it reads runs a program,
// reaches a file of the server, or takes the superuser's role back.
func TestSuperuserOnlyReads(t *testing.T) {
	f := open(t)
	s := servers.Postgres(t)
	f.setup(toServer(t, "postgres", s))
	f.run("CREATE SCHEMA aside")
	f.run("CREATE TABLE aside.t (a int)")
	f.run("INSERT INTO aside.t VALUES (7)")
	if got := f.one("SELECT a FROM aside.t"); got != num("7") {
		t.Errorf("a table in a schema of its own: %v", got)
	}
	for _, query := range []string{
		"(SELECT 1)", "TABLE aside.t", "VALUES (1)", "WITH x AS (SELECT 1) SELECT * FROM x", "EXPLAIN SELECT 1", "SHOW work_mem",
		"-- a remark\n SELECT 1", "SELECT count(*) FROM pg_stat_activity", "SELECT version()",
	} {
		f.ok("fetch_results", args{"query": query})
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for parent := filepath.Dir(dir); len(parent) > len(os.TempDir()); parent = filepath.Dir(parent) {
		_ = os.Chmod(parent, 0o755) // the server runs as another user
	}
	owned := filepath.Join(dir, "owned")
	for name, query := range map[string]string{
		"a program in a block":     "DO $$ BEGIN EXECUTE 'COPY (SELECT 1) TO PROGRAM ''id > " + owned + "'''; END $$",
		"a block behind a remark":  "/* SELECT */ DO $$ BEGIN NULL; END $$",
		"COPY":                     "COPY (SELECT 1) TO PROGRAM 'id > " + owned + "'",
		"CALL":                     "CALL x()",
		"a prepared statement":     "PREPARE p AS SELECT 1",
		"a loaded library":         "LOAD 'auto_explain'",
		"a role taken back":        "SET ROLE postgres",
		"a role by a function":     "SELECT set_config('role', 'none', true), pg_read_file('/etc/passwd')",
		"in quotes":                `SELECT "set_config"('role', 'none', true)`,
		"in capitals":              "SELECT SET_CONFIG('role', 'none', true)",
		"with escapes":             `SELECT U&"\0073et_config"('role', 'none', true)`,
		"in a statement of a text": "SELECT query_to_xml('select set_' || 'config(''role'', ''none'', true)', true, true, '')",
		"a file of the server":     "SELECT pg_read_file('/etc/passwd')",
		"a folder of the server":   "SELECT pg_ls_dir('/')",
		"a file that is written":   "SELECT lo_export(lo_from_bytea(0, 'x'), '" + owned + "')",
		"a file that is imported":  "SELECT lo_import('/etc/passwd')",
		"the configuration":        "SELECT pg_reload_conf()",
		"log files":                "SELECT pg_rotate_logfile()",
	} {
		r, err := f.call(t.Context(), "fetch_results", args{"query": query})
		if err == nil {
			t.Errorf("%s: %s gave %s", name, query, r.Data)
		}
		if _, err := os.Stat(owned); err == nil {
			t.Fatalf("%s: %s wrote a file of the server", name, query)
		}
	}
	f.ok("execute_query", args{"query": "INSERT INTO aside.t VALUES (8)"})
	if got := f.one("SELECT count(*) FROM aside.t"); got != num("2") {
		t.Errorf("a write is not seen: %v", got)
	}
}

// Rows that a policy would hide from the role of the read are an error.
func TestSuperuserAndRowSecurity(t *testing.T) {
	f := open(t)
	f.setup(toServer(t, "postgres", servers.Postgres(t)))
	for _, q := range []string{
		"CREATE TABLE p (a int)", "INSERT INTO p VALUES (1)", "ALTER TABLE p ENABLE ROW LEVEL SECURITY",
	} {
		f.run(q)
	}
	f.fails("fetch_results", args{"query": "SELECT * FROM p"}, tool.Denied, "row-level security")
}

// With read_only an account that could do more than change data is refused, and the error
// says what to take away.
func TestReadOnlyRefusesPowers(t *testing.T) {
	pg, maria := servers.Postgres(t), servers.MariaDB(t)
	for _, q := range []string{
		"DROP ROLE IF EXISTS powers_reader, powers_runner", "CREATE ROLE powers_reader LOGIN PASSWORD 'long enough 1'",
		"CREATE ROLE powers_runner LOGIN PASSWORD 'long enough 1'", "GRANT pg_read_all_data TO powers_reader",
		"GRANT pg_execute_server_program TO powers_runner",
	} {
		if _, err := pg.Admin.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	t.Cleanup(func() { _, _ = pg.Admin.Exec("DROP ROLE IF EXISTS powers_reader, powers_runner") })
	for _, q := range []string{
		"CREATE OR REPLACE USER 'powers_reader'@'%' IDENTIFIED BY 'long enough 1'", "GRANT SELECT ON *.* TO 'powers_reader'@'%'",
		"CREATE OR REPLACE USER 'powers_file'@'%' IDENTIFIED BY 'long enough 1'", "GRANT SELECT, FILE ON *.* TO 'powers_file'@'%'",
	} {
		if _, err := maria.Admin.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	as := func(driver string, s *enginetest.Server, user string) args {
		to := toServer(t, driver, s)
		if user != "" {
			to = to.with(args{"user": user, "password": "long enough 1"})
		}
		return to
	}
	for name, test := range map[string]struct {
		to   args
		want string // in the error; "": it connects
	}{
		"PostgreSQL, a superuser":         {as("postgres", pg, ""), "NOSUPERUSER"},
		"PostgreSQL, runs programs":       {as("postgres", pg, "powers_runner"), "REVOKE pg_execute_server_program FROM"},
		"PostgreSQL, reads":               {as("postgres", pg, "powers_reader"), ""},
		"MariaDB, every privilege":        {as("mysql", maria, ""), "REVOKE"},
		"MariaDB, reads and writes files": {as("mysql", maria, "powers_file"), "REVOKE FILE ON *.* FROM"},
		"MariaDB, reads":                  {as("mysql", maria, "powers_reader"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.daemon = true
			f.settings(nil, map[string]any{"read_only": true})
			_, err := f.call(t.Context(), "connect", test.to)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("%v", err)
			case test.want != "" && (tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%v, want %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), enginetest.Password) {
				t.Error("the error has the password")
			}
		})
	}
	f := open(t) // without read_only it works, but for programs
	f.setup(as("postgres", pg, "powers_runner"))
	f.ok("fetch_results", args{"query": "SELECT 1"})
	f.fails("fetch_results", args{"query": "SELECT lo_import('/etc/passwd')"}, tool.Denied, "too powerful")
	f = open(t)
	f.setup(as("mysql", maria, "powers_file"))
	f.ok("fetch_results", args{"query": "SELECT 1"})
	f.fails("fetch_results", args{"query": "SELECT LOAD_FILE('/etc/passwd')"}, tool.Denied, "LOAD_FILE")
	f.fails("fetch_results", args{"query": "SELECT `load_file`('/etc/passwd')"}, tool.Denied, "LOAD_FILE")
}
