package callgate

import (
	"context"

	"callgate/internal/kernel"
	"callgate/internal/module/web/pdftext"
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

// RunHelpers runs a helper process of a kernel, if this process was started as
// one, and reports whether it was. A kernel starts its own program again for
// work that needs a process of its own, such as reading a PDF. A program that
// opens a kernel calls RunHelpers first in main, and returns if it reports
// true; without that, its kernels refuse such work.
func RunHelpers() (handled bool) { return pdftext.RunHelper() }
