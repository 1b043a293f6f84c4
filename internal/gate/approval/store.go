package approval

import (
	"context"
	"encoding/json"
	"time"

	"callgate/tool"
)

// State is the state of a request.
type State string

// The states. Pending becomes Approved, Denied or Expired, once. Approved
// becomes Used when its call has begun, or Expired when the call never began.
const (
	Pending  State = "pending"
	Approved State = "approved"
	Denied   State = "denied"
	Expired  State = "expired"
	Used     State = "spent"
)

// Request asks a human to approve one call. It holds the exact call, and enough
// to run that call after the process that asked has ended.
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
	ToolApp   string       `json:"tool_app,omitempty"` // the app file that brings the tool; empty: the kernel has it
	Choices   []Choice     `json:"choices,omitempty"`  // how the yes may last; none: only this once
	Session   *Choice      `json:"session,omitempty"`  // what a yes for the session covers; nil: no more than this
	Script    *Script      `json:"script,omitempty"`   // where in a script the call stands; nil: in none
	Answer    *Answer      `json:"answer,omitempty"`
}

// Answer is the human's answer to a request.
type Answer struct {
	Approve  bool            `json:"approve"`
	Args     json.RawMessage `json:"args,omitempty"`     // the edited arguments; empty if unchanged
	Claims   []tool.Claim    `json:"claims,omitempty"`   // what the edited call touches
	Always   bool            `json:"always,omitempty"`   // for the rest of the session, what the request's Session says
	Remember *Remember       `json:"remember,omitempty"` // the yes lasts
	Feedback string          `json:"feedback,omitempty"` // shown to the model as quoted text
	With     []string        `json:"with,omitempty"`     // other requests of the same batch of a script: the same answer
	Script   bool            `json:"script,omitempty"`   // for the rest of the script: its offer, or that it stops
	Unasked  bool            `json:"unasked,omitempty"`  // no human was asked: what the session may do decided it
	By       string          `json:"by"`
	At       time.Time       `json:"at"`
}

// Store stores requests durably.
type Store interface {
	// Create adds a pending request; an ID that exists is a Conflict error.
	Create(ctx context.Context, r Request) error
	// Get returns a request, or a NotFound error.
	Get(ctx context.Context, id string) (Request, error)
	// List returns the newest limit requests in a state, oldest first. An empty
	// state means all states; a limit of zero means the store's own limit.
	List(ctx context.Context, state State, limit int) ([]Request, error)
	// Settle moves a request from one state to another and stores the answer if
	// there is one. If the request is not in the state from, Settle changes
	// nothing and reports false.
	Settle(ctx context.Context, id string, from, to State, answer *Answer) (bool, error)
}
