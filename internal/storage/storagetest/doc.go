// Package storagetest is the one conformance suite of every storage driver: a
// driver is right when it passes, and two that pass can take each other's
// place.
//
// A driver's test calls Run with a function that opens it at a place. Opening
// the same place again, after Close, finds what was kept there.
package storagetest

import (
	"testing"

	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
)

// Driver is one open database.
type Driver interface {
	Journal() journal.Store
	Approvals() approval.Store
	Conversations() history.Store
	Close() error
}

// Open opens a driver at a place. A place is a fresh folder of the test's own;
// a driver that needs none may take it as a name.
type Open func(t *testing.T, place string) Driver

// Run puts a driver through the whole suite.
func Run(t *testing.T, open Open) {
	t.Run("Journal", func(t *testing.T) { Journal(t, open) })
	t.Run("Approvals", func(t *testing.T) { Approvals(t, open) })
	t.Run("Sessions", func(t *testing.T) { Conversations(t, open) })
}

// start opens a fresh database that closes with the test.
func start(t *testing.T, open Open) Driver {
	t.Helper()
	d := open(t, t.TempDir())
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return d
}

// each runs tests by name, every one on a database of its own.
func each(t *testing.T, open Open, tests map[string]func(*testing.T, Driver)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, start(t, open)) })
	}
}
