package postgres_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"testing"
	"time"

	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/postgrestest"
)

// server is what the tests of this package share, each in a schema of its own; crashed is that of the one test that
// kills it.
var (
	server  postgrestest.Server
	crashed = postgrestest.Own()
)

func TestMain(m *testing.M) {
	code := server.Main(m)
	crashed.Stop()
	os.Exit(code)
}

// schemaAt is the name of a schema that only a test's folder has.
func schemaAt(place string) string { return fmt.Sprintf("t%x", sha256.Sum224([]byte(place))) }

// node is a node of which nothing but its ID matters, and which lives as long as a test may take.
func node(id string) postgres.Node { return postgres.Node{ID: id, Lease: time.Hour} }

func openDB(t *testing.T, place string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), server.Schema(t, schemaAt(place)), node("n"))
	if err != nil {
		t.Fatal(err)
	}
	return db
}
