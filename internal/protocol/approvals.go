package protocol

import (
	"encoding/json"
	"time"

	"callgate/internal/question"
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
	Script    *ScriptPlace    `json:"script,omitempty"`   // where in a script the call stands; nil: in none
	Answer    *ApprovalAnswer `json:"answer,omitempty"`
	Node      string          `json:"node,omitempty"` // that has it, where several share a database and all are asked
}

// ScriptPlace is the place in a script at which a call stands. Approvals with one Call and
// one Batch are asked about together.
type ScriptPlace struct {
	Call    string  `json:"call"` // the script's own
	Program string  `json:"program"`
	Line    int     `json:"line"`
	Batch   int     `json:"batch"`
	Of      int     `json:"of,omitempty"`    // how many calls the batch has, which need not all be asked about
	Offer   *Choice `json:"offer,omitempty"` // what a yes for the rest of the script covers; nil: no more than this
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
	User     string `json:"user,omitempty"`     // whom that token stands for; empty: the kernel's own user
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
	With     []string        `json:"with,omitempty"`     // other approvals of the batch that were answered so
	Script   bool            `json:"script,omitempty"`   // for the rest of the script
	Unasked  bool            `json:"unasked,omitempty"`  // no human was asked: the session's permissions decided it
	By       string          `json:"by"`
	At       time.Time       `json:"at"`
}

// FormAnswer is what a human said in a form that the client of a conversation showed, such
// as an editor: it answers an approval or a question of that conversation, and of no other.
// Who has the conversation open sends it.
type FormAnswer struct {
	Client   string `json:"client"` // its name, for the journal
	Approval string `json:"approval,omitempty"`
	Answer
	Question string          `json:"question,omitempty"` // in place of an approval, with Reply
	Reply    *question.Reply `json:"reply,omitempty"`
}

// Answer answers an approval.
type Answer struct {
	Approve  bool            `json:"approve"`
	Args     json.RawMessage `json:"args,omitempty"`
	Always   bool            `json:"always,omitempty"` // what Session says too, for the rest of the session
	Remember *Remember       `json:"remember,omitempty"`
	Feedback string          `json:"feedback,omitempty"`
	With     []string        `json:"with,omitempty"`   // other approvals of the same batch of a script: the same answer
	Script   bool            `json:"script,omitempty"` // a yes: what the script's offer says too; a no: the script stops
	By       string          `json:"by,omitempty"`
}

// ScriptCall is a call that a script makes, as people follow it.
type ScriptCall struct {
	Script  string        `json:"script"` // the call of run_script
	Call    string        `json:"call"`   // its own ID
	Number  int           `json:"number"` // in the program's order, from 1
	Line    int           `json:"line"`   // of the program
	Name    string        `json:"name"`
	Args    string        `json:"args,omitempty"`   // in short
	Status  tool.Status   `json:"status,omitempty"` // "": it runs
	Summary string        `json:"summary,omitempty"`
	Took    time.Duration `json:"took,omitempty"` // how long the tool ran
}
