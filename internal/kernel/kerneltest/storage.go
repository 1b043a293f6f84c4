package kerneltest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"callgate/internal/statedir"
	"callgate/internal/storage/postgres/postgrestest"
	"callgate/internal/storage/sqlite"
)

// Postgres is the server of the test program, which Main stops.
var Postgres postgrestest.Server

const onPostgres = "postgres"

// OnEachStorage runs a test whose result depends on the storage: once with kernels that
// keep everything in SQLite, and once with kernels that keep it in PostgreSQL.
func OnEachStorage(t *testing.T, test func(t *testing.T)) {
	t.Run("sqlite", test)
	t.Run(onPostgres, test)
}

// OnPostgres reports whether the kernels of a test keep everything in PostgreSQL.
func OnPostgres(t testing.TB) bool { return strings.Contains(t.Name()+"/", "/"+onPostgres+"/") }

// PrepareState prepares a state directory for the first kernel that opens it. Below
// OnEachStorage's "postgres", all kernels of the directory, in other processes too, use a
// schema of their own on the server of the test program. Otherwise the directory gets a
// copy of a migrated database, which saves half of the time that a first start takes.
func PrepareState(t testing.TB, state string) {
	t.Helper()
	dir, err := statedir.At(state)
	OK(t, err)
	if _, err := os.Lstat(dir.Database()); !errors.Is(err, fs.ErrNotExist) {
		return // the test, or a kernel before, brought it
	}
	if url, err := dir.ReadDatabaseURL(); err != nil || url != "" {
		return
	}
	if OnPostgres(t) {
		OK(t, dir.Make())
		OK(t, dir.WriteDatabaseURL(SchemaURL(t, state)))
		return
	}
	if node, err := dir.ReadNode(); err != nil || node != "" || !isFolder(state) {
		return // the kernel makes its own
	}
	migrated, err := template()
	OK(t, err)
	OK(t, os.WriteFile(dir.Database(), migrated, 0o600))
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// template returns an empty database of the present schema, which each test program makes once.
var template = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "callgate-template-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "callgate.db")
	db, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// SchemaURL is the URL of a schema that only what has this name uses.
func SchemaURL(t testing.TB, name string) string {
	t.Helper()
	return Postgres.Schema(t, fmt.Sprintf("t%x", sha256.Sum224([]byte(name))))
}
