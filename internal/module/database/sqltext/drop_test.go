package sqltext_test

import (
	"strings"
	"testing"

	"callgate/internal/module/database/sqltext"
)

// What drops a table is known, also behind comments, and what may drop one by code that is
// not read here.
func TestMayDropTable(t *testing.T) {
	t.Parallel()
	const all = "sqlite postgres mysql"
	dialects := map[string]sqltext.Dialect{"sqlite": sqltext.SQLite, "postgres": sqltext.Postgres, "mysql": sqltext.MySQL}
	for text, in := range map[string]string{
		"DROP TABLE t":                          all,
		"drop/**/table if exists a, b":          all,
		"-- a note\n DROP\nTABLE t":             all,
		"DROP TEMPORARY TABLE t":                all,
		"DROP TABLES t":                         all,
		"DROP FOREIGN TABLE t":                  all,
		"DROP SCHEMA s CASCADE":                 all,
		"DROP DATABASE d":                       all,
		"DROP OWNED BY me":                      all,
		"DROP TYPE t CASCADE":                   all,
		"/*! DROP TABLE t */":                   "mysql",
		"/*!50000 DROP */ TABLE t":              "mysql",
		"CREATE OR REPLACE TABLE t (a int)":     all,
		"BEGIN NOT ATOMIC DROP TABLE t; END":    all,
		"PRAGMA writable_schema = 1":            all,
		"DO $$ BEGIN EXECUTE 'x'; END $$":       all,
		"CALL f()":                              all,
		"PREPARE s FROM 'DROP TABLE t'":         all,
		"EXECUTE IMMEDIATE 'DROP TABLE t'":      all,
		"CREATE FUNCTION f() RETURNS int AS ''": "postgres mysql",
		"CREATE OR REPLACE PROCEDURE p() AS ''": "postgres mysql",
		"CREATE EVENT e ON SCHEDULE AT x DO y":  "postgres mysql",
		"ALTER EVENT e DO SELECT 1":             "postgres mysql",
		"CREATE TABLE event (procedure_id int)": "",
		"CREATE TABLE drop_table (a int)":       "",
		"ALTER TABLE t DROP COLUMN c":           "",
		"ALTER TABLE t DROP CONSTRAINT c":       "",
		"DROP INDEX i":                          "",
		"DROP VIEW v":                           "",
		"INSERT INTO t VALUES ('DROP TABLE t')": "",
		"DELETE FROM t -- DROP TABLE t":         "",
		`UPDATE t SET "drop" = 1`:               "",
		"TRUNCATE t":                            "",
		"":                                      "",
		"SELECT":                                "",
	} {
		for name, d := range dialects {
			if why := sqltext.MayDropTable(d, text); (why != "") != strings.Contains(in, name) {
				t.Errorf("%s: %s: %q", name, text, why)
			}
		}
	}
}
