// Package storagetest is the one conformance suite of every storage driver: a
// driver is right when it passes, and two that pass can take each other's
// place.
//
// A driver's test calls Driver with a function that opens it at a place. Opening
// the same place again, after Close, finds what was kept there. The test of a
// driver that may be open at one place several times at once calls Shared too.
package storagetest

import (
	"testing"

	"callgate/internal/storage"
	"callgate/internal/storage/storagetest/tabletest"
	"callgate/internal/storage/storagetest/tasktest"
	"callgate/tool"
)

// Open opens a driver at a place. A place is a fresh folder of the test's own;
// a driver that needs none may take it as a name.
type Open func(t *testing.T, place string) storage.Driver

// Driver puts a driver through the whole suite.
func Driver(t *testing.T, open Open) {
	t.Run("Complete", func(t *testing.T) {
		t.Parallel()
		if err := start(t, open).Stores().Check(); err != nil {
			t.Error(err)
		}
	})
	t.Run("StrangeNames", func(t *testing.T) {
		t.Parallel()
		strangeNames(t, start(t, open))
	})
	t.Run("Journal", func(t *testing.T) { Journal(t, open) })
	t.Run("Approvals", func(t *testing.T) { Approvals(t, open) })
	t.Run("Conversations", func(t *testing.T) { Conversations(t, open) })
	t.Run("Documents", func(t *testing.T) { Documents(t, open) })
	t.Run("Blobs", func(t *testing.T) { Blobs(t, open) })
	t.Run("Tasks", func(t *testing.T) { tasktest.Tasks(t, tasktest.Open(open)) })
	t.Run("Tables", func(t *testing.T) { tabletest.Tables(t, tabletest.Open(open)) })
}

// strangeNames: a name that nothing can have is absent, and no failure of the store.
func strangeNames(t *testing.T, d storage.Driver) {
	const name = "a\x00\xff"
	s := d.Stores()
	_, err := s.Approvals.Get(t.Context(), name)
	isKind(t, "an approval", err, tool.NotFound)
	_, err = s.Conversations.Get(t.Context(), name)
	isKind(t, "a conversation", err, tool.NotFound)
	_, err = s.Documents.Get(t.Context(), name, name)
	isKind(t, "a document", err, tool.NotFound)
	_, err = s.Tasks.Get(t.Context(), name)
	isKind(t, "a task", err, tool.NotFound)
	if list, err := s.Documents.List(t.Context(), name, "", name, 1); err != nil || len(list) != 0 {
		t.Errorf("documents: %v, %v", list, err)
	}
}

// Shared tests two handles on one place.
func Shared(t *testing.T, open Open) {
	t.Run("Tasks", func(t *testing.T) { tasktest.Shared(t, tasktest.Open(open)) })
	for name, test := range map[string]func(t *testing.T, a, b storage.Driver){
		"Documents":   sharedDocuments,
		"OneWriter":   sharedWriters,
		"OneApproval": sharedApprovals,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := t.TempDir()
			test(t, openAt(t, open, place), openAt(t, open, place))
		})
	}
}

// start opens a fresh driver that closes with the test.
func start(t *testing.T, open Open) storage.Driver {
	t.Helper()
	return openAt(t, open, t.TempDir())
}

func openAt(t *testing.T, open Open, place string) storage.Driver {
	t.Helper()
	d := open(t, place)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return d
}

// reopen opens a place three times, one after the other.
func reopen(t *testing.T, open Open, visit func(t *testing.T, n int, d storage.Driver)) {
	t.Helper()
	place := t.TempDir()
	for n := range 3 {
		d := open(t, place)
		visit(t, n, d)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// each runs tests by name and in parallel, every one on a driver of its own.
func each(t *testing.T, open Open, tests map[string]func(*testing.T, storage.Driver)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start(t, open))
		})
	}
}

// isKind checks the kind of an error.
func isKind(t *testing.T, what string, err error, kind tool.Kind) {
	t.Helper()
	if tool.KindOf(err) != kind {
		t.Errorf("%s: %v, want kind %q", what, err, kind)
	}
}
