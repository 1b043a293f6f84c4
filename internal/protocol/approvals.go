package protocol

import (
	"encoding/json"
	"time"

	"callgate/tool"
)

// Approval is a call that waits for a human, or did.
type Approval struct {
	ID        string          `json:"id"`
	State     ApprovalState   `json:"state"`
	Call      tool.Call       `json:"call"` // arguments as the tool would see them
	Workspace string          `json:"workspace"`
	AppFile   string          `json:"app_file,omitempty"`
	Risk      tool.Risk       `json:"risk"`
	Reason    string          `json:"reason"` // why a human is asked
	Claims    []tool.Claim    `json:"claims,omitempty"`
	AskedAt   time.Time       `json:"asked_at"`
	Deadline  time.Time       `json:"deadline"`
	Asker     Requester       `json:"asker,omitzero"`
	ToolApp   string          `json:"tool_app,omitempty"` // the app file that brings the tool; empty: the kernel has it
	Choices   []Choice        `json:"choices,omitempty"`  // how the yes may last; none: only this once
	Session   *Choice         `json:"session,omitempty"`  // what a yes for the session covers; nil: no more than this
	Answer    *ApprovalAnswer `json:"answer,omitempty"`
}

// ApprovalState is how an approval stands.
type ApprovalState string

// The states. Approved becomes Used when the call has begun.
const (
	ApprovalPending  ApprovalState = "pending"
	ApprovalApproved ApprovalState = "approved"
	ApprovalDenied   ApprovalState = "denied"
	ApprovalExpired  ApprovalState = "expired"
	ApprovalUsed     ApprovalState = "spent"
)

// Requester is the process on whose behalf a call was made, what belongs to it,
// and whether a person may answer there.
type Requester struct {
	PID      int    `json:"pid,omitempty"`
	Human    bool   `json:"human,omitempty"`
	Started  uint64 `json:"started,omitempty"`  // when the process began, in the system's own count
	Root     int    `json:"root,omitempty"`     // its descendants are the asker's
	Sessions []int  `json:"sessions,omitempty"` // of the operating system, that are the asker's
	Token    string `json:"token,omitempty"`    // the ID of the token with which an MCP client came in
	Path     string `json:"path,omitempty"`     // the agent that asks, and those for which it works
}

// ApprovalAnswer is the answer that an approval was given.
type ApprovalAnswer struct {
	Approve  bool            `json:"approve"`
	Args     json.RawMessage `json:"args,omitempty"`     // the arguments as edited
	Claims   []tool.Claim    `json:"claims,omitempty"`   // what the edited call touches
	Always   bool            `json:"always,omitempty"`   // what Session says, for the rest of the session
	Remember *Remember       `json:"remember,omitempty"` // the yes lasts
	Feedback string          `json:"feedback,omitempty"` // for the model, as quoted text
	Unasked  bool            `json:"unasked,omitempty"`  // no human was asked: the session's permissions decided it
	By       string          `json:"by"`
	At       time.Time       `json:"at"`
}

// FormAnswer is what a human said in a form that the client of a conversation showed, such
// as an editor: it answers approvals of that conversation, and of no other. Who has the
// conversation open sends it.
type FormAnswer struct {
	Client   string `json:"client"` // its name, for the journal
	Approval string `json:"approval"`
	Answer
}

// Answer answers an approval.
type Answer struct {
	Approve  bool            `json:"approve"`
	Args     json.RawMessage `json:"args,omitempty"`
	Always   bool            `json:"always,omitempty"` // what Session says too, for the rest of the session
	Remember *Remember       `json:"remember,omitempty"`
	Feedback string          `json:"feedback,omitempty"`
	By       string          `json:"by,omitempty"`
}
