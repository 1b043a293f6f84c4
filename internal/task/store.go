package task

import (
	"context"
	"encoding/json"
	"time"

	"callgate/tool"
)

// Store is what clients of tasks use. It is safe for concurrent use.
type Store interface {
	// Create adds a task and returns it as it is kept: queued, with no attempt
	// made. A task of that ID that is there already is returned as it stands, and
	// false.
	Create(ctx context.Context, t Task) (Task, bool, error)
	// Get returns a task, or a NotFound error.
	Get(ctx context.Context, id string) (Task, error)
	// List returns the tasks that match q, in the order of their creation.
	List(ctx context.Context, q Query) ([]Task, error)
	// Cancel asks for the end of a task. One that has ended stays as it is.
	Cancel(ctx context.Context, id, by string) error
	// Told notes that the parents of tasks know of their ends. All must be
	// there and have ended, or none is noted: NotFound, or Conflict.
	Told(ctx context.Context, ids ...string) error
}

// Queue is what runners of tasks use. It is safe for concurrent use, also by
// several processes where the driver allows them.
type Queue interface {
	// Lease gives a holder the tasks that are due, those that were to run first
	// at the beginning: queued tasks whose time has come, and tasks whose lease
	// has ended. Each lease counts as an attempt. A task whose lease has ended and
	// whose attempts are used up fails instead; one that was to be cancelled is.
	Lease(ctx context.Context, r Request) ([]Task, error)
	// Renew makes a lease last for d from now on, notes progress unless it is
	// "", and reports whether the task is to be cancelled.
	Renew(ctx context.Context, id string, fence uint64, d time.Duration, progress string) (cancelled bool, err error)
	// End ends a task.
	End(ctx context.Context, id string, fence uint64, o Outcome) error
	// Retry gives a task back, to be run again at a time, and says why. One
	// whose attempts are used up fails instead, and one that was to be cancelled
	// is.
	Retry(ctx context.Context, id string, fence uint64, at time.Time, why string) error
	// Prune removes the tasks that ended before a time and are not owed to
	// anybody, and returns how many they were.
	Prune(ctx context.Context, endedBefore time.Time) (int, error)
}

// Request is a request for leases.
type Request struct {
	Holder string
	ID     string   // only this task; "": any
	Kinds  []string // only tasks of these kinds; none: any
	N      int      // how many at most; 0: one
	// Own leases also tasks that Holder holds and does not run: their leases are of
	// its former process, and need not be waited for. Runs names those that it runs.
	Own  bool
	Runs []string
	For  time.Duration // how long a lease lasts; one that is not positive has ended already
}

// Query selects tasks. Zero fields do not restrict.
type Query struct {
	Parent string
	Kind   string
	State  State
	Owed   bool   // only those that are owed to their parent
	After  string // the ID of a task: only those that were created later
	Limit  int    // 0, or more than MaxList: MaxList
}

// MaxList is the most tasks of one list.
const MaxList = 1000

// Check reports a task that no store takes. Drivers call it first.
func Check(t Task) error {
	const op = "task.Create"
	switch {
	case t.ID == "":
		return tool.Errorf(op, tool.Invalid, "a task has no ID")
	case t.Kind == "":
		return tool.Errorf(op, tool.Invalid, "the task %s has no kind", t.ID)
	case t.MaxAttempts < 0:
		return tool.Errorf(op, tool.Invalid, "the task %s has %d attempts", t.ID, t.MaxAttempts)
	case len(t.Input) > 0 && !json.Valid(t.Input):
		return tool.Errorf(op, tool.Invalid, "the input of the task %s is not JSON", t.ID)
	}
	return nil
}

// CheckOutcome reports an outcome that ends no task. Drivers call it first.
func CheckOutcome(id string, o Outcome) error {
	const op = "task.End"
	switch {
	case !o.State.Final():
		return tool.Errorf(op, tool.Invalid, "the task %s cannot end as %q", id, o.State)
	case len(o.Data) > 0 && !json.Valid(o.Data):
		return tool.Errorf(op, tool.Invalid, "the data of the task %s is not JSON", id)
	}
	return nil
}

// NotFound is the error of a task that is not there.
func NotFound(id string) error {
	return tool.Errorf("task", tool.NotFound, "there is no task %q", tool.Truncate(id))
}

// StaleFence is the error of a holder whose lease is not the newest, or whose
// task has ended.
func StaleFence(id string, fence uint64) error {
	return tool.Errorf("task", tool.Conflict, "the lease %d of the task %s is over", fence, id).
		WithHint("another holder runs it, or it has ended: stop, and leave it alone")
}

// Exhausted is the outcome of a task whose attempts are used up.
func Exhausted(attempts int, why string) Outcome {
	e := tool.Errorf("task", tool.Failed, "it did not succeed in %d attempts", attempts)
	if why != "" {
		e.Message += "; the last one: " + why
	}
	return Outcome{State: Failed, Summary: e.Message, Error: e}
}

// CancelledOutcome is the outcome of a task that was cancelled while nobody ran
// it.
func CancelledOutcome(by string) Outcome {
	return Outcome{State: Cancelled, Summary: "cancelled by " + by}
}
