package enginetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// attempts are tried on every database. The table t has one row.
var attempts = []Attempt{
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
	{"COMMIT", "does not ask for rows"},
	{"ROLLBACK", "does not ask for rows"},
	{"(DELETE FROM t)", "does not ask for rows"},
	{"\"SELECT\" 1", "a word that asks for rows"},
	{"DELETE FROM t", "refused"},
}

// Attempts returns the statements that Read must not carry out on any database.
func Attempts() []Attempt { return attempts }

var sqliteAttempts = []Attempt{
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
}

var postgresPrepare = []string{
	"CREATE SEQUENCE s",
	"CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN DELETE FROM t; RETURN 1; END $$",
	"CREATE FUNCTION g() RETURNS int LANGUAGE plpgsql AS $$ BEGIN " +
		"PERFORM set_config('transaction_read_only', 'off', false); DELETE FROM t; RETURN 1; END $$",
	"CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN COMMIT; DELETE FROM t; END $$",
}

var postgresAttempts = []Attempt{
	{"WITH x AS (INSERT INTO t VALUES (2) RETURNING a) SELECT a FROM x", "25006"},
	{"SELECT f()", "25006"},
	{"SELECT g()", "25001"},
	{"SELECT a, f() FROM t", "25006"},
	{"CALL p()", "does not ask for rows"},
	{"DO $$ BEGIN DELETE FROM t; END $$", "does not ask for rows"},
	{"DO $$ BEGIN PERFORM set_config('transaction_read_only', 'off', false); DELETE FROM t; END $$", "does not ask for rows"},
	{"DO $$ BEGIN COMMIT; DELETE FROM t; END $$", "does not ask for rows"},
	{"SET TRANSACTION READ WRITE", "does not ask for rows"},
	{"SELECT set_config('transaction_read_only', 'off', false)", "set_config"},
	{"SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", "does not ask for rows"},
	{"SET default_transaction_read_only = off", "does not ask for rows"},
	{"DELETE FROM t", "does not ask for rows"},
	{"BEGIN READ WRITE", "does not ask for rows"},
	{"ROLLBACK AND CHAIN", "does not ask for rows"},
	{"COMMIT AND CHAIN", "does not ask for rows"},
	{"DELETE FROM t", "does not ask for rows"},
	{"PREPARE d AS DELETE FROM t", "does not ask for rows"},
	{"EXECUTE d", "does not ask for rows"},
	{"EXPLAIN ANALYZE DELETE FROM t", "25006"},
	{"SELECT * FROM t FOR UPDATE", "25006"},
	{"SELECT nextval('s')", "permission denied"}, // a superuser reads as another role
	{"SELECT setval('s', 9)", "permission denied"},
	{"SELECT lo_create(0)", ""}, // newer servers refuse it; all of them roll it back
	{"DO $$ BEGIN ASSERT (SELECT count(*) FROM pg_largeobject_metadata) > 0; END $$", "does not ask for rows"},
	{"TRUNCATE t", "does not ask for rows"},
	{"SELECT * INTO u FROM t", "25006"},
	{"COPY t FROM PROGRAM 'echo 2'", "COPY"},
	{"COPY t TO STDOUT", "COPY"},
	{"VACUUM", "does not ask for rows"},
	{"ALTER SYSTEM SET work_mem = '1MB'", "does not ask for rows"},
}

var mariadbPrepare = []string{
	"CREATE SEQUENCE s",
	"CREATE FUNCTION f() RETURNS int BEGIN DELETE FROM t; RETURN 1; END",
	"CREATE PROCEDURE p() BEGIN COMMIT; SET SESSION TRANSACTION READ WRITE; " +
		"START TRANSACTION READ WRITE; DELETE FROM t; COMMIT; END",
}

// FILE stands for a path that the server could write.
var mariadbAttempts = []Attempt{
	{"SELECT f()", "1792"},
	{"SELECT a, f() FROM t", "1792"},
	{"/*!50000 DELETE FROM t */", "version"},
	{"/*M!100000 DELETE FROM t */", "version"},
	{"/*!999999 SELECT */ BEGIN NOT ATOMIC COMMIT; SET SESSION TRANSACTION READ WRITE; DELETE FROM t; END", "version"},
	{"SELECT a FROM t INTO /*!999999 x */ OUTFILE 'FILE'", "version"},
	{"DELETE FROM t RETURNING a", "does not ask for rows"},
	{"REPLACE INTO t VALUES (2)", "does not ask for rows"},
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
	{"SELECT a FROM t INTO OUTFILE 'FILE'", "writes a file"},
	{"SELECT a INTO/**/OUTFILE 'FILE' FROM t", "writes a file"},
	{"SELECT a FROM t INTO /*!50000 DUMPFILE 'FILE' */", "version"},
	{"DELETE FROM t", "does not ask for rows"},
}

// readsOnly gives Read statements that would write. The database itself refuses
// them, and none has an effect.
func readsOnly(f *fixture) {
	f.write("CREATE TABLE t (a INTEGER)")
	f.write("INSERT INTO t VALUES (1)")
	for _, sql := range f.db.Prepare {
		f.write(sql)
	}
	dir := f.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil { // the server may run as another user
		f.Fatal(err)
	}
	file := filepath.Join(dir, "written")
	before := f.rows("SELECT a FROM t")
	for _, a := range slices.Concat(Attempts(), f.db.Attempts) {
		sql := strings.ReplaceAll(a.SQL, "'FILE'", "'"+file+"'")
		err := f.tryRead(f.Context(), sql)
		switch {
		case a.By == "":
		case err == nil:
			f.Errorf("%s was not refused", sql)
		case !strings.Contains(err.Error(), a.By):
			f.Errorf("%s was refused for another reason: %v (want %q)", sql, err, a.By)
		}
		if diff := cmp.Diff(before, f.rows("SELECT * FROM t")); diff != "" {
			f.Fatalf("%s had an effect: %s", sql, diff)
		}
		if _, err := os.Stat(file); err == nil {
			f.Fatalf("%s wrote a file", sql)
		}
	}
	if err := f.tryRead(f.Context(), "SELECT * FROM u"); err == nil {
		f.Error("a table was created")
	}
	f.write("DELETE FROM t") // a write still writes
}
