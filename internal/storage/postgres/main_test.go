package postgres_test

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"testing"

	"callgate/internal/module/database/enginetest"
	"callgate/internal/storage"
	"callgate/internal/storage/postgres"
)

// servers is the cluster that the tests of this package share, each in a schema of its own; crashed is that of the one
// test that kills it.
var servers, crashed enginetest.Servers

func TestMain(m *testing.M) {
	code := servers.Main(m)
	crashed.Stop()
	os.Exit(code)
}

// address is the URL of a schema of a server.
func address(s *enginetest.Server, schema string) string {
	return (&url.URL{
		Scheme: "postgres", User: url.UserPassword(s.User, enginetest.Password), Host: "127.0.0.1:" + strconv.Itoa(s.Port),
		Path: "/postgres", RawQuery: url.Values{"search_path": {schema}, "sslmode": {"disable"}}.Encode(),
	}).String()
}

// schemaAt is the name of a schema that only a test's folder has.
func schemaAt(place string) string { return fmt.Sprintf("t%x", sha256.Sum224([]byte(place))) }

func openDriver(t *testing.T, place string) storage.Driver { return openDB(t, place) }

func openDB(t *testing.T, place string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), address(servers.Postgres(t), schemaAt(place)))
	if err != nil {
		t.Fatal(err)
	}
	return db
}
