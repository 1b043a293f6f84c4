// Package gate is the path of one call, from a proposal to its effect. It is
// the only code that runs a tool's handler.
//
// # The path
//
// [Gate.Call] takes a call through the steps of [New], in the order they are
// listed there. A step either lets the call go on or ends it with an error,
// and the error becomes an answer that a model can act on. What a step decides
// is kept in the call's state; nothing is read from the arguments but the
// arguments themselves.
//
// # Laws
//
//   - A handler runs only when its arguments met the schema, policy allowed the
//     resolved tool, a human said yes where one had to, every claim is held,
//     and, if it leaves anything behind, its begun record is on disk.
//   - What a human approved is what runs: an approved call is bound again, and
//     asked again if it would touch something else.
//   - A call that changes the rules of agents is approved by itself, whatever is
//     granted. A yes that lasts, for good or for a session, turns approve into allow
//     and nothing else: see internal/gate/lasting and internal/gate/permission.
//   - The app's hooks stand in the path, and may narrow what happens: see [Hooks].
//   - Calls of one answer that touch the same thing happen in the model's order: see
//     [Gate.CallAll] and internal/gate/order.
//   - Every call that begins ends: the ended record is written whatever was
//     cancelled, and before the answer leaves when there was an effect.
//   - Locks are released after the handler has stopped, never before. A handler
//     that exceeds its time keeps them until it returns; one that says that it
//     returns promptly is waited for. Only a tool that says
//     so (LockFor) releases them earlier and runs on, on record.
//   - A read that needed no human is one record, written behind.
package gate

import (
	"context"
	"encoding/json"

	"callgate/internal/artifact"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/detach"
	"callgate/internal/gate/lasting"
	"callgate/internal/gate/limits"
	"callgate/internal/gate/lockqueue"
	"callgate/internal/gate/notice"
	"callgate/internal/gate/order"
	"callgate/internal/gate/outcome"
	"callgate/internal/gate/permission"
	"callgate/internal/gate/policy"
	"callgate/internal/gate/redaction"
	"callgate/internal/gate/schema"
	"callgate/internal/journal"
	"callgate/internal/journal/outputbus"
	"callgate/internal/observe"
	"callgate/internal/registry"
	"callgate/internal/secret"
	"callgate/tool"
)

// Config holds the parts that the gate uses; Lasting, Output and Limits are optional.
type Config struct {
	Tools     *registry.Registry
	Journal   *journal.Journal
	Locks     lockqueue.Locks
	Rates     Rates
	Approvals *approval.Queue
	Artifacts *artifact.Store
	Secrets   *secret.Vault
	Lasting   *lasting.Store // a human's yes that lasts; nil: none does
	Output    *outputbus.Bus // receives what running calls print
	Detach    *detach.Table  // the calls that can go on in the background; nil: none can
	Limits    Limits
	// Permissions are those of the sessions; nil: only the rules count.
	Permissions *permission.Table
	// Unfinished names files that a handler has not completed; nil: handlers do.
	Unfinished func(folder string) (name string)
	// Images keep files as they were before calls changed them; nil: nothing is kept.
	Images Images
	// Count counts a call against the limits of its user, and is an error if one is reached: see quota. Nil: none has any.
	Count func(context.Context, *tool.Tool, tool.Principal) error
	// Act gives the handler of a call a context that ends when this kernel may not act any more, and a place among those
	// that run: see node.Guard and quota. Nil: it always may.
	Act Act
	// Room is an error where the disk has no room for what a call leaves behind. It is asked before each call that
	// changes something. Nil: it always has.
	Room func() error
	// Stopped says why this kernel may not act now, for handlers that ask right before they change something. Nil: it may.
	Stopped func() error
}

// Rates counts calls against rate limits. [policy.Limiter] does it for one
// kernel.
type Rates interface {
	// Take counts a call, or returns a Limited error that says how long to wait.
	Take(rules *policy.Rules, t *tool.Tool, p tool.Principal) error
}

