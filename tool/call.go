package tool

import (
	"context"
	"encoding/json"
	"os"
	"strings"
)

// Principal is who asks.
type Principal struct {
	User    string `json:"user,omitempty"`
	App     string `json:"app,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
	Lane    string `json:"lane,omitempty"`
	// Daemon marks the kernel's own calls (setup steps, hooks, schedules):
	// they pass what is hidden or waits for a human, never what is denied.
	Daemon bool `json:"daemon,omitempty"`
}

// String writes the principal for people: user/app/agent in session, the
// parts it has.
func (p Principal) String() string {
	if p.Daemon {
		return "the kernel"
	}
	parts := make([]string, 0, 3)
	for _, part := range []string{p.User, p.App, p.Agent} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	who := strings.Join(parts, "/")
	if p.Session != "" {
		who += " in " + p.Session
	}
	return who
}

// Call is one proposal. Everything the kernel decides about it lives here or
// in the kernel, never in Args.
type Call struct {
	ID        string          `json:"id"`
	Parent    string          `json:"parent,omitempty"`
	Principal Principal       `json:"principal"`
	Name      string          `json:"name"` // as it was asked for
	Tool      ID              `json:"tool"` // as it was resolved
	Args      json.RawMessage `json:"args,omitempty"`
	// NoWait says that the caller waits for no human, and Unattended that nobody is asked. They hold for the
	// calls that the tool makes, too.
	NoWait, Unattended bool `json:"-"`
	ModelChoice
}

// ModelChoice is what a caller says of the models that an LLM-backed tool asks.
type ModelChoice struct {
	// Model is the one model, provider/model, that is to be asked; "": as the tool's definition says.
	Model string `json:"model,omitempty"`
	// Bench marks a call of a benchmark: it may wait for everybody else, and it counts as no use of the tool.
	Bench bool `json:"bench,omitempty"`
}

// Hop is a step of a running call to an address that the call does not name.
type Hop struct {
	URL string
	// Tool is judged with the address: an action of the call's own module, or the dotted
	// name of a tool. "": the tool of the call.
	Tool string
	// From is an address to which requests go already, such as that of the page on which a
	// link is. A request to the same destination does not ask again. Empty if there is no such address.
	From string
}

// Grant is everything a handler may reach.
type Grant struct {
	Workspace string            // canonical absolute folder of the session
	Root      *os.Root          // the same folder; the only way a builtin touches files
	Network   bool              // whether the tool may open connections
	Secrets   map[string]string // exactly those its runtime view names
	Claims    []Claim           // what was locked for this call
	// Fence is the number of those locks, where several kernels share a database: of two calls that lock the same thing,
	// the later has the greater one. What is changed can refuse a number that is less than one it has seen, and so the
	// late writes of a machine that was taken for dead. 0: the call locks nothing that other machines have, too.
	Fence uint64
	// MayChange, when set, is asked right before something is changed, and is an error if this machine, which was slow or
	// paused, may be taken for dead by those it shares its work with: what the call locked may be another's by now.
	MayChange func() error
	Settings  any // what the app file says of the tool's module, as the module reads it; nil: nothing
	// Credential is the value of the secret that the app file names for the
	// tool's module, if it names one.
	Credential string
	// HiddenFiles are what is closed to tools inside the workspace, and HiddenPaths
	// the paths, which need not exist: the kernel's state, with the human's key in
	// it, and the user's keys and credentials. Usually there are none.
	HiddenFiles []os.FileInfo
	HiddenPaths []string
	// ReadOnlyPaths are the files and folders with the rules of agents: a process
	// may not write them, unless a human approved that for this call.
	ReadOnlyPaths []string
	// ReadablePaths are folders outside of the workspace that a process may read: those
	// of skills which a human accepted.
	ReadablePaths []string
	Relaxed       bool // a process may run even where not every isolation is available
	// Emit, when set, passes output on to the watchers of a running call.
	// It is for watching only: what counts belongs in the result.
	Emit func(stream string, chunk []byte)
	// Unfinished, when set, is told of the folder in which a builtin is about to write a
	// file that is not complete yet, and returns its name: if the kernel is killed, the
	// next one finds the file and removes it.
	Unfinished func(folder string) (name string)
	// Follow, when set, is asked before a request goes to another address than the call
	// names, such as where a redirect leads. The rules judge that address as if a call named
	// it. An error says why the request is not made, and what the model can do.
	Follow func(context.Context, Hop) error
	// Background is how the call goes on when nobody waits for it any more; nil: it
	// always ends with its caller.
	Background Background
}

// Background is what a handler knows of a call that can go on in the background.
type Background interface {
	// Detached is closed when nobody waits for the call: from then on a time limit
	// that is there for those who wait does not count.
	Detached() <-chan struct{}
	// Attach offers a process of the call to whoever the call belongs to; nil takes it
	// back.
	Attach(p Process)
}

// Process is a running process that takes input and signals.
type Process interface {
	// Input writes to its standard input, and closes it if end is set.
	Input(data []byte, end bool) error
	// Signal sends it, and what it started, a signal by its name, as SIGINT.
	Signal(name string) error
}

// Output emits output, if anybody might watch.
func (g Grant) Output(stream string, chunk []byte) {
	if g.Emit != nil {
		g.Emit(stream, chunk)
	}
}
