// Package gate is the door between a proposal and its effect. It is the
// only code that invokes a handler.
//
// # The path of one call
//
// [Door.Call] walks a passage through its stations, in the order they stand
// in [Door.path]. A station either lets the passage on or ends it with an
// error, and the error becomes an answer that a model can act on. What a
// station decides it writes into the passage; nothing is ever read from the
// arguments but the arguments.
//
// # Laws
//
//   - A handler runs only when its arguments met the schema, policy allowed
//     the resolved tool, a human said yes where one had to, every claim is
//     held, and, if it leaves anything behind, its begun record is on disk.
//   - Every call that begins ends: the ended record is written whatever was
//     cancelled, and before the answer leaves when there was an effect.
//   - Locks are released after the handler has stopped, never before: a
//     handler that outstays its time keeps them until it returns. Only a tool
//     that says so (LockFor) lets them go earlier and runs on, on record.
//   - A read that needed no human is told in one record, written behind.
package gate

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"callgate/internal/artifact"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/lock"
	"callgate/internal/gate/policy"
	"callgate/internal/gate/schema"
	"callgate/internal/journal"
	"callgate/internal/registry"
	"callgate/internal/secret"
	"callgate/tool"
)

// Config is what the door stands on; Live and Limits may be left out.
type Config struct {
	Tools     *registry.Registry
	Journal   *journal.Journal
	Locks     *lock.Table
	Approvals *approval.Queue
	Artifacts *artifact.Store
	Secrets   *secret.Vault
	Output    *journal.OutputBus // whoever watches what calls print; may be nil
	Limits    Limits
}

// Limits bounds what one call may take; zero fields mean the defaults.
type Limits struct {
	Timeout  time.Duration // of a handler whose tool names none; default 2 minutes
	LockWait time.Duration // in the lock queue; default 1 minute
	Grace    time.Duration // for a cancelled handler to return; default 5 seconds
	Result   int           // bytes of a result given to a model; default 48 KiB
	Inline   int           // bytes of arguments or result kept in a record; default 8 KiB
}

func (l Limits) withDefaults() Limits {
	pick := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	pick(&l.Timeout, 2*time.Minute)
	pick(&l.LockWait, time.Minute)
	pick(&l.Grace, 5*time.Second)
	if l.Result == 0 {
		l.Result = 48 << 10
	}
	if l.Inline == 0 {
		l.Inline = 8 << 10
	}
	return l
}

// Caller is on whose behalf calls are made: who, where, and by which rules.
// It does not change once calls are made in it.
type Caller struct {
	Principal       tool.Principal
	Scope           string          // whose tools override the global ones
	Rules           *policy.Rules   // nil: no capabilities block
	DisabledModules map[string]bool // modules that the app leaves out: nobody has their tools
	Workspace       string          // canonical absolute folder
	Root            *os.Root        // the same folder
	AppFile         string
	// Settings is what the app file says of each module, as the module reads it.
	// An error in its place is what every call of that module answers with.
	Settings    map[string]any
	Credentials map[string]string     // by module: the secret that the app file names for it
	Middleware  map[string]Middleware // by module: what the app wants done around its calls
	// AgentActions is what the agent may use of what its app has: actions by module,
	// none for all of a module's. Nil: everything.
	AgentActions map[string][]string
	Relaxed      bool // see tool.Grant
	HiddenFiles  []os.FileInfo
	HiddenPaths  []string
	Requester    approval.Requester
	NoWait       bool             // none of its calls, nor what they call, waits for a human: see Ask
	OnSuccess    func(*tool.Tool) // told of each call that went well; may be nil
	// OnStart is told of each call as its handler starts, with the handler's
	// context, and before that when it has waited for its locks for a while; may
	// be nil.
	OnStart func(context.Context, tool.Call)
	// OnApprovalAsked is told of each question that is put to a human; may be nil.
	OnApprovalAsked func(approval.Request)
}

// Scope names what an app brings with it: one file used in several folders is
// several apps, for its variables may say where it is used.
func Scope(appFile, workspace string) string {
	if appFile == "" || filepath.Dir(appFile) == workspace {
		return appFile
	}
	return appFile + " in " + workspace
}

// CallRequest is one proposal.
type CallRequest struct {
	// ID is the call's own, for an asker that must find it again after a crash
	// (see Fate); it must be used once. Empty: the door makes one.
	ID     string
	Name   string
	Args   json.RawMessage
	Parent string
	// NoWait answers at once with status waiting when a human must be asked;
	// the call then runs when it is approved, and Collect returns its result.
	NoWait bool
}

// Gate carries calls. It is safe for concurrent use.
type Gate struct {
	Config
	limiter             policy.Limiter
	schemas             schema.Cache
	doubts              doubtNotices
	steps               []step
	stepsBeforeApproval int // how many stations stand before a human is asked
}

// step is one step of the path.
type step func(context.Context, *callState) error

// New makes a door.
func New(c Config) *Gate {
	d := &Gate{Config: c}
	d.Limits = c.Limits.withDefaults()
	before := []step{
		d.resolve,     // dotted, wire, short and misspelt names → one tool, or did-you-mean
		d.authorize,   // deny · approve · allow; hidden tools do not exist
		d.checkArgs,   // coerce what is safe, validate the rest
		d.bindEffects, // effects from arguments, paths canonical before they become lock names
		d.rateLimit,   // rate limits
		d.recordAsked, // journal: asked, with the verdict so far
	}
	d.stepsBeforeApproval = len(before)
	d.steps = append(before,
		d.awaitApproval, // a human sees the exact call and may edit it: then judged, checked and bound again
		d.acquireLocks,  // every claim, atomically, in line, with a deadline
		d.recordBegun,   // journal: write-ahead
		d.runHandler,    // the tool itself, inside its grant and its time
		d.checkResult,   // the result against the output schema
		d.redact,        // scrubbed, masked, cut to what the asker may see
		d.recordEnded,   // journal: durable, whatever was cancelled
	)
	return d
}

// Call carries one proposal through the door and returns its answer, which is
// never nil: what goes wrong, in the tool or in the kernel, is told in it.
func (d *Gate) Call(ctx context.Context, s *Caller, ask CallRequest) *tool.Result {
	return d.run(ctx, newCallState(s, ask), d.steps)
}

// Resume carries a call whose request was approved after its asker had gone.
// The whole path is walked again, so a deferred call is judged when it fires;
// only the question is not asked twice. The caller has claimed the request.
func (d *Gate) Resume(ctx context.Context, s *Caller, r approval.Request) *tool.Result {
	p := newCallState(s, CallRequest{Name: r.Call.Tool.String(), Args: r.Call.Args, Parent: r.Call.Parent})
	p.call.ID, p.call.Name, p.request = r.Call.ID, r.Call.Name, &r
	return d.run(ctx, p, d.steps)
}

func (d *Gate) run(ctx context.Context, p *callState, path []step) *tool.Result {
	defer d.release(p)
	for _, step := range path {
		if err := step(ctx, p); err != nil {
			return d.refuse(p, err)
		}
	}
	return p.result
}
