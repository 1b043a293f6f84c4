package protocol

import (
	"cmp"
	"strings"
	"time"

	"callgate/tool"
)

// Locks is all claims that are held, and all that wait, in the order in which they were made.
type Locks struct {
	Held    []HeldLock    `json:"held"`
	Waiting []WaitingLock `json:"waiting"`
}

// LockHolder says whose a claim is.
type LockHolder struct {
	Call      string `json:"call"`
	Tool      string `json:"tool,omitempty"`
	Principal string `json:"principal,omitempty"`
}

// String writes the holder as people read it: call c1 (fs.write, for agent a).
func (h LockHolder) String() string {
	var about []string
	if h.Tool != "" {
		about = append(about, h.Tool)
	}
	if h.Principal != "" {
		about = append(about, "for "+h.Principal)
	}
	call := "call " + cmp.Or(h.Call, "unnamed")
	if about == nil {
		return call
	}
	return call + " (" + strings.Join(about, ", ") + ")"
}

// HeldLock is one claim that is held.
type HeldLock struct {
	Resource string     `json:"resource"`
	Mode     tool.Mode  `json:"mode"`
	Holder   LockHolder `json:"holder"`
	Since    time.Time  `json:"since"`
	Until    time.Time  `json:"until,omitzero"`    // when the lease runs out, if it does
	Expired  bool       `json:"expired,omitempty"` // it has run out; its handler is being stopped
}

// WaitingLock is one claim that waits.
type WaitingLock struct {
	Resource string      `json:"resource"`
	Mode     tool.Mode   `json:"mode"`
	Holder   LockHolder  `json:"holder"`
	Since    time.Time   `json:"since"`
	Until    time.Time   `json:"until,omitzero"` // when the wait runs out, if it does
	Position int         `json:"position"`       // among those that wait for this very resource, from 1
	Behind   LockBlocker `json:"behind"`
}

// LockBlocker is a claim in the way of another: held, or queued ahead.
type LockBlocker struct {
	Resource string     `json:"resource"`
	Mode     tool.Mode  `json:"mode"`
	Holder   LockHolder `json:"holder"`
	Since    time.Time  `json:"since"`
	Queued   bool       `json:"queued,omitempty"` // it waits too, with an earlier ticket
	Expired  bool       `json:"expired,omitempty"`
	Node     string     `json:"node,omitempty"` // whose call it is, if another's
}
