// Package task is the vocabulary of durable background work: a call that outlives
// its turn, a child conversation, a watch, a schedule, a message to be delivered.
// Drivers in internal/storage keep tasks; the runner of internal/kernel/tasks
// leases them and does the work.
//
// # Beginning
//
//   - A task's ID is made from the ID of the call that began it (or from that of
//     the task that began it), so beginning twice is once. The journal's record of
//     the call and the task are two transactions, and need not be one: the task is
//     stored while the call runs, before the call's end is on record. A crash
//     before that leaves no task, and the call in doubt. A crash after it leaves
//     the task and a call without an end; if that call is made again it finds the
//     task that it created. No order of events loses a task whose call has ended,
//     or makes two of one. The two are in one log besides: a call's end that is on
//     the disk has its task there too.
//   - A task that is created with an outcome has ended: it is a notice, news for
//     its parent that nobody runs. Its ID says what it is news of, so that saying
//     it twice is once.
//
// # Running
//
//   - A task is run by the holder of its lease. Every lease has a fence, a number
//     greater than that of every lease before it, of whatever task: not even a task
//     whose ID is used again, after the first was pruned, has an old fence. A holder
//     names its fence in whatever it says of the task: renewing, saving, giving back
//     and ending. A fence that is not the newest is a Conflict and changes nothing.
//     So a holder that was believed dead cannot speak over the one that took its
//     place, and an end is never matched by the ID alone.
//   - A lease ends with its time, and then the task may be leased again. Until that
//     happens its holder may still renew it, or end the task. Its runner renews all
//     its leases together, at a third of their length, so that a task may be longer
//     than its lease.
//   - Each lease counts as an attempt. A task may give itself back, to be run again at
//     a time (a watch, a schedule): then its attempts begin anew. A kernel that
//     closes gives back what it runs: that attempt does not count. A retry does.
//   - The holder of a lease that a kernel left behind is dead when the next kernel of
//     its name starts: one state directory has one kernel at a time. So what it held is
//     resolved at once, and nobody waits for the end of a lease.
//   - A task that may be attempted again is run again, with the data that it saved
//     last, and what it did must be known again by its ID. A task whose attempts are
//     used up when its holder is lost is in doubt: it began, and nobody can say
//     whether it happened. It is never run again. What must not happen twice and
//     cannot be recognised has one attempt.
//
// # Ending
//
//   - A task ends once: done, failed, cancelled or in doubt. How it ended is kept
//     with it.
//   - A task that nobody holds is cancelled at once. The holder of a task that runs
//     learns of it at its next renewal, stops, and ends the task; it may have been
//     done already, and then that counts. If the holder's lease ends first, the task
//     is cancelled and not run again.
//   - A task that has a parent owes it the news of its end. The debt is paid with
//     Told, after the news is durable; telling twice is once. Between the two a crash
//     leaves the debt, and the parent's own log must recognise news that it has.
//   - A task that has ended is kept until it is pruned, by its age. One that is owed,
//     or has not ended, is not pruned.
//
// The clock is the store's. Holders on machines whose clocks differ agree.
package task

import (
	"encoding/json"
	"time"

	"callgate/tool"
)

// State is where a task stands.
type State string

// The states. Queued and Running may become each other; the others are final.
const (
	Queued    State = "queued" // to be run at its time
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
	InDoubt   State = "in_doubt" // it began, and nobody can say whether it happened
)

// Final reports whether a task in this state has ended.
func (s State) Final() bool { return s == Done || s == Failed || s == Cancelled || s == InDoubt }

// Known reports whether there is such a state.
func (s State) Known() bool { return s == Queued || s == Running || s.Final() }

// Notice is the kind of tasks that are news for their parent and nothing else.
const Notice = "notice"

// Task is a piece of durable work.
type Task struct {
	ID     string          `json:"id"`
	Kind   string          `json:"kind"`             // which runner does it
	Label  string          `json:"label,omitempty"`  // a line for people
	Parent string          `json:"parent,omitempty"` // the conversation that is told of its end; "": none is
	Asker  Asker           `json:"asker,omitzero"`
	Input  json.RawMessage `json:"input,omitempty"` // for the runner
	Data   json.RawMessage `json:"data,omitempty"`  // what the runner keeps between runs

	State       State     `json:"state"`
	RunAt       time.Time `json:"run_at"` // not before; the zero time: at once
	Attempt     int       `json:"attempt,omitempty"`
	MaxAttempts int       `json:"max_attempts,omitempty"` // 0: as often as it takes
	Lease       Lease     `json:"lease,omitzero"`
	CancelledBy string    `json:"cancelled_by,omitempty"` // who asked for it, once somebody did
	Progress    string    `json:"progress,omitempty"`     // a line for people
	Outcome     *Outcome  `json:"outcome,omitempty"`      // of a task that has ended
	Times       Times     `json:"times"`
}

// Lease is who runs a task, and until when.
type Lease struct {
	Holder string    `json:"holder,omitempty"`
	Fence  uint64    `json:"fence,omitempty"`
	Until  time.Time `json:"until,omitzero"`
}

// Outcome is how a task ended.
type Outcome struct {
	State State `json:"state"` // a final one
	// Head is the line under which it is told, in the kernel's words; "": one that names
	// the task. Own says that Summary is what the asker said, and nothing from outside.
	Head        string          `json:"head,omitempty"`
	Own         bool            `json:"own,omitempty"`
	Summary     string          `json:"summary,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"`
	ArtifactRef string          `json:"artifact_ref,omitempty"`
	Error       *tool.Error     `json:"error,omitempty"`
}

// Times are when things happened to a task. A zero time has not come.
type Times struct {
	Created time.Time `json:"created"`
	Started time.Time `json:"started,omitzero"` // the first time
	Ended   time.Time `json:"ended,omitzero"`
	Told    time.Time `json:"told,omitzero"`
}

// Owed reports whether the task's parent is still to be told of its end.
func (t *Task) Owed() bool { return t.State.Final() && t.Parent != "" && t.Times.Told.IsZero() }

// Entry is a line of a task's log.
type Entry struct {
	At   time.Time       `json:"at"`
	Text string          `json:"text"`
	Data json.RawMessage `json:"data,omitempty"`
}
