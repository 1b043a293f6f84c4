// Package task is the vocabulary of durable background work: a child
// conversation, a call that outlives its session, a watch, a schedule. Drivers
// in internal/storage keep tasks; a runner leases them and does the work.
//
// # Laws
//
//   - A task's ID is the ID of the call that began it, so beginning twice is
//     once.
//   - A task is run by the holder of its lease. Every lease has a fence, a
//     number greater than that of every lease of the task before it. A holder
//     names its fence in whatever it says of the task; a fence that is not the
//     newest is a Conflict and changes nothing. So a holder that was believed
//     dead cannot speak over the one that took its place.
//   - A lease ends with its time, and then the task may be leased again. Until
//     that happens its holder may still renew it, or end the task.
//   - A task that nobody holds is cancelled at once. The holder of a task that
//     runs learns of it at its next renewal, stops, and ends the task. If the
//     holder's lease ends first, the task is cancelled and not run again.
//   - A task ends once: done, failed or cancelled. How it ended is kept with it.
//   - A task that has a parent owes it the news of its end. The debt is paid
//     with Told, after the news is durable; telling twice is once. Between the
//     two a crash leaves the debt, and the parent's own log must recognise news
//     that it has.
//   - The clock is the store's. Holders on machines whose clocks differ agree.
package task

import (
	"encoding/json"
	"time"

	"callgate/tool"
)

// State is where a task stands.
type State string

// The states. Queued and Running may become each other; the last three are
// final.
const (
	Queued    State = "queued" // to be run at its time
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Final reports whether a task in this state has ended.
func (s State) Final() bool { return s == Done || s == Failed || s == Cancelled }

// Task is a piece of durable work.
type Task struct {
	ID     string          `json:"id"`
	Kind   string          `json:"kind"`             // which runner does it
	Parent string          `json:"parent,omitempty"` // the conversation that is told of its end; "": none is
	Asker  Asker           `json:"asker,omitzero"`
	Input  json.RawMessage `json:"input,omitempty"` // for the runner

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

// Asker is on whose behalf a task runs, as the session that began it was.
type Asker struct {
	Principal tool.Principal `json:"principal,omitzero"`
	Workspace string         `json:"workspace,omitempty"`
	AppFile   string         `json:"app_file,omitempty"`
	PID       int            `json:"pid,omitempty"`
	Human     bool           `json:"human,omitempty"`    // a person sat at the session
	Root      int            `json:"root,omitempty"`     // the process whose descendants are the asker's
	Sessions  []int          `json:"sessions,omitempty"` // of the operating system, that are the asker's
	Call      string         `json:"call,omitempty"`     // the call that began the task
}

// Lease is who runs a task, and until when.
type Lease struct {
	Holder string    `json:"holder,omitempty"`
	Fence  uint64    `json:"fence,omitempty"`
	Until  time.Time `json:"until,omitzero"`
}

// Outcome is how a task ended.
type Outcome struct {
	State       State           `json:"state"` // Done, Failed or Cancelled
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
