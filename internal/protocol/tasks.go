package protocol

import (
	"encoding/json"
	"time"

	"callgate/tool"
)

// The routes of tasks: work that outlives a turn. Any process of the user may read and
// cancel them, as it may stop a turn.
const (
	RouteTasks      = "GET /v1/tasks"
	RouteTask       = "GET /v1/tasks/{id}"
	RouteCancelTask = "POST /v1/tasks/{id}/cancel"
	RouteTaskLog    = "GET /v1/tasks/{id}/log"
)

// TaskState is where a task stands.
type TaskState string

// The states of a task. The last four are final.
const (
	TaskQueued    TaskState = "queued"
	TaskRunning   TaskState = "running"
	TaskDone      TaskState = "done"
	TaskFailed    TaskState = "failed"
	TaskCancelled TaskState = "cancelled"
	TaskInDoubt   TaskState = "in_doubt" // it began, and nobody can say whether it happened
)

// TaskStates are all of them.
func TaskStates() []TaskState {
	return []TaskState{TaskQueued, TaskRunning, TaskDone, TaskFailed, TaskCancelled, TaskInDoubt}
}

// Final reports whether a task in this state has ended.
func (s TaskState) Final() bool { return s != TaskQueued && s != TaskRunning }

// The kinds of tasks that have commands of their own.
const (
	TaskWatch    = "watch"
	TaskSchedule = "schedule"
)

// Task is a piece of durable work.
type Task struct {
	ID     string          `json:"id"`
	Kind   string          `json:"kind"`
	Label  string          `json:"label,omitempty"`  // a line for people
	Parent string          `json:"parent,omitempty"` // the conversation that is told of its end
	Asker  TaskAsker       `json:"asker,omitzero"`
	Input  json.RawMessage `json:"input,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"` // what it keeps between runs

	State       TaskState    `json:"state"`
	RunAt       time.Time    `json:"run_at"` // when it is, or was, to run
	Attempt     int          `json:"attempt,omitempty"`
	MaxAttempts int          `json:"max_attempts,omitempty"` // 0: as often as it takes
	Lease       TaskLease    `json:"lease,omitzero"`
	CancelledBy string       `json:"cancelled_by,omitempty"`
	Progress    string       `json:"progress,omitempty"`
	Outcome     *TaskOutcome `json:"outcome,omitempty"`
	Times       TaskTimes    `json:"times"`
	Node        string       `json:"node,omitempty"` // that has it, where several share a database and all are asked
}

// TaskAsker is on whose behalf a task runs.
type TaskAsker struct {
	Principal tool.Principal      `json:"principal,omitzero"`
	Workspace string              `json:"workspace,omitempty"`
	AppFile   string              `json:"app_file,omitempty"`
	Call      string              `json:"call,omitempty"` // that began it
	Profile   string              `json:"profile,omitempty"`
	Only      map[string][]string `json:"only,omitzero"`
	Off       []string            `json:"off,omitempty"`
}

// TaskLease is who runs a task, and until when.
type TaskLease struct {
	Holder string    `json:"holder,omitempty"`
	Fence  uint64    `json:"fence,omitempty"`
	Until  time.Time `json:"until,omitzero"`
}

// TaskOutcome is how a task ended.
type TaskOutcome struct {
	State       TaskState       `json:"state"`
	Head        string          `json:"head,omitempty"` // the line under which it is told
	Own         bool            `json:"own,omitempty"`  // the summary is what the asker said
	Summary     string          `json:"summary,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"`
	ArtifactRef string          `json:"artifact_ref,omitempty"`
	Error       *tool.Error     `json:"error,omitempty"`
}

// TaskTimes are when things happened to a task.
type TaskTimes struct {
	Created time.Time `json:"created"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Told    time.Time `json:"told,omitzero"` // its parent
}

// TaskEntry is a line of a task's log.
type TaskEntry struct {
	At   time.Time       `json:"at"`
	Text string          `json:"text"`
	Data json.RawMessage `json:"data,omitempty"`
}

// CancelTask asks for the end of a task.
type CancelTask struct {
	By string `json:"by,omitempty"`
}

// TaskQuery selects tasks, the newest first; its fields are parameters of RouteTasks.
type TaskQuery struct {
	Kinds        []string
	State        TaskState
	Conversation string // on whose behalf they run
	All          bool   // also those that have ended
	After        string // the ID of the last one that is known: those before it
	Limit        int    // 0, or more than MaxTasks: MaxTasks
}

// MaxTasks is the most tasks that one query returns.
const MaxTasks = 1000
