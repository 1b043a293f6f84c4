// Package tasktest is the part of the conformance suite that is about tasks: their
// store, their queue, their leases and their logs. Law: what internal/task says, each
// sentence by a test that a driver can fail. River, the queue of a later driver, has
// published what it got wrong; each of its fixes is a case of pitfalls.go.
package tasktest

import (
	"testing"

	"callgate/internal/storage"
	"callgate/tool"
)

// Open opens a driver at a place, as that of internal/storage/storagetest does.
type Open func(t *testing.T, place string) storage.Driver

// Tasks tests a driver's stores of tasks. A lease that is not for a positive time has
// ended at once, so nothing here waits for a clock.
func Tasks(t *testing.T, open Open) {
	run(t, open, map[string]func(*testing.T, storage.Driver){
		"RoundTrip":       taskRoundTrip,
		"CreateTwice":     createsTaskOnce,
		"CreateEnded":     createsNotices,
		"NotFound":        taskNotFound,
		"Refuses":         refusesBadTasks,
		"LeaseOrder":      leasesInOrder,
		"LeaseFilters":    leasesByKindAndID,
		"LeaseEnds":       leaseEnds,
		"LeaseOwn":        leasesOwn,
		"LeaseTwice":      leavesOwnAlone,
		"Next":            nextDue,
		"StaleFence":      staleFence,
		"Renew":           renewsLeases,
		"Save":            savesData,
		"End":             endsTask,
		"Retry":           retriesTask,
		"Again":           runsAgain,
		"Release":         releasesTask,
		"Attempts":        attemptsAreCounted,
		"CancelQueued":    cancelsQueued,
		"CancelRunning":   cancelsRunning,
		"CancelAbandoned": cancelsAbandoned,
		"CancelEnded":     cancelsEnded,
		"Lists":           listsTasks,
		"Pages":           listsTasksInPages,
		"Told":            tellsOnce,
		"Prune":           prunesTasks,
		"Logs":            keepsLogs,
		"AnyText":         keepsAnyText,
		"OneHolder":       func(t *testing.T, d storage.Driver) { leaseAtOnce(t, d, d) },
	})
	t.Run("River", func(t *testing.T) { run(t, open, pitfalls()) })
	t.Run("Persists", func(t *testing.T) { tasksPersist(t, open) })
}

// run runs tests by name and in parallel, every one on a driver of its own.
func run(t *testing.T, open Open, tests map[string]func(*testing.T, storage.Driver)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, openAt(t, open, t.TempDir()))
		})
	}
}

// Shared tests two handles on one place.
func Shared(t *testing.T, open Open) {
	for name, test := range map[string]func(t *testing.T, a, b storage.Driver){
		"OneHolder":  leaseAtOnce,
		"Fences":     sharedFences,
		"Cancelling": sharedCancel,
		"UniqueRace": sharedCreate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := t.TempDir()
			test(t, openAt(t, open, place), openAt(t, open, place))
		})
	}
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

// isKind checks the kind of an error.
func isKind(t *testing.T, what string, err error, kind tool.Kind) {
	t.Helper()
	if tool.KindOf(err) != kind {
		t.Errorf("%s: %v, want kind %q", what, err, kind)
	}
}
