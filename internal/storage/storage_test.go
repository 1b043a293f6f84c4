package storage_test

import (
	"strings"
	"testing"

	"callgate/internal/artifact"
	"callgate/internal/storage"
	"callgate/tool"
)

// Stores that are not complete are refused by name.
func TestCheckNamesWhatIsMissing(t *testing.T) {
	err := storage.Stores{Blobs: artifact.NewFolder(t.TempDir())}.Check()
	if tool.KindOf(err) != tool.Internal {
		t.Fatalf("got %v", err)
	}
	for _, name := range []string{"journal", "approvals", "conversations", "deleter", "documents", "tasks", "queue"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
	}
	if strings.Contains(err.Error(), "blobs") {
		t.Errorf("%q names what is there", err)
	}
}
