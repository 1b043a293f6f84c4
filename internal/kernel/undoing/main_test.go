package undoing_test

import (
	"os"
	"testing"
)

// TestMain lets this program be a kernel that is killed in the middle of an undo.
func TestMain(m *testing.M) {
	if state := os.Getenv(doomedVariable); state != "" {
		beDoomed(state)
	}
	os.Exit(m.Run())
}
