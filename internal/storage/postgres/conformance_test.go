package postgres_test

import (
	"strings"
	"sync"
	"testing"

	"callgate/internal/storage"
	"callgate/internal/storage/postgres"
	"callgate/internal/storage/storagetest"
)

// The suite, in one schema for all of its tests: each is a node, or several one after the other, and finds what the
// others keep under the same keys, before it and at the same time. Blobs are what nodes share: see TestBlobOwners.
// So are some documents, and the tables have those of all.
func TestConformance(t *testing.T) {
	t.Parallel()
	shared := t.TempDir()
	storagetest.Driver(t, func(t *testing.T, place string) storage.Driver {
		at := server.Schema(t, schemaAt(shared))
		if strings.Contains(t.Name(), "/Blobs/") || strings.Contains(t.Name(), "/Tables/") {
			at = server.Schema(t, schemaAt(place))
		}
		db, err := postgres.Open(t.Context(), at, node(schemaAt(place)))
		if err != nil {
			t.Fatal(err)
		}
		return db
	})
}

// openNode opens a node that closes with the test.
func openNode(t *testing.T, address, id string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), address, node(id))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return db
}

// Who opens a node twice fences off the first, so two handles of it are one: what the suite has two processes do at
// once, the goroutines of one do over their own connections.
func TestTwoHandles(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	var opened sync.Map // by place
	storagetest.Shared(t, func(t *testing.T, place string) storage.Driver {
		if db, there := opened.Load(place); there {
			return db.(*postgres.DB)
		}
		db, err := postgres.Open(t.Context(), at, node(schemaAt(place)))
		if err != nil {
			t.Fatal(err)
		}
		opened.Store(place, db)
		return db
	})
}
