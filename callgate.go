package callgate

import (
	"context"
	"log/slog"
	"time"

	"callgate/internal/kernel"
	"callgate/internal/pdftext"
	_ "callgate/internal/sandbox/selfstart" // a program with a kernel in it is its own sandbox helper
	"callgate/internal/version"
	"callgate/llmtool"
	"callgate/tool"
	"callgate/toolcatalog"
)

// Version is the version of the engine.
const Version = version.Version

// Config is how a kernel is opened. The zero value opens the user's own state
// directory with the built-in modules.
type Config struct {
	// State is the state directory. Default: $CALLGATE_STATE, else
	// $XDG_STATE_HOME/callgate, else ~/.local/state/callgate.
	State string
	// Tools are the program's own, known before calls that an earlier process left are
	// finished; Register adds more later. Backends list more, which may change meanwhile.
	Tools    []*tool.Tool
	Backends []toolcatalog.Backend
	// LLMHooks are told what LLM-backed tools and your own do: which models they ask, and what comes of it.
	LLMHooks llmtool.Hooks
	// Log receives what an operator should know. Default: nothing.
	Log *slog.Logger
	// Limits bounds what one call may take.
	Limits Limits
}

// Limits bounds what one call may take; zero fields mean the defaults.
type Limits struct {
	Timeout  time.Duration // of a handler whose tool names none; default 2 minutes
	LockWait time.Duration // in the lock queue; default 1 minute
	Grace    time.Duration // for a cancelled handler to return; default 5 seconds
	Result   int           // bytes of a result given to a model; default 48 KiB
	Inline   int           // bytes of arguments or result kept in a record; default 8 KiB
}

// Kernel is the running engine. Close it to release its state directory.
type Kernel struct{ k *kernel.Kernel }

// Open takes the state directory and starts a kernel in it. A directory that
// another process holds is an error of kind tool.Conflict.
func Open(ctx context.Context, c Config) (*Kernel, error) {
	k, err := kernel.Open(ctx, kernel.Config{State: c.State, Tools: c.Tools, Backends: c.Backends, Log: c.Log,
		LLMHooks: c.LLMHooks, Limits: kernel.Limits(c.Limits)})
	if err != nil {
		return nil, err
	}
	return &Kernel{k}, nil
}

// Close cancels what runs, waits until it has stopped and is on record, and
// releases the state directory.
func (k *Kernel) Close() error { return k.k.Close() }

// Register adds tools under a source's name. A name that is taken is a
// Conflict; a tool that is not fit to publish is an error, and none is added.
func (k *Kernel) Register(source string, tools ...*tool.Tool) error {
	return k.k.Register(source, tools...)
}

// Unregister removes a source and its tools. It reports whether there was one.
func (k *Kernel) Unregister(source string) bool { return k.k.Unregister(source) }

// Approvals returns the calls that wait for a human.
func (k *Kernel) Approvals() Approvals { return Approvals{k.k.Approvals} }

// Journal returns the record of everything that happened.
func (k *Kernel) Journal() Journal { return Journal{k.k} }

// Artifacts returns the large arguments and results.
func (k *Kernel) Artifacts() Artifacts { return Artifacts{k.k.Artifacts} }

// RunHelpers runs a helper process of a kernel, if this process was started as
// one, and reports whether it was. A kernel starts its own program again for
// work that needs a process of its own, such as reading a PDF: a program that
// opens a kernel begins its main with RunHelpers, and returns if it reports true.
func RunHelpers() (handled bool) { return pdftext.RunHelper() }

// each converts the elements of a list.
func each[A, B any](list []A, convert func(A) B) []B {
	all := make([]B, len(list))
	for i, one := range list {
		all[i] = convert(one)
	}
	return all
}
