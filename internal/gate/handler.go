package gate

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"callgate/internal/gate/limits"
	"callgate/internal/gate/liveoutput"
	"callgate/internal/gate/lock"
	"callgate/internal/gate/order"
	"callgate/internal/gate/outcome"
	"callgate/internal/journal/outputbus"
	"callgate/internal/secret"
	"callgate/internal/user"
	"callgate/tool"
)

// handlerResult is what a handler returned.
type handlerResult struct {
	result *tool.Result
	err    error
	stack  []byte // of a panic
}

// executor runs the handler of a call.
type executor struct {
	secrets *secret.Vault
	output  *outputbus.Bus // nil: nobody watches
	timeout time.Duration  // of a handler whose tool names none
	grace   time.Duration  // for a cancelled handler to return
	lent    *order.Lent
	records *recorder

	unfinished func(folder string) (name string)
	images     Images // may be nil
	act        Act
	stopped    func() error
	follow     func(*callState) func(context.Context, tool.Hop) error
}

// Images keep files as they were before calls changed them: see internal/undo.
type Images interface {
	// Before keeps the files of a call, which holds their locks. It never fails the call.
	// The function that it returns is called once, when the handler has stopped.
	Before(ctx context.Context, call tool.Call, t *tool.Tool, g tool.Grant) (after func())
}

// runHandler runs the tool inside its grant and its time. A handler that fails, panics or must be stopped gives an
// answer, not an error of the path: its record still has to be written.
func (x *executor) runHandler(ctx context.Context, c *callState) error {
	grant, err := x.grant(c)
	if err != nil {
		c.result = outcome.Failure(c.call.ID, outcome.AsError("gate.grant", err))
		return nil
	}
	var end func()
	grant.Emit, end = liveoutput.Open(x.output, x.secrets, c.caller.mods().Mask, c.call.ID)
	defer end()
	if c.how.detach != nil {
		grant.Background = c.how.detach
	}
	ctx, cancel := x.limit(ctx, c)
	defer cancel()
	if x.act != nil {
		acting, done, err := x.act(ctx, c.tool, c.call.Principal)
		if err != nil { // the handler has not run
			c.result = outcome.Failure(c.call.ID, outcome.AsError("gate.runHandler", err))
			return nil
		}
		defer done()
		ctx = acting
	}
	if c.tool.Runtime.Control {
		defer x.lent.Lend(c.call.ID, c.how.place)()
	}
	after := func() {}
	if x.images != nil && c.tool.Runtime.SideEffect.Durable() {
		after = x.images.Before(ctx, c.call, c.tool, grant)
	}
	defer x.releaseLocksAfter(c)()
	done, began := make(chan handlerResult, 1), time.Now()
	limits.Begin(c.tool.Handler, func() {
		out := x.invokeWithRetry(ctx, c, grant)
		after()
		done <- out
	})
	select {
	case out := <-done:
		x.setResult(ctx, c, out)
	case <-ctx.Done():
		x.awaitCancelled(ctx, c, done)
	}
	if !c.tool.Runtime.Control || c.result.Took == 0 { // the call that a control tool made has its own time
		c.result.Took = time.Since(began)
	}
	return nil
}

// awaitCancelled gives a cancelled handler a little time to return.
func (x *executor) awaitCancelled(ctx context.Context, c *callState, done <-chan handlerResult) {
	timer := time.NewTimer(x.grace)
	defer timer.Stop()
	select {
	case out := <-done:
		x.setResult(ctx, c, out)
	case <-timer.C:
		stopped := make(chan struct{})
		go func() { <-done; close(stopped) }()
		c.handlerDone = stopped
		e := outcome.Stopped(ctx)
		e.Message += ", and it did not stop when told to"
		e = e.WithHint("what it still holds stays locked until it returns: see callgate locks")
		c.result = outcome.Failure(c.call.ID, e)
	}
}

// setResult makes what a handler returned the result of the call.
func (x *executor) setResult(ctx context.Context, c *callState, out handlerResult) {
	if out.stack != nil { // for the tool's author, never for the model
		x.records.note(c, string(out.stack))
	}
	name, runtime := c.tool.ID.Dotted(), &c.tool.Runtime
	switch {
	case out.err != nil && ctx.Err() != nil:
		e := outcome.Stopped(ctx)
		e.Err = out.err
		// A doubt says more than why it was stopped.
		if of := outcome.Unanswered(runtime, c.claims, outcome.AsError(name, out.err)); of.Kind == tool.InDoubt {
			e.Kind, e.Hint = of.Kind, of.Hint
		}
		c.result = outcome.Failure(c.call.ID, e)
	case out.err != nil:
		e := outcome.Unanswered(runtime, c.claims, outcome.AsError(name, out.err))
		c.result = outcome.Failure(c.call.ID, withSchema(c, e))
	case out.result == nil:
		e := tool.Errorf(name, tool.Internal, "the tool returned neither a result nor an error")
		c.result = outcome.Failure(c.call.ID, e)
	default:
		result := *out.result                             // the handler may keep its own
		if !c.tool.Runtime.Control || result.Call == "" { // the call that a control tool made has its own ID
			result.Call = c.call.ID
		}
		if result.Status == "" {
			result.Status = tool.Success
		}
		if e := result.Error; e != nil && e.Kind == tool.InDoubt {
			result.Error = outcome.Unanswered(runtime, c.claims, e)
			if result.Summary == e.Error() {
				result.Summary = result.Error.Error()
			}
		}
		c.result = &result
		if succeeded := c.caller.observer.Succeeded; succeeded != nil && result.Status == tool.Success {
			succeeded(c.tool)
		}
	}
}