// Limits bounds what one call may take.
type Limits = limits.Limits

// Act lets the handler of a call act until done.
type Act = func(context.Context, *tool.Tool, tool.Principal) (acting context.Context, done func(), err error)

// CallRequest is one proposal.
type CallRequest struct {
	// ID is the call's own, for a caller that must find the call again after a crash (see Outcome), or must be known by
	// it before it starts. It must be used once. Empty: the gate makes one.
	ID           string
	Name, Parent string
	Args         json.RawMessage
	tool.ModelChoice
	// NoWait answers at once with status waiting when a human must be asked; the
	// call then runs when it is approved, and Collect returns its result.
	NoWait bool
	// Whole asks for a result that is not cut to a model's size: for a program that reads all of it, up to MaxWhole
	// bytes. It is scrubbed and masked like any other.
	Whole bool
	// Unattended is for a call that comes by itself, as a watcher's check does: where a
	// human must be asked it is refused, and notices wait for a call that somebody reads.
	Unattended bool
	// Movable allows that the call goes on in the background when it takes long: then
	// the answer says as which task. Calls that it makes may do so too.
	Movable bool
	// Background says that nobody waits for the result: see tool.Background.
	Background bool
	// Script is the place in a script at which the call stands; nil: in none.
	Script *approval.Script
	// Turn has the calls of a batch made one after the other; nil: side by side.
	Turn *order.Turn
}

// MaxWhole bounds a result that is asked for whole.
const MaxWhole = 32 << 20

// Gate carries calls. It is safe for concurrent use.
type Gate struct {
	Config
	*outcome.Reader
	records  recorder
	locker   locker
	executor executor
	redactor redaction.Redactor
	Schemas  schema.Cache
	doubts   notice.Board
	lent     order.Lent
	steps    []step
	// stepsBeforeApproval counts the steps before a human is asked.
	stepsBeforeApproval int
}

// step is one function of the path.
type step func(context.Context, *callState) error

// New makes a gate.
func New(c Config) *Gate {
	c.Limits = c.Limits.WithDefaults()
	g := &Gate{
		Config:   c,
		records:  recorder{journal: c.Journal, artifacts: c.Artifacts, secrets: c.Secrets, inline: c.Limits.Inline},
		redactor: redaction.Redactor{Artifacts: c.Artifacts, Secrets: c.Secrets, Limit: c.Limits.Result},
	}
	g.Reader = outcome.NewReader(c.Journal, c.Artifacts, c.Approvals, g.doubts.Drop)
	g.locker = locker{
		locks: c.Locks, wait: c.Limits.LockWait, output: c.Output, secrets: c.Secrets, records: &g.records,
	}
	g.executor = executor{
		secrets: c.Secrets, output: c.Output, timeout: c.Limits.Timeout, grace: c.Limits.Grace,
		lent: &g.lent, records: &g.records, unfinished: c.Unfinished, images: c.Images, act: c.Act, stopped: c.Stopped,
		follow: g.follow,
	}
	hooks := hookSteps{g}
	before := []step{
		g.resolve,          // dotted, wire, short and misspelt names → one tool, or did-you-mean
		authorize,          // deny · approve · allow; hidden tools do not exist
		g.checkArgs,        // coerce what is safe, validate the rest
		g.bindInTurn,       // effects from arguments, paths canonical before they become lock names
		authorizeCall,      // the rules about arguments, for those of this call
		protectShapes,      // a file that programs run by themselves is not written by default
		protectRules,       // a change of the rules needs a human, whatever is granted
		applyReading,       // a command that only reads in the workspace needs nobody
		g.applyPermissions, // the session's mode, and what is allowed there
		g.applyLasting,     // a human's yes that lasts: approve becomes allow
		hooks.ask,          // the app's hooks: refuse, have a human asked, change arguments
		g.checkRetry,       // a call in the place of one in doubt touches the same, and needs no human
		g.rateLimit,
		g.recordAsked, // journal: asked, with the verdict so far
	}
	g.stepsBeforeApproval = len(before)
	g.steps = append(before,
		g.awaitApproval,       // a human sees the exact call and may edit it; bound again, asked again if it differs
		g.awaitEarlier,        // the calls before it in its answer that touch the same thing have ended
		g.locker.acquireLocks, // every claim, all or none, in line, with a deadline
		checkBinding,          // an approved call still touches what was approved
		g.checkLasting,        // and the yes that lasts still counts
		checkLaw,              // and nothing has happened to what a call in doubt touches
		g.recordBegun,         // journal: write-ahead
		g.executor.runHandler, // the tool itself, inside its grant and its time
		g.checkResult,         // the result against the output schema
		g.redact,              // scrubbed, masked, cut to what the caller may see
		hooks.shape,           // hooks mark or cut it
		g.records.recordEnded, // journal: durable, whatever was cancelled
		g.records.recordTold,  // and of which doubts its caller was told
		hooks.follow,          // what hooks do after a call, when its locks are released
	)
	return g
}

