// Package proposal is what an agent proposes to have changed: a tool, a skill, keys of
// its app file, or a file of its workspace.
//
// # Law
//
//   - A proposal does nothing. It is stored, shown to a human, and accepted or refused by
//     one, once: the first answer counts.
//   - What is accepted is what was shown. A [Plan] says which files would change and how,
//     and what that would let anybody do; its digest is part of the yes. A plan that is
//     another one by then is shown again.
//   - Everything of it is shown, characters that have no shape included.
//   - A model never supplies what runs. A tool that it proposes is a manifest without an
//     executable: in its place stands a file of the kernel's own words, which refuses to
//     run and says that a human must write it.
//   - A change of a file may be answered hunk by hunk. It is answered when none is left.
package proposal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"callgate/internal/task"
)

// Kind is what is proposed.
type Kind string

// The kinds.
const (
	Tool   Kind = "tool"
	Skill  Kind = "skill"
	Config Kind = "config_change"
	// Change is one of a file of the workspace, by the tools of the module workspace.
	Change Kind = "file_change"
)

// State is how a proposal stands.
type State string

// The states.
const (
	Pending  State = "pending"
	Accepted State = "accepted"
	Refused  State = "refused"
)

// Proposal is one proposal, as it is kept.
type Proposal struct {
	ID           string          `json:"id"`
	Kind         Kind            `json:"kind"`
	Title        string          `json:"title"` // the tool, the skill, or the keys
	Reason       string          `json:"reason"`
	Body         json.RawMessage `json:"body"` // as the asker gave it, checked
	Asker        task.Asker      `json:"asker"`
	Conversation string          `json:"conversation,omitempty"` // that is told the end; "": none
	Made         time.Time       `json:"made"`
	State        State           `json:"state"`
	Answer       *Answer         `json:"answer,omitempty"` // nil: nobody has answered
	Untold       bool            `json:"untold,omitempty"` // it was answered, and that is not on record or told yet
}

// Answer is how a proposal ended.
type Answer struct {
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	Feedback string    `json:"feedback,omitempty"` // of the human
	Done     []string  `json:"done,omitempty"`     // what accepting it did
}

// ID is the ID of the proposal that a call makes: made again, the call makes the same.
func ID(call string) string {
	sum := sha256.Sum256([]byte("proposal " + call))
	return "prop_" + hex.EncodeToString(sum[:6])
}

// The bounds of a proposal.
const (
	MaxBody    = 64 << 10 // bytes of all of it
	maxReason  = 2000
	maxTitle   = 200
	maxChanges = 50
)
