package postgres_test

import (
	"testing"

	"callgate/internal/storage/storagetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storagetest.Driver(t, openDriver)
}

func TestTwoHandles(t *testing.T) {
	t.Parallel()
	storagetest.Shared(t, openDriver)
}
