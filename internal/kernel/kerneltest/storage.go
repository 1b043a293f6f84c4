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

	"callgate/internal/secret"
	"callgate/internal/secret/authority"
	"callgate/internal/statedir"
	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/plainrows"
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

// PrepareState has all kernels of a new state directory, in other processes too, use a
// schema of their own on the server of the test program, below OnEachStorage's "postgres".
func PrepareState(t testing.TB, state string) {
	t.Helper()
	dir, err := statedir.At(state)
	OK(t, err)
	if OnPostgres(t) && isNew(dir) {
		OK(t, dir.Make())
		OK(t, dir.WriteDatabaseURL(SchemaURL(t, state)))
		PlaceKey(t, state)
	}
}

// PlaceKey places the key of a cluster in a state directory, as its operator does at each node, unless there is one.
func PlaceKey(t testing.TB, state string) {
	t.Helper()
	dir, err := statedir.At(state)
	OK(t, err)
	if _, err := os.Lstat(dir.UsersKey()); errors.Is(err, fs.ErrNotExist) {
		OK(t, dir.Make())
		OK(t, os.WriteFile(dir.UsersKey(), []byte(strings.Repeat("c4", 32)), 0o600))
	}
}

// SignRows signs the rows of a database that have no code, for a test that has changed one as a node would.
func SignRows(t testing.TB, url string) {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, postgres.Node{ID: "signer", Key: ClusterKey(t)})
	OK(t, err)
	_, err = plainrows.Sign(t.Context(), db.DB, true)
	OK(t, err)
	OK(t, db.Close())
}

// ClusterKey is the key that PlaceKey places.
func ClusterKey(t testing.TB) *authority.Key {
	t.Helper()
	state := t.TempDir()
	PlaceKey(t, state)
	dir, err := statedir.At(state)
	OK(t, err)
	placed, err := secret.ReadPlaced(dir.UsersKey())
	OK(t, err)
	return authority.New(placed)
}

// prepareSQLite gives a new state directory a copy of a migrated database. That saves half
// of the time that a kernel takes to start in it.
func prepareSQLite(t testing.TB, state string) {
	t.Helper()
	dir, err := statedir.At(state)
	OK(t, err)
	if node, err := dir.ReadNode(); err != nil || node != "" || !isNew(dir) || !isFolder(state) {
		return // the kernel makes its own, or refuses the directory
	}
	migrated, err := template()
	OK(t, err)
	OK(t, os.WriteFile(dir.Database(), migrated, 0o600))
}

// isNew reports whether neither a test nor a kernel has given a directory its storage.
func isNew(dir statedir.Dir) bool {
	url, err := dir.ReadDatabaseURL()
	_, none := os.Lstat(dir.Database())
	return err == nil && url == "" && errors.Is(none, fs.ErrNotExist)
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
