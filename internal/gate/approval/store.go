package approval

import (
	"context"
	"encoding/json"
	"time"

	"callgate/tool"
)

// State is where a request stands.
type State string

// The states. Pending becomes one of the next three, once; Approved becomes
// Spent when its call has begun.
const (
	Pending  State = "pending"
	Approved State = "approved"
	Denied   State = "denied"
	Expired  State = "expired"
	Used     State = "spent"
)

// Request is a question put to a human: the exact call, and enough to run it
// even when the process that asked is gone.
type Request struct {
	ID        string       `json:"id"`
	State     State        `json:"state"`
	Call      tool.Call    `json:"call"` // arguments as the handler would see them
	Workspace string       `json:"workspace"`
	AppFile   string       `json:"app_file,omitempty"`
	Risk      tool.Risk    `json:"risk"`
	Reason    string       `json:"reason"` // why a human is asked
	Claims    []tool.Claim `json:"claims,omitempty"`
	AskedAt   time.Time    `json:"asked_at"`
	Deadline  time.Time    `json:"deadline"`
	Asker     Requester    `json:"asker,omitzero"`
	Answer    *Answer      `json:"answer,omitempty"`
}

// Requester is the process on whose behalf a call was made, and whether a person
// sat at it: its session was opened with the human's key, at a terminal.
type Requester struct {
	PID   int  `json:"pid,omitempty"`
	Human bool `json:"human,omitempty"`
}

// Answer is what was said to a request.
type Answer struct {
	Approve  bool            `json:"approve"`
	Args     json.RawMessage `json:"args,omitempty"`     // the arguments as edited, when they were
	Always   bool            `json:"always,omitempty"`   // and again for this tool, for the rest of the session
	Feedback string          `json:"feedback,omitempty"` // for the model, as quoted text
	By       string          `json:"by"`
	At       time.Time       `json:"at"`
}

// Store keeps requests.
type Store interface {
	// Create adds a pending request; an id that exists is a Conflict.
	Create(ctx context.Context, r Request) error
	// Get returns a request, or a NotFound error.
	Get(ctx context.Context, id string) (Request, error)
	// List returns requests in a state ("" for all), oldest first, the last limit of them.
	List(ctx context.Context, state State, limit int) ([]Request, error)
	// Settle moves a request from one state to another and keeps the answer
	// when one is given. It reports false, changing nothing, when the request
	// is not in the state from.
	Settle(ctx context.Context, id string, from, to State, answer *Answer) (bool, error)
}
