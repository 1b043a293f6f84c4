package sqlite_test

import (
	"path/filepath"
	"testing"

	"callgate/internal/storage/sqlite"
	"callgate/internal/storage/storagetest"
)

func TestConformance(t *testing.T) {
	storagetest.Run(t, func(t *testing.T, place string) storagetest.Driver {
		db, err := sqlite.Open(t.Context(), filepath.Join(place, "state.db"))
		if err != nil {
			t.Fatal(err)
		}
		return db
	})
}
