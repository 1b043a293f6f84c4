package module

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"callgate/internal/document"
	"callgate/internal/launch"
	"callgate/internal/sandbox"
	"callgate/llm"
	"callgate/tool"
)

// Host is what the kernel gives a module when it opens it. A module creates a
// folder of the Host when it first needs it.
type Host struct {
	State  string   // a folder for the module alone, which outlives the kernel
	Cache  string   // a folder for the module alone, which anybody may empty at any time; "" for none
	Hidden []string // paths that no process started by a tool may see
	// Folders is where programs start that must not load what lies in a workspace.
	Folders launch.Folders
	// Helpers starts the sandboxed processes of tools sooner; may be nil.
	Helpers *sandbox.Helpers
	Log     *slog.Logger
	// Scrub replaces the values of known secrets in a text that is to be stored.
	Scrub func(string) string

	// Documents are the module's own, which outlive the kernel and which several
	// kernels may share; nil: the module keeps nothing.
	Documents document.Store
	// SharedApp reports whether an app is the same at several kernels that share a database: what a module keeps for
	// it in a shared collection of its own is then for all of them; nil: none is.
	SharedApp func(app string) (bool, error)

	// Node is the ID of this kernel among those; "": it is alone.
	Node string
	// Time is the time that all of them count by; nil: this machine's.
	Time func(context.Context) (time.Time, error)

	Embedder Embedder // nil: texts are compared by their words alone
	Models   Models   // nil: no tool of the module can ask a language model
	Tasks    Tasks    // nil: no work outlives the call that started it

	// Agents does what a call asks of agents that work for its caller; nil: there are none.
	Agents func(ctx context.Context, call tool.Call, r AgentRequest) (*tool.Result, error)

	// Pending returns what keeps changes of files until a human has answered them; nil: nothing does.
	Pending func() PendingFiles

	// Call makes a call of another module's tool for one that runs now: in the same session, under its
	// rules, with locks and questions to a human of its own. The result is whole; nil: there is no kernel.
	Call func(ctx context.Context, call tool.Call, name string, args any) (*tool.Result, error)

	// Permits returns an error if the app of a call has a rule against another module's tool, for a module
	// that does the same by itself; nil: there is no kernel.
	Permits func(ctx context.Context, call tool.Call, name string) error

	// Process returns the process of a task that runs in the background and belongs to
	// the caller; nil: there are none. Others are NotFound.
	Process func(ctx context.Context, call tool.Call, task string) (tool.Process, error)
}

// Embedder turns texts into vectors. It is safe for concurrent use.
type Embedder interface {
	// Vectors returns one vector for each text, in the same order. A vector has
	// length one, and the dot product of two says how near their texts are in
	// meaning. Vectors of two embedders cannot be compared.
	Vectors(texts []string) ([][]float32, error)
}

// Models chooses language models. It is safe for concurrent use.
type Models interface {
	// For returns a model for one call: one that the app of the call's principal
	// may use, under the consent that the user gave the app and with the keys that
	// the app has. The module keeps it no longer than the call. An error says
	// which of these is missing; its kind is tool.Denied where a human must allow
	// it first, and tool.Unavailable where no model fits.
	For(ctx context.Context, call tool.Call, want Want) (llm.Model, error)
}

// Want says what a tool needs of a model. The zero value accepts the app's default.
type Want struct {
	Prefer []string // models by name, the best first; another one is used where none of them may be
	Window int      // the least size of the context window in tokens; 0 for any
	Images bool     // the model must read images
	Only   bool     // none but those that Prefer names
}

// ModelLister is a [Models] that lists what it would choose from. It is safe for concurrent use.
type ModelLister interface {
	// List returns the models that the app of a call's principal names, its agent's own first.
	List(ctx context.Context, call tool.Call) ([]ModelInfo, error)
}

// ModelInfo is what is known of a model of an app.
type ModelInfo struct {
	Provider, Name string
	Window         int // tokens; 0: not known
	Images         bool
	NativeTools    bool
	Accepted       bool // a human accepted where it is
}

// Named reports whether a name means the model.
func (m ModelInfo) Named(name string) bool { return name == m.Name || name == m.Provider+"/"+m.Name }

// Tasks runs durable work in the background. It is safe for concurrent use.
//
// A task is stored before Start returns and outlives the call, the session and
// the kernel. A task that was running when its kernel ended runs again, so the
// function that runs it must allow for a second run.
type Tasks interface {
	// Start stores a task for the principal of a call and returns its ID. The kind
	// is one that was given to Handle.
	Start(ctx context.Context, call tool.Call, kind string, input json.RawMessage) (id string, err error)
	// Handle sets the function that runs tasks of a kind. A module calls it while
	// it is being opened, once for each kind, and names the kind after itself, as
	// in memory.summarize. The context of run ends when the task is cancelled or
	// the kernel ends; the task stores the result or the error that run returns.
	Handle(kind string, run func(ctx context.Context, id string, input json.RawMessage) (json.RawMessage, error))
}
