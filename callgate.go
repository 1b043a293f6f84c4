package callgate

import (
	"context"

	"callgate/internal/kernel"
	_ "callgate/internal/sandbox/selfstart" // a program with a kernel in it is its own sandbox helper
	"callgate/internal/version"
)

// Version is the program's version.
const Version = version.Version

// The engine's types.
type (
	Kernel        = kernel.Kernel
	Config        = kernel.Config
	Session       = kernel.Session
	SessionConfig = kernel.SessionConfig
	Conversation  = kernel.Conversation
)

// Open takes the state directory and starts a kernel in it. A directory that
// another process holds is a Conflict: be its client instead.
func Open(ctx context.Context, cfg Config) (*Kernel, error) { return kernel.Open(ctx, cfg) }
