package sqltext_test

import (
	"strings"
	"testing"

	"callgate/internal/module/database/sqltext"
)

// What drops a table is known, also behind comments, and what may drop one: by code that is
// not read here, or because it is not known.
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
		"/*! DROP TABLE t */":                   all,
		"/*!50000 DROP */ TABLE t":              "mysql",
		"CREATE OR REPLACE TABLE t (a int)":     all,
		"BEGIN NOT ATOMIC DROP TABLE t; END":    all,
		"PRAGMA writable_schema = 1":            all,
		"DO $$ BEGIN EXECUTE 'x'; END $$":       all,
		"CALL f()":                              all,
		"PREPARE s FROM 'DROP TABLE t'":         all,
		"EXECUTE IMMEDIATE 'DROP TABLE t'":      all,
		"CREATE FUNCTION f() RETURNS int AS ''": all,
		"CREATE OR REPLACE PROCEDURE p() AS ''": all,
		"CREATE EVENT e ON SCHEDULE AT x DO y":  all,
		"ALTER EVENT e DO SELECT 1":             all,

		// What runs or hides another statement.
		"IF 1 THEN EXECUTE IMMEDIATE CONCAT('DROP TA','BLE t'); END IF":        all,
		"BEGIN NOT ATOMIC EXECUTE IMMEDIATE CONCAT('DROP TA','BLE t'); END":    all,
		"BEGIN NOT ATOMIC EXECUTE IMMEDIATE CONCAT('DROP TA','BLE t')":         "mysql",
		"LOOP EXECUTE IMMEDIATE x":                                             all,
		"truncate: LOOP EXECUTE IMMEDIATE x":                                   all,
		"commit :LOOP EXECUTE IMMEDIATE x":                                     all,
		"\u017felect: LOOP EXECUTE IMMEDIATE x":                                all,
		"<<show>> LOOP EXECUTE IMMEDIATE x":                                    all,
		"CASE WHEN 1 THEN EXECUTE s":                                           all,
		"FOR i IN 1..2 DO EXECUTE s":                                           all,
		"EXECUTE s":                                                            all,
		"SET STATEMENT max_statement_time=10 FOR DROP DATABASE d":              all,
		"set /* x */ statement a=1 for execute s":                              all,
		"SET GLOBAL init_connect = 'x'":                                        "sqlite mysql",
		"SET @@global.init_connect = 'x'":                                      "sqlite mysql",
		"BINLOG 'x'":                                                           all,
		"SELECT 1; DROP SCHEMA s CASCADE":                                      all,
		"CREATE TABLE a (trigger_id int, trigger int); DROP SCHEMA s CASCADE":  "postgres mysql",
		"CREATE TRIGGER g AFTER INSERT ON t EXECUTE FUNCTION f()":              "postgres mysql",
		"CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM u; END":          "postgres mysql",
		"CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END; DROP TABLE t": all,
		"CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION f()":       all,
		"CREATE RULE r AS ON INSERT TO t DO ALSO DELETE FROM u":                all,
		"CREATE OR REPLACE FUNCTION f() RETURNS void LANGUAGE sql AS $$x$$":    all,
		"CREATE DEFINER='a'@'b' PROCEDURE p() SELECT 1":                        all,
		"CREATE EXTENSION dblink":                                              all,
		"ALTER EXTENSION e UPDATE":                                             all,
		"ALTER SYSTEM SET archive_command = 'x'":                               all,
		"COPY (SELECT 1) TO PROGRAM 'psql'":                                    all,
		"LOAD 'library'":                                                       all,
		"INSTALL SONAME 'x'":                                                   all,
		"DISCARD ALL":                                                          all,

		// What replaces, and what goes with something else.
		"CREATE OR REPLACE SEQUENCE t":                                      all,
		"CREATE OR REPLACE DATABASE d":                                      all,
		"CREATE OR REPLACE SCHEMA d":                                        all,
		"CREATE OR REPLACE TEMPORARY TABLE t (a int)":                       all,
		"DROP FUNCTION f CASCADE":                                           all,
		"DROP COLLATION c CASCADE":                                          all,
		"ALTER TABLE p CONVERT TABLE t TO PARTITION q VALUES LESS THAN (9)": all,
		"DELETE FROM pg_class WHERE relname = 't'":                          "postgres",
		`WITH x AS (DELETE FROM "pg_class") SELECT`:                         "postgres",
		`UPDATE U&"pg\005fclass" SET relname = 'x'`:                         "postgres",
		"CREATE VIEW v AS SELECT * FROM pg_class":                           "postgres",
		`PRAGMA "writable_schema" = 1`:                                      all,
		"PRAGMA main.[Writable_Schema](1)":                                  all,

		// What the databases read in another way than it looks.
		"DROP /*!999999 INDEX i */ TABLE t":       all,
		"/*!999999 SELECT */ DROP DATABASE d":     all,
		"/*M!999999 SELECT */ DROP DATABASE d":    all,
		"-- x\rDROP SCHEMA public CASCADE":        all,
		"-- x\rDROP SCHEMA public,\nshow CASCADE": "sqlite postgres",
		"-- only a comment":                       all,
		"'SELECT' DROP DATABASE d":                all,

		"(SELECT 1)":                                "",
		"SELECT :a":                                 "",
		"SELECT 1; -- done":                         "",
		"WITH x AS (SELECT 1) SELECT * FROM x":      "",
		"VALUES (1)":                                "",
		"VALUES (:a, :b)":                           "",
		"EXPLAIN SELECT 1":                          "",
		"REPLACE INTO t VALUES (1)":                 "",
		"BEGIN":                                     "",
		"COMMIT":                                    "",
		"ROLLBACK TO s":                             "",
		"START TRANSACTION":                         "sqlite",
		"SHOW search_path":                          "sqlite",
		"SET search_path = a":                       "sqlite",
		"GRANT SELECT ON t TO u":                    "sqlite",
		"RENAME TABLE a TO b":                       "sqlite postgres",
		"LOAD DATA INFILE 'x' INTO TABLE t":         "sqlite postgres",
		"REFRESH MATERIALIZED VIEW v":               "sqlite mysql",
		"PRAGMA foreign_keys = 1":                   "postgres mysql",
		"CREATE TEMPORARY TABLE t (a int)":          "",
		"CREATE TABLE IF NOT EXISTS t AS SELECT 1":  "",
		"CREATE UNIQUE INDEX i ON t (a)":            "",
		"CREATE OR REPLACE VIEW v AS SELECT 1":      "",
		"CREATE VIRTUAL TABLE t USING fts5(a)":      "postgres mysql",
		"CREATE SEQUENCE s":                         "",
		"CREATE DATABASE d":                         "",
		"ALTER TABLE t RENAME TO u":                 "",
		"ALTER TABLE t CONVERT TO CHARACTER SET x":  "",
		"SELECT * FROM pg_class":                    "",
		"INSERT INTO t VALUES ('pg_class', 'u&\"')": "",
		"CREATE TABLE event (procedure_id int)":     "",
		"CREATE TABLE drop_table (a int)":           "",
		"ALTER TABLE t DROP COLUMN c":               "",
		"ALTER TABLE t DROP CONSTRAINT c":           "",
		"DROP INDEX i":                              "",
		"DROP VIEW v":                               "",
		"INSERT INTO t VALUES ('DROP TABLE t')":     "",
		"DELETE FROM t -- DROP TABLE t":             "",
		`UPDATE t SET "drop" = 1`:                   "",
		"TRUNCATE t":                                "",
		"":                                          "",
		"SELECT":                                    "",
	} {
		for name, d := range dialects {
			if why := sqltext.MayDropTable(d, text); (why != "") != strings.Contains(in, name) {
				t.Errorf("%s: %s: %q", name, text, why)
			}
		}
	}
}

// For any text the judgement ends, and what is let through is one statement that begins
// with a word that can be let through.
func FuzzMayDropTable(f *testing.F) {
	for _, s := range []string{
		"DROP TABLE t", "-- x\rDROP", "/*!9 SELECT */ DROP", "a: LOOP", "CREATE OR", "U&\"x\"", "SET", "(((", ";", "\x00", "ſ",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []sqltext.Dialect{sqltext.SQLite, sqltext.Postgres, sqltext.MySQL} {
			why := sqltext.MayDropTable(d, text)
			first := sqltext.First(d, text)
			if why == "" && (first == "" && strings.TrimSpace(text) != "" || first == "EXECUTE" || first == "CALL") {
				t.Errorf("%q is let through", text)
			}
			if why == "" && !sqltext.Single(d, text) {
				t.Errorf("%q holds several statements", text)
			}
		}
	})
}
