package kernel

import (
	"log/slog"

	"callgate/internal/gate"
	"callgate/tool"
)

// Config is how a kernel is opened. The zero value opens the user's own state
// directory with the built-in modules.
type Config struct {
	// State is the state directory. Default: $CALLGATE_STATE, else
	// $XDG_STATE_HOME/callgate, else ~/.local/state/callgate.
	State string
	// Storage is where everything is kept: a file for SQLite. Default: the one in
	// the state directory.
	Storage string
	// Tools are the embedder's own, known before anything left over from an
	// earlier life is taken up; Register adds more later.
	Tools []*tool.Tool
	// Log receives what is worth telling an operator. Default: nothing.
	Log *slog.Logger
	// Limits bounds what a call may take; zero fields mean the defaults.
	Limits Limits
	// Lineage tells which process started which. Without it, an answer to an
	// approval is checked for its key only.
	Lineage Lineage
}

// Limits bounds what one call may take.
type Limits = gate.Limits

// Ask is one proposal, with what Call leaves at its default.
type Ask = gate.CallRequest

// Lineage tells whether one process descends from another, or is it.
type Lineage interface {
	Descends(pid, from int) bool
}
