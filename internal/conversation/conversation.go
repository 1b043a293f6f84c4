// Package conversation is an agent's conversation: a session in which a model
// makes the calls, and a history that survives its process.
//
// Law: one turn runs at a time. Opening a conversation again takes it over from
// the client that has it, unless a turn is under way there. What a conversation is
// owed, such as the end of a task that it started, reaches it once, and may have it
// go on by itself: internal/conversation/owed.
//
// A turn whose client went away ends with it, unless the conversation was opened to
// keep running (Spec.KeepRunning: a person's chat, who comes back). Then it goes on
// by itself, until it ends, or until it needs a human whom nobody is: what it asks
// can be answered elsewhere, and if its time is over the turn ends. Whoever opens the
// conversation again takes the turn over where it is.
//
// A turn that ends before its model has answered has its calls stopped, and each has
// a result; one that waits for a human goes on waiting. What the user stops has ended
// (cancelled). What nobody stopped, because the client went away, or the kernel closed
// or died, was interrupted, and Resume goes on with it.
package conversation

import (
	"cmp"
	"context"
	"sync"

	"callgate/internal/agent"
	"callgate/internal/agent/filter"
	"callgate/internal/agent/surface"
	"callgate/internal/app"
	"callgate/internal/conversation/briefing"
	"callgate/internal/conversation/compact"
	"callgate/internal/conversation/fitting"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/owed"
	"callgate/internal/conversation/shortcut"
	"callgate/internal/conversation/turnhooks"
	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/modelset"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
	"callgate/internal/resulttext"
	"callgate/llm"
	"callgate/tool"
)

// Conversation is one open conversation.
type Conversation struct {
	session *session.Session
	agent   app.Agent
	user    string // whose it is, as principals have it; empty: the kernel's own user's

	mu sync.RWMutex // guards what is answering, outside of turns
	answering
	workMode

	log       *history.Log
	hooks     *turnhooks.Hooks
	skills    *shortcut.Skills // that the user's words begin; nil: it has no user
	warnings  []string
	turn      turn
	keeps     bool        // a turn goes on when its client is gone
	headless  bool        // it has no client
	child     *Child      // nil: it works for its user
	closes    []string    // kinds of tasks that end with it
	limit     agent.Limit // of what its turns may cost since it was opened
	opened    llm.Usage   // what they had cost then
	approvals fitting.Approvals
	debts     *owed.Debts
	over      chan struct{} // closed when its session has ended
}

// answering is the model that answers, and all that follows from it.
type answering struct {
	model     modelset.Info
	described *app.Model             // the model as the app file describes it; nil: it does not
	surface   toolview.SurfaceConfig // how its model is shown the tools
	plan      *surface.Plan
	names     resulttext.Names // by which its model calls tools
	config    *agent.ModelConfig
	loop      *agent.Loop
	prompt    *briefing.Prompter
	fitter    *fitting.Fitter
	kept      *kept // what its steps gave; nil: it has none
}

// ID returns the conversation's ID, which is its session's too.
func (c *Conversation) ID() string { return c.session.ID() }

// Session returns the session in which the agent calls.
func (c *Conversation) Session() *session.Session { return c.session }

// Agent returns the agent.
func (c *Conversation) Agent() app.Agent { return c.agent }

// Model returns what is known of the agent's model.
func (c *Conversation) Model() modelset.Info {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.model
}

// Plan returns the tools as the model is shown them.
func (c *Conversation) Plan() *surface.Plan {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.plan
}

// Warnings is what the conversation's user should know of it, beside its session's.
func (c *Conversation) Warnings() []string { return c.warnings }

// offered returns the tools that the model is shown.
func (c *Conversation) offered() []llm.ToolDef {
	var defs []llm.ToolDef
	for _, e := range c.plan.Shown {
		defs = append(defs, llm.ToolDef{Name: e.Name, Description: e.Description, Schema: e.Schema})
	}
	return defs
}

// Info is the conversation as a list shows it.
func (c *Conversation) Info() history.Info { return c.log.Info().As(c.turn.running()) }

