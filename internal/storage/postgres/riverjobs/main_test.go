package riverjobs_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"testing"
	"time"

	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/postgrestest"
)

var server postgrestest.Server

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// place is a schema that only this test has.
func place(t *testing.T) string {
	t.Helper()
	sum := sha256.Sum256([]byte(t.TempDir()))
	return server.Schema(t, fmt.Sprintf("t%x", sum[:16]))
}

// openNode opens a node of a place, which lives as long as a test may take.
func openNode(t testing.TB, at, id string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), at, postgres.Node{ID: id, Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// ask returns what a statement gives, as a number.
func ask(t *testing.T, db *postgres.DB, statement string, args ...any) (n int) {
	t.Helper()
	if err := db.Pool().QueryRow(context.Background(), statement, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func run(t *testing.T, db *postgres.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.Pool().Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