// withSchema adds the schema and an example to a handler's error about arguments: the
// schema let them pass, and the tool's own type did not.
func withSchema(c *callState, e *tool.Error) *tool.Error {
	if e.Kind != tool.Invalid || len(e.Fields) == 0 || e.Schema != nil || c.schema == nil {
		return e
	}
	out := *e
	out.Schema, out.Example = c.schema.Raw(), c.schema.Example()
	return &out
}

// watched is a handler with somebody who is told when it runs, and what comes of it.
type watched interface {
	Watch(call tool.Call) (ended func(*tool.Result, error))
}

// invoke is the one place where a handler runs.
func invoke(ctx context.Context, t *tool.Tool, call tool.Call, grant tool.Grant) (out handlerResult) {
	if w, ok := t.Handler.(watched); ok {
		ended := w.Watch(call)
		defer func() { ended(out.result, out.err) }()
	}
	defer func() {
		if p := recover(); p != nil {
			err := tool.Errorf(t.ID.Dotted(), tool.Internal, "the tool panicked: %v", p).
				WithHint("this is a defect in the tool; other arguments may avoid it")
			out = handlerResult{err: err, stack: debug.Stack()}
		}
	}()
	result, err := t.Handler.Execute(ctx, call, grant)
	return handlerResult{result: result, err: err}
}

// releaseLocksAfter releases the locks while the handler runs on, when it runs longer than its tool may keep others
// waiting, or goes on in the background. It returns the function that stops the clock.
func (x *executor) releaseLocksAfter(c *callState) (stop func()) {
	limit := c.tool.Runtime.LockFor
	if limit <= 0 || len(c.claims) == 0 {
		return func() {}
	}
	began := time.Now()
	release := sync.OnceFunc(func() {
		c.lease.Release()
		x.records.note(c, fmt.Sprintf("it has run for %v: its locks are released, and it runs on without them",
			time.Since(began).Round(time.Millisecond)))
	})
	timer, forget := time.AfterFunc(limit, release), c.how.detach.OnDetach(release)
	return func() { timer.Stop(); forget() }
}

// grant is everything this call may reach.
func (x *executor) grant(c *callState) (tool.Grant, error) {
	r, module, at := &c.tool.Runtime, c.tool.ID.Namespace, &c.caller.place
	settings, of := c.caller.mods().Settings[module], c.caller.mods().Of
	if of != nil && of(c.tool) != nil {
		settings = of(c.tool)
	}
	if err := c.caller.Withheld(c.tool); err != nil {
		return tool.Grant{}, err
	}
	for _, folder := range at.Kernel {
		if err := folder.Check(); err != nil {
			return tool.Grant{}, err
		}
	}
	secrets, err := x.secrets.ValuesFor(user.Name(c.call.Principal.User), r.Secrets)
	grant := tool.Grant{
		Workspace: at.Workspace, Root: at.Root, Relaxed: c.caller.relaxed(), Fence: lock.FenceOf(c.lease),
		HiddenFiles: at.HiddenFiles, HiddenPaths: at.HiddenPaths, ReadablePaths: at.Readable,
		Network: r.Network, Secrets: secrets, Claims: c.claims, Settings: settings, Unfinished: x.unfinished,
		MayChange: x.stopped,
	}
	if r.Network {
		grant.Follow = x.follow(c)
	}
	if r.SideEffect.Durable() { // what only reads is given nothing to write
		grant.ReadOnlyPaths = c.caller.ruleFiles().ReadOnly(c.ruleFiles)
	}
	if name := c.caller.mods().Credentials[module]; name != "" && err == nil {
		var values map[string]string
		values, err = x.secrets.ValuesFor(user.Name(c.call.Principal.User), []string{name})
		grant.Credential = values[name]
	}
	return grant, err
}

// checkResult compares the result with the output schema. The effect has happened, so a mismatch is a warning.
func (g *Gate) checkResult(_ context.Context, c *callState) error {
	if len(c.tool.Spec.Output) == 0 || c.result.Status != tool.Success || len(c.result.Data) == 0 {
		return nil
	}
	s, err := g.Schemas.Get(c.tool.Spec.Output)
	if err == nil {
		err = s.CheckResult(c.result.Data)
	}
	if err != nil {
		c.result.Warnings = append(c.result.Warnings,
			"the result does not match the tool's output schema: "+err.Error())
	}
	return nil
}
