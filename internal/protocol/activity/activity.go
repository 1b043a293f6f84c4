// Package activity is the body that shows what a kernel does now: it is what callgate top prints.
package activity

import "time"

// Activity is one picture of a kernel. Counts are since the kernel started.
type Activity struct {
	Time     time.Time         `json:"time"`
	Started  time.Time         `json:"started"`
	Version  string            `json:"version"`
	PID      int               `json:"pid"`
	Calls    CallCounts        `json:"calls"`
	Running  []RunningCall     `json:"running"` // the oldest first; of the calls that only read, those that hold locks
	Waiting  []WaitingForHuman `json:"waiting"` // for a human
	Tools    []ToolCounts      `json:"tools"`   // the most called first
	Models   []ModelCounts     `json:"models"`
	Servers  []ServerHealth    `json:"servers"`
	Tasks    []TaskCount       `json:"tasks"`
	Journal  JournalState      `json:"journal"`
	Process  ProcessState      `json:"process"`
	Sessions int               `json:"sessions"`
	Follow   int               `json:"followers"` // clients that follow the journal
	Problems []string          `json:"problems,omitempty"`
}

// CallCounts counts all calls.
type CallCounts struct {
	Running    int    `json:"running"` // under way in sessions, also those that wait
	Total      uint64 `json:"total"`
	Failed     uint64 `json:"failed"`
	Refused    uint64 `json:"refused"`
	LastMinute int    `json:"last_minute"`
}

// RunningCall is a call under way.
type RunningCall struct {
	Call      string    `json:"call"`
	Tool      string    `json:"tool"`
	Principal string    `json:"principal,omitempty"`
	Since     time.Time `json:"since"`
	WaitsFor  string    `json:"waits_for,omitempty"` // the locked resource
}

// WaitingForHuman is what a human must answer.
type WaitingForHuman struct {
	Kind  string    `json:"kind"` // approval or question
	ID    string    `json:"id"`
	Tool  string    `json:"tool,omitempty"`
	Who   string    `json:"who,omitempty"`
	Since time.Time `json:"since"`
}

// ToolCounts is the calls of one tool. P50 and P99 are of the time that it took, in nanoseconds.
type ToolCounts struct {
	Tool    string        `json:"tool"`
	Calls   uint64        `json:"calls"`
	Failed  uint64        `json:"failed"`
	Refused uint64        `json:"refused"`
	P50     time.Duration `json:"p50"`
	P99     time.Duration `json:"p99"`
}

// ModelCounts is what one model was asked.
type ModelCounts struct {
	Provider string        `json:"provider"`
	Model    string        `json:"model"`
	Requests uint64        `json:"requests"`
	Failed   uint64        `json:"failed"`
	Input    int           `json:"input"` // tokens
	Cached   int           `json:"cached_input"`
	Output   int           `json:"output"`
	Cost     int64         `json:"cost"`     // millionths of a US dollar
	Unpriced uint64        `json:"unpriced"` // answers whose cost is not known
	P50      time.Duration `json:"p50"`
	P99      time.Duration `json:"p99"`
}

// Spend is what models took: those of agents and those of tools.
type Spend struct {
	Since    time.Time `json:"since"` // the beginning of the day, or of the kernel
	Requests int       `json:"requests"`
	Input    int       `json:"input"` // tokens
	Output   int       `json:"output"`
	Cost     int64     `json:"cost"`     // millionths of a US dollar
	Unpriced int       `json:"unpriced"` // answers whose cost is not known
}

// Tokens are those that were read and written.
func (s Spend) Tokens() int { return s.Input + s.Output }

// ServerHealth is an MCP server.
type ServerHealth struct {
	Name     string `json:"name"`
	State    string `json:"state"`
	Tools    int    `json:"tools"`
	Calls    int    `json:"calls"`
	Failures int    `json:"failures"`
	InFlight int    `json:"in_flight"`
	Waiting  int    `json:"waiting"`
}

// TaskCount counts tasks that have not ended.
type TaskCount struct {
	Kind  string `json:"kind"`
	State string `json:"state"`
	Count int    `json:"count"`
}

// JournalState is how the journal stands.
type JournalState struct {
	Last    uint64 `json:"last"`    // the newest record's number
	Queued  int    `json:"queued"`  // records that wait to be written
	Failing string `json:"failing"` // why the last write failed; "": it did not
	Doubts  int    `json:"doubts"`
}

// ProcessState is what the kernel's process takes.
type ProcessState struct {
	Memory     uint64 `json:"memory"` // bytes from the system, without what was given back
	Heap       uint64 `json:"heap"`   // bytes in use
	Goroutines int    `json:"goroutines"`
}
