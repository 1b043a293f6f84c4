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
	// made; or ended, if it has an outcome. A task of that ID that is there already
	// is returned as it stands, and false.
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
	// whose attempts are used up ends in doubt instead; one that was to be cancelled
	// is. Those are returned as ended. What Holder holds itself is left alone, however
	// late it is renewed: a holder never runs a task twice at once.
	Lease(ctx context.Context, r Request) (leased, ended []Task, err error)
	// Renew makes leases last for d from now on, all in one transaction. A lease
	// that is over does not keep the others from being renewed.
	Renew(ctx context.Context, leases []Renewal, d time.Duration) (Renewed, error)
	// Next returns when Lease will give a holder a task of some kinds (none: any):
	// when it is to be run, or at the end of another's lease. The zero time: there is
	// none.
	Next(ctx context.Context, holder string, kinds ...string) (time.Time, error)
	// Prune removes the tasks that ended before a time and are not owed to
	// anybody, with their logs, and returns how many they were. It holds other
	// writes for a moment at a time, however many they are.
	Prune(ctx context.Context, endedBefore time.Time) (int, error)
}

// Leases is what the holder of a lease says of its task. The fence is that of the
// lease; one that is not the newest, and a task that has ended, are a Conflict.
type Leases interface {
	// Save keeps data between runs. It survives the process at once, and the
	// machine with the next thing that is stored for good, such as a record of the
	// journal that a call began.
	Save(ctx context.Context, id string, fence uint64, data json.RawMessage) error
	// Again gives a task back with new data (nil: it stays), to be run at a time; its
	// attempts begin anew. One that was to be cancelled is. It lasts like Save.
	Again(ctx context.Context, id string, fence uint64, at time.Time, data json.RawMessage) error
	// Retry gives a task back, to be run again at a time, and says why. One
	// whose attempts are used up fails instead, and one that was to be cancelled
	// is.
	Retry(ctx context.Context, id string, fence uint64, at time.Time, why string) error
	// Release gives a task back as it was leased: it is due, and the attempt does
	// not count. One that was to be cancelled is.
	Release(ctx context.Context, id string, fence uint64) error
	// End ends a task.
	End(ctx context.Context, id string, fence uint64, o Outcome) error
}

// Logs keeps what runners note of their tasks, for people. An entry survives the
// process; what a crash of the machine loses is a line for people.
type Logs interface {
	// Append adds an entry, and keeps the newest of the task: at most keep of them.
	Append(ctx context.Context, id string, e Entry, keep int) error
	// Entries returns the newest n entries of a task (0: all), the oldest first.
	Entries(ctx context.Context, id string, n int) ([]Entry, error)
}

// Request is a request for leases.
type Request struct {
	Holder string
	ID     string   // only this task; "": any
	Kinds  []string // only tasks of these kinds; none: any
	N      int      // how many at most; 0: one
	// Own leases also the tasks that Holder holds and does not run: their leases are of
	// its former process, and are not waited for. Runs names those that it runs.
	Own  bool
	Runs []string
	For  time.Duration // how long a lease lasts; one that is not positive has ended already
}

// Renewal is a lease to be renewed.
type Renewal struct {
	ID       string
	Fence    uint64
	Progress string // noted with the task, unless it is ""
}

// Renewed is what a renewal found.
type Renewed struct {
	Cancelled []string // tasks that are renewed, and are to be cancelled
	Lost      []string // tasks whose lease is over, or that are not there
}

// Query selects tasks. Zero fields do not restrict.
type Query struct {
	Parent  string
	Session string   // of the asker
	Kinds   []string // one of these
	State   State
	Active  bool   // only those that have not ended
	Owed    bool   // only those that are owed to their parent
	Newest  bool   // the newest first
	After   string // the ID of a task: only those that come after it in the list
	Limit   int    // 0, or more than MaxList: MaxList
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
	case t.Outcome != nil:
		if err := CheckOutcome(t.ID, *t.Outcome); err != nil {
			return err
		}
	}
	return CheckData(t.ID, t.Data)
}

// CheckData reports data that no store takes. Drivers call it first.
func CheckData(id string, data json.RawMessage) error {
	if len(data) > 0 && !json.Valid(data) {
		return tool.Errorf("task", tool.Invalid, "the data of the task %s is not JSON", id)
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
		return tool.Errorf(op, tool.Invalid, "the data of the outcome of the task %s is not JSON", id)
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

// Exhausted is the outcome of a task that was given back and whose attempts are
// used up.
func Exhausted(attempts int, why string) Outcome {
	e := tool.Errorf("task", tool.Failed, "it did not succeed in %d attempts", attempts)
	if why != "" {
		e.Message += "; the last one: " + why
	}
	return Outcome{State: Failed, Summary: e.Message, Error: e}
}

// LostOutcome is the outcome of a task whose holder was lost during its last
// attempt.
func LostOutcome(attempts int) Outcome {
	e := tool.Errorf("task", tool.InDoubt, "what ran it ended during attempt %d of %d: it may have happened",
		attempts, attempts).WithHint("find out what became of it before it is done again")
	return Outcome{State: InDoubt, Summary: e.Message, Error: e}
}

// CancelledOutcome is the outcome of a task that was cancelled while nobody ran
// it.
func CancelledOutcome(by string) Outcome {
	return Outcome{State: Cancelled, Summary: "cancelled by " + by}
}
