package tasks_test

import (
	"os"
	"testing"

	"callgate/internal/storage/postgres/postgrestest"
)

// server is the PostgreSQL of the tests of several nodes.
var server postgrestest.Server

func TestMain(m *testing.M) {
	if os.Getenv(childNode) != "" {
		os.Exit(beNode())
	}
	os.Exit(server.Main(m))
}
