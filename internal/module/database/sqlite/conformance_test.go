package sqlite_test

import (
	"testing"

	"callgate/internal/module/database/enginetest"
)

func TestConformance(t *testing.T) {
	for _, db := range []enginetest.Database{enginetest.SQLite(), enginetest.Memory()} {
		t.Run(db.Name, func(t *testing.T) { enginetest.Run(t, db) })
	}
}
