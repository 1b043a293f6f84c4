package enginetest

import (
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/mysql"
	"callgate/internal/module/database/postgres"
	"callgate/internal/module/database/sqlite"
)

// All returns every kind of database.
func All(s *Servers) []Database {
	return []Database{SQLite(), Memory(), Postgres(s), MariaDB(s)}
}

const endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) "

// SQLite is a file.
func SQLite() Database {
	return Database{
		Name: "sqlite",
		Open: func(t testing.TB) engine.Engine {
			t.Helper()
			path := filepath.Join(t.TempDir(), "data.db")
			return OpenSQLite(t, path)
		},
		Serial: "INTEGER PRIMARY KEY", Decimal: "TEXT", Blob: "BLOB", JSON: "JSON",
		Slow:         endless + "SELECT max(n) FROM c",
		SlowAfterRow: endless + "SELECT 1 AS x UNION ALL SELECT max(n) FROM c",
		SlowInsert:   endless + "INSERT INTO t SELECT max(n) FROM c",
		Many:         "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n < 10000000) SELECT n FROM c",
		Prepare:      []string{"CREATE INDEX ti ON t (a)"},
		Attempts:     sqliteAttempts,
	}
}

// Memory is a SQLite database in memory.
func Memory() Database {
	db := SQLite()
	db.Name = "memory"
	db.Open = func(t testing.TB) engine.Engine {
		t.Helper()
		return OpenSQLite(t, "")
	}
	return db
}

// OpenSQLite opens a file, which it creates; "" is a database in memory.
func OpenSQLite(t testing.TB, path string) engine.Engine {
	t.Helper()
	if path != "" {
		createFile(t, path)
	}
	e, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Shown: filepath.Base(path)})
	return opened(t, e, err)
}

// Postgres is a database on a PostgreSQL server.
func Postgres(s *Servers) Database {
	return Database{
		Name: "postgres",
		Open: func(t testing.TB) engine.Engine {
			t.Helper()
			server := s.Postgres(t)
			e, err := postgres.Open(t.Context(), postgres.Config{
				Host: "127.0.0.1", Port: server.Port, User: server.User, Password: Password, Database: server.NewDatabase(t),
			})
			return opened(t, e, err)
		},
		Serial: "SERIAL PRIMARY KEY", Decimal: "NUMERIC(30,10)", Blob: "BYTEA", JSON: "JSONB",
		Slow:         "SELECT pg_sleep(60)",
		SlowAfterRow: "SELECT 1 UNION ALL SELECT length(pg_sleep(60)::text)",
		SlowInsert:   "INSERT INTO t SELECT length(pg_sleep(60)::text)",
		Many:         "SELECT generate_series(1, 10000000) AS n",
		Prepare:      postgresPrepare,
		Attempts:     postgresAttempts,
		Running: func(t testing.TB, e engine.Engine) int {
			return number(t, s.Postgres(t), `SELECT count(*) FROM pg_stat_activity
				WHERE datname = $1 AND state = 'active' AND pid <> pg_backend_pid()`, databaseOf(e))
		},
		Disconnect: func(t testing.TB, e engine.Engine) {
			number(t, s.Postgres(t), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
				WHERE datname = $1`, databaseOf(e))
		},
	}
}

// MariaDB is a database on a MariaDB server.
func MariaDB(s *Servers) Database {
	return Database{
		Name: "mariadb",
		Open: func(t testing.TB) engine.Engine {
			t.Helper()
			server := s.MariaDB(t)
			e, err := mysql.Open(t.Context(), mysql.Config{
				Host: "127.0.0.1", Port: server.Port, User: server.User, Password: Password, Database: server.NewDatabase(t),
			})
			return opened(t, e, err)
		},
		Serial: "INTEGER AUTO_INCREMENT PRIMARY KEY", Decimal: "DECIMAL(30,10)", Blob: "BLOB", JSON: "JSON",
		Slow:         "SELECT SLEEP(60)",
		SlowAfterRow: "SELECT 1 UNION ALL SELECT SLEEP(60)",
		SlowInsert:   "INSERT INTO t SELECT SLEEP(60)",
		Many:         "SELECT seq FROM seq_1_to_10000000",
		Prepare:      mariadbPrepare,
		Attempts:     mariadbAttempts,
		Running: func(t testing.TB, e engine.Engine) int {
			return number(t, s.MariaDB(t), `SELECT count(*) FROM information_schema.processlist
				WHERE db = ? AND command IN ('Query', 'Execute')`, databaseOf(e))
		},
		Disconnect: func(t testing.TB, e engine.Engine) { disconnectMariaDB(t, s.MariaDB(t), databaseOf(e)) },
	}
}

func opened(t testing.TB, e engine.Engine, err error) engine.Engine {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return e
}

// databaseOf returns the name of the engine's database on its server.
func databaseOf(e engine.Engine) string {
	place := e.Info().Place
	return place[strings.LastIndexByte(place, '/')+1:]
}

// number asks a server for one number.
func number(t testing.TB, s *Server, query string, args ...any) (n int) {
	t.Helper()
	if err := s.Admin.QueryRow(query, args...).Scan(&n); err != nil {
		t.Error(err)
	}
	return n
}

func disconnectMariaDB(t testing.TB, s *Server, database string) {
	t.Helper()
	rows, err := s.Admin.Query("SELECT id FROM information_schema.processlist WHERE db = ?", database)
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
		if _, err := s.Admin.Exec("KILL " + id); err != nil {
			t.Error(err)
		}
	}
}
