package kerneltest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"testing"

	"callgate/internal/statedir"
	"callgate/internal/storage/postgres/postgrestest"
)

// StorageVariable says where the kernels of tests keep everything: "postgres" is a server of the test program's own,
// and else it is SQLite in the state directory.
const StorageVariable = "CALLGATE_TEST_STORAGE"

// Postgres is the server of the test program, which Main stops.
var Postgres postgrestest.Server

// OnPostgres reports whether the kernels of tests keep everything in PostgreSQL.
func OnPostgres() bool { return os.Getenv(StorageVariable) == "postgres" }

// NeedSQLite skips a test of what only the file of SQLite has.
func NeedSQLite(t testing.TB) {
	t.Helper()
	if OnPostgres() {
		t.Skip("it is about the file of SQLite")
	}
}

// PrepareState has the kernels of a state directory, also those of other processes, use a schema of their own on the
// server of the test program, if the kernels of tests are to.
func PrepareState(t testing.TB, state string) {
	t.Helper()
	dir, err := statedir.At(state)
	OK(t, err)
	if !OnPostgres() {
		return
	}
	if _, err := os.Lstat(dir.Database()); err == nil {
		return // a test brought it
	}
	if url, err := dir.ReadDatabaseURL(); err != nil || url != "" {
		return
	}
	OK(t, dir.Make())
	OK(t, dir.WriteDatabaseURL(SchemaURL(t, state)))
}

// SchemaURL is the URL of a schema that only what has this name uses.
func SchemaURL(t testing.TB, name string) string {
	t.Helper()
	return Postgres.Schema(t, fmt.Sprintf("t%x", sha256.Sum224([]byte(name))))
}