// Call carries one proposal and returns its answer, which is never nil: what goes wrong is part of it.
func (g *Gate) Call(ctx context.Context, caller *Caller, r CallRequest) *tool.Result {
	return g.run(ctx, g.newCall(caller, r), g.steps)
}

// Resume carries a call whose request was approved after its caller had gone. The whole path is run again, so a
// deferred call is authorized when it fires; only the human is not asked twice. The request is reserved for this.
func (g *Gate) Resume(ctx context.Context, caller *Caller, r approval.Request) *tool.Result {
	c := g.newCall(caller, CallRequest{ID: r.Call.ID, Name: r.Call.Tool.String(), Args: r.Call.Args,
		Parent: r.Call.Parent, ModelChoice: r.Call.ModelChoice})
	c.call.Name, c.request, c.how.background = r.Call.Name, &r, true
	return g.run(ctx, c, g.steps)
}

// EndUnrun ends an answered call that cannot run, with the reason: who collects it
// would wait for ever. A call that was refused ends as refused.
func (g *Gate) EndUnrun(ctx context.Context, r approval.Request, reason error) *tool.Result {
	caller := &Caller{id: Identity{Principal: r.Call.Principal}}
	c := g.newCall(caller, CallRequest{ID: r.Call.ID, Name: r.Call.Name, Args: r.Call.Args, Parent: r.Call.Parent})
	c.tool, c.request = &tool.Tool{ID: r.Call.Tool}, &r
	if r.State != approval.Pending {
		if err := g.awaitAnswer(ctx, c); err != nil {
			reason = err
		}
	}
	g.withdrawApproval(ctx, c)
	return g.records.refuse(c, reason)
}

func (g *Gate) run(ctx context.Context, c *callState, steps []step) *tool.Result {
	first := max(0, len(steps)-len(g.steps)+g.stepsBeforeApproval)
	ctx, ended := observe.ToolCall(ctx, c.call)
	if refused := g.walk(ctx, c, steps[:first]); refused != nil {
		g.locker.release(c)
		ended(c.tool, refused)
		return refused
	}
	rest := func(ctx context.Context) *tool.Result {
		defer func() { ended(c.tool, c.result) }()
		defer g.locker.release(c)
		if refused := g.walk(ctx, c, steps[first:]); refused != nil {
			return refused
		}
		return c.result
	}
	keep := c.caller.observer.Detached
	c.how.detach = g.Detach.Begin(c.call, c.tool, detach.Options{
		Movable: c.how.movable, Background: c.how.background && !c.how.unattended, Keep: keep,
	})
	if c.how.detach == nil {
		return rest(ctx)
	}
	return c.how.detach.Run(ctx, rest)
}

// walk takes a call through steps. It returns the answer if one of them ends it.
func (g *Gate) walk(ctx context.Context, c *callState, steps []step) *tool.Result {
	for _, next := range steps {
		if err := next(ctx, c); err != nil {
			g.withdrawApproval(ctx, c)
			return g.records.refuse(c, err)
		}
	}
	return nil
}

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