// Follow passes on the events after one, and then each as it comes.
func (c *Conversation) Follow(ctx context.Context, after int64, seen func(history.Event) bool) error {
	return c.log.Follow(ctx, after, seen)
}

// Watch is called as a turn goes on. Its functions must not wait.
type Watch struct {
	agent.Observer
	Asked func(approval.Request) // a human is asked, or has answered; may be nil

	alone bool // the turn begins by itself
	left  bool // it has no client
}

// Send has the agent answer a message. It returns when the turn has ended, and
// how. A turn that began by itself is waited for.
func (c *Conversation) Send(ctx context.Context, message llm.Message, w Watch) (history.End, error) {
	if err := c.takes(message); err != nil {
		return history.End{}, err
	}
	w = c.turn.onFirstEvent(w)
	return c.run(ctx, w, func(ctx context.Context) (history.End, error) {
		turn := func(ctx context.Context, o agent.Observer) (end history.End, err error) {
			if c.skills != nil {
				if c.prompt.Directive, err = c.skills.Said(ctx, c.session, message.Text()); err != nil {
					return end, err
				}
			}
			return c.loop.Turn(ctx, message, o)
		}
		return c.hooks.Turn(ctx, message.Text(), w.Observer, turn)
	})
}

// takes says why the app does not take a message of the user's.
func (c *Conversation) takes(message llm.Message) error {
	if a := c.session.App(); a != nil {
		return a.Runtime.Attachments.Check(message)
	}
	return nil
}

// Resume goes on with a turn that was interrupted.
func (c *Conversation) Resume(ctx context.Context, w Watch) (history.End, error) {
	return c.run(ctx, w, func(ctx context.Context) (history.End, error) {
		c.turn.written.give()
		return c.hooks.Resume(ctx, w.Observer, c.loop.Resume)
	})
}

