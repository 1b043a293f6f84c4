package sqlite_test

import (
	"path/filepath"
	"testing"

	"callgate/internal/storage"
	"callgate/internal/storage/sqlite"
	"callgate/internal/storage/storagetest"
)

func openDriver(t *testing.T, place string) storage.Driver {
	db, err := sqlite.Open(t.Context(), filepath.Join(place, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storagetest.Driver(t, openDriver)
}

func TestTwoHandles(t *testing.T) {
	t.Parallel()
	storagetest.Shared(t, openDriver)
}
