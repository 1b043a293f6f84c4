package gate

import "callgate/internal/gate/outcome"

// ChildID is the ID of the call that a control tool makes in another's place.
func ChildID(parent string) string { return outcome.ChildID(parent) }

// Outcome is the state of a call after a restart: see internal/gate/outcome.
type Outcome = outcome.State

// The outcomes.
const (
	NotStarted = outcome.NotStarted
	Pending    = outcome.Pending
	Ended      = outcome.Ended
	InDoubt    = outcome.InDoubt
)
