// Package storage is the seam between what the kernel keeps and where it is
// kept. Each store is an interface of the package that uses it; a driver has
// one of each. The drivers are the folders below, and internal/kernel chooses
// one of them.
//
// The law of a driver is the suite in internal/storage/storagetest: two drivers
// that pass it can take each other's place.
package storage

import (
	"strings"

	"callgate/internal/artifact"
	"callgate/internal/conversation/history"
	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/task"
	"callgate/tool"
)

// Stores are the stores of one driver.
type Stores struct {
	Journal       journal.Store
	Approvals     approval.Store
	Conversations history.Store
	Deleter       history.Deleter // deletes conversations
	Documents     document.Store
	Blobs         artifact.Blobs
	Tasks         task.Store
	Queue         task.Queue
	Leases        task.Leases
	TaskLogs      task.Logs
}

// Driver is a place where everything is kept.
type Driver interface {
	// Stores returns the stores, all of them.
	Stores() Stores
	// Close ends the driver, when nobody uses its stores any more.
	Close() error
}

// Check reports the stores that are missing.
func (s Stores) Check() error {
	var missing []string
	for _, store := range []struct {
		name string
		is   bool
	}{
		{"journal", s.Journal != nil},
		{"approvals", s.Approvals != nil},
		{"conversations", s.Conversations != nil},
		{"deleter of conversations", s.Deleter != nil},
		{"documents", s.Documents != nil},
		{"blobs", s.Blobs != nil},
		{"tasks", s.Tasks != nil},
		{"queue of tasks", s.Queue != nil},
		{"leases of tasks", s.Leases != nil},
		{"logs of tasks", s.TaskLogs != nil},
	} {
		if !store.is {
			missing = append(missing, store.name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return tool.Errorf("storage.Check", tool.Internal, "the storage driver has no %s", strings.Join(missing, ", no "))
}