// Compact makes the conversation shorter now, and returns what was done: nil
// when there was nothing to leave out. No turn may be under way.
func (c *Conversation) Compact(ctx context.Context) (*history.Compaction, error) {
	var done *history.Compaction
	_, err := c.run(ctx, Watch{}, func(ctx context.Context) (history.End, error) {
		made, err := c.fitter.Compact(ctx, c.prompt.System(), compact.Requested)
		if made == nil || err != nil {
			return history.End{}, err
		}
		done = made
		return history.End{}, c.log.Append(ctx, history.Event{Type: history.Compacted, Compaction: made})
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// run runs a turn, or something else during which no turn may run. Then who attends
// looks whether the conversation should go on by itself.
func (c *Conversation) run(
	ctx context.Context, w Watch, do func(context.Context) (history.End, error),
) (end history.End, err error) {
	ctx, release, ended := c.session.Enter(ctx)
	if ended != nil {
		return history.End{}, ended.WithHint("resume the conversation: callgate sessions resume %s", c.ID())
	}
	defer release()
	if err := c.session.Loaded().Revoked(); err != nil {
		return history.End{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.left = c.headless
	for other := c.turn.begin(ctx, cancel, w); other != nil; other = c.turn.begin(ctx, cancel, w) {
		switch {
		case w.alone:
			return history.End{}, nil // the other turn tells what this one would
		case !other.alone || !other.awaitEnd(ctx):
			return history.End{}, runningError(c.ID())
		}
	}
	c.turn.note(c.log.Info().Usage)
	defer func() {
		c.turn.end()
		if err == nil || !w.alone { // one that cannot begin would be woken for ever
			c.debts.Bell.Ring()
		}
	}()
	return do(ctx)
}

func runningError(id string) *tool.Error {
	return tool.Errorf("conversation.Send", tool.Conflict, "conversation %s has a running turn", id).
		WithHint("wait for it, or stop it: callgate sessions cancel %s", id)
}

// Cancel stops the turn that is under way and waits until it has stopped. It reports whether there was one.
func (c *Conversation) Cancel() bool { return c.turn.stop(nil) }

// Close ends the conversation's session. The turn that is under way is
// interrupted, and the tasks of its core lane and its agents are cancelled first.
func (c *Conversation) Close() {
	c.turn.stop(history.ConversationClosed)
	c.hooks.Ended()
	_ = c.debts.Cancel(context.Background(), c.closes...) // what the store cannot cancel is leased again later
	c.session.Close()
}

// release ends the conversation's session and leaves its tasks: another opening of the conversation has them next.
func (c *Conversation) release(why history.Interruption) {
	c.turn.stop(why)
	c.session.Close()
}

// calls makes the calls of a model in its session.
type calls struct {
	session   *session.Session
	turn      *turn
	approvals fitting.Approvals
	kept      *kept // what they give, for steps; nil: it is for a model
}

var _ agent.ToolCaller = calls{}

// Call makes the calls of one answer through the gate.
func (c calls) Call(ctx context.Context, made []history.Call, done func(int, *tool.Result)) []*tool.Result {
	requests := make([]gate.CallRequest, len(made))
	for i, call := range made {
		requests[i] = gate.CallRequest{
			ID: call.ID, Name: call.Name, Args: call.Args, Movable: c.kept == nil, Whole: c.kept != nil,
		}
	}
	results := c.session.CallAll(ctx, requests, done)
	c.kept.keep(made, results)
	c.turn.stopIfUnanswered(ctx, c.approvals)
	return results
}

// CallOutcome returns the outcome of a call that was made before a restart.
func (c calls) CallOutcome(ctx context.Context, id string) (*tool.Result, bool, error) {
	outcome, result, err := c.session.Outcome(ctx, id)
	switch {
	case err != nil || outcome == gate.NotStarted:
		return nil, false, err
	case outcome == gate.Ended:
		return result, true, nil
	case outcome == gate.InDoubt:
		e := tool.Errorf("conversation.Resume", tool.InDoubt,
			"the kernel stopped during this call: it may or may not have happened").WithHint("look before you repeat it")
		return &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e, Call: id}, true, nil
	default:
		result, err := c.session.Collect(ctx, id)
		return result, true, err
	}
}

// loopConfig is the loop's configuration, without its log.
func (c *Conversation) loopConfig(model *agent.ModelConfig) (agent.Config, error) {
	cfg := agent.Config{
		Model: model, Tools: calls{c.session, &c.turn, c.approvals, c.kept}, ToolDefs: c.offered(), Names: c.names,
		System: c.prompt.System, SystemFor: c.prompt.SystemFor, Notes: c.prompt.Notes,
	}
	a := c.session.App()
	if a == nil {
		return cfg, nil
	}
	cfg.Strict = a.Runtime.Strict
	mode := c.workMode.AppMode
	cfg.MaxTurns = cmp.Or(c.child.maxTurns(), mode.MaxTurns, c.agent.MaxIterations, a.Runtime.MaxTurns)
	cfg.Timeout = cmp.Or(mode.Timeout, a.Runtime.Timeout)
	if isPipeline(c) {
		cfg.MaxTurns = 2*len(a.Runtime.Contract.Steps) + 1 // an agent may have to answer again
	}
	if c.child != nil {
		cfg.Timeout = 0 // its task has one
	}
	cfg.TurnLimit = turnLimit(a)
	texts, err := filter.New(filterRules(a.Middleware))
	if texts != nil {
		cfg.Input, cfg.Output = texts.Input, texts.Output
	}
	return cfg, err
}

// filterRules are the app's middleware around what the user and the model say.
func filterRules(all []app.Middleware) []filter.Rule {
	var rules []filter.Rule
	for _, m := range all {
		switch m.Kind {
		case "mask_secrets":
			rules = append(rules, filter.Rule{Secrets: true, Mask: m.Patterns, Input: true, Output: true})
		case "content_filter":
			rules = append(rules, filter.Rule{
				Block: m.Patterns, Input: m.Where != "output", Output: m.Where != "input", Message: m.Message,
			})
		case "response_filter":
			rules = append(rules, filter.Rule{Mask: m.Patterns, Instead: &m.Text, Output: true})
		}
	}
	return rules
}
