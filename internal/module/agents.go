package module

import "time"

// AgentMode is what a call asks of agents that work for its caller.
type AgentMode string

// The modes.
const (
	AgentSpawn    AgentMode = "spawn"
	AgentStatus   AgentMode = "status" // with Wait: their ends
	AgentCancel   AgentMode = "cancel"
	AgentReassign AgentMode = "reassign"
	AgentList     AgentMode = "list"
)

// AgentRequest is a call that asks something of agents, read and checked.
type AgentRequest struct {
	Mode    AgentMode
	Work    []AgentWork   // of spawn and reassign
	IDs     []string      // of the others
	All     bool          // in the place of IDs: all that run
	Wait    bool          // the call returns when they have ended
	Timeout time.Duration // of waiting for agents that were begun before
}

// AgentWork is what one agent is to do.
type AgentWork struct {
	Prompt     string
	Specialist string // "": a copy of the caller
	MaxTurns   int
	Timeout    time.Duration
}
