package gate

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/binding"
	"callgate/internal/gate/lock"
	"callgate/internal/gate/order"
	"callgate/internal/journal"
	"callgate/tool"
)

// CallAll carries the calls of one answer and returns their results in the answer's
// order. The law is that of internal/gate/order: calls that touch the same thing
// happen in the model's order, and the others side by side. Humans are asked about
// all of them at once, before any waits for another. done, unless it is nil, is given
// each result as it comes, from several goroutines; of calls that touch the same
// thing and ran, the earlier one's first.
func (g *Gate) CallAll(
	ctx context.Context, caller *Caller, requests []CallRequest, done func(int, *tool.Result),
) []*tool.Result {
	results := make([]*tool.Result, len(requests))
	answer := func(i int, r *tool.Result) {
		results[i] = r
		if done != nil {
			done(i, r)
		}
	}
	if len(requests) == 1 { // there is no order to keep
		answer(0, g.Call(ctx, caller, requests[0]))
		return results
	}
	b := batch{g, order.NewBatch(g.Limits.LockWait)}
	if len(requests) > 0 {
		b.order.InTurn(requests[0].Turn)
	}
	calls := make([]*callState, len(requests))
	for i, request := range requests {
		c := g.newCall(caller, request)
		if err := b.join(ctx, c); err != nil {
			answer(i, g.records.refuse(c, err))
			continue
		}
		calls[i] = c
		if c.request != nil && c.request.State == approval.Pending {
			_ = submit(ctx, g, c) // one that cannot be is tried again, and says why
		}
	}
	var running sync.WaitGroup
	for i, c := range calls {
		if c == nil {
			continue
		}
		running.Go(func() {
			defer c.how.place.End()
			answer(i, b.run(ctx, c))
		})
	}
	running.Wait()
	return results
}

// batch is the calls of one answer at the gate.
type batch struct {
	gate  *Gate
	order *order.Batch
}

// join runs the steps before a human is asked and gives the call its place in the
// batch. A call whose paths lead nowhere yet, while an earlier one may change that,
// joins unbound: it is looked at again when its turn comes.
func (b batch) join(ctx context.Context, c *callState) error {
	var claims []tool.Claim
	var bind order.Bind
	for c.how.next < b.gate.stepsBeforeApproval {
		err := b.gate.steps[c.how.next](ctx, c)
		if _, unbound := err.(*unboundError); unbound && b.order.Changes(anyFile()) {
			claims = anyFile()
			break
		}
		if err != nil {
			return err
		}
		c.how.next++
	}
	switch {
	case claims != nil:
	case c.tool.Runtime.Control:
		claims, bind = b.bindTargets(ctx, c)
	default:
		claims, bind = c.claims, c.binder()
	}
	holder := lock.Holder{Call: c.call.ID, Tool: c.tool.ID.Dotted(), Principal: c.call.Principal.String()}
	c.how.place = b.order.Join(holder, claims, bind)
	return nil
}

// anyFile is what a call touches whose paths cannot be resolved.
func anyFile() []tool.Claim {
	return []tool.Claim{{Resource: "file:", Mode: tool.IX}, {Resource: "repo:", Mode: tool.IX}}
}

// run carries a call that has joined.
func (b batch) run(ctx context.Context, c *callState) *tool.Result {
	g := b.gate
	if c.how.next < g.stepsBeforeApproval {
		if err := g.awaitEarlier(ctx, c); err != nil {
			return g.records.refuse(c, err)
		}
	}
	return g.run(ctx, c, g.steps[c.how.next:])
}

// bindInTurn binds the call. One that a control tool makes and whose paths lead nowhere
// yet is bound when its turn comes.
func (g *Gate) bindInTurn(ctx context.Context, c *callState) error {
	err := bindEffects(ctx, c)
	if err == nil || c.how.place == nil {
		return err
	}
	if err := g.awaitEarlier(ctx, c); err != nil {
		return err
	}
	return bindEffects(ctx, c)
}

// binder returns the function that says what the call touches as things are then.
func (c *callState) binder() order.Bind {
	if len(c.claims) == 0 {
		return nil
	}
	workspace, t, args := c.caller.place.Workspace, c.tool, c.call.Args
	return func() ([]tool.Claim, error) { return binding.OfCall(workspace, t, args) }
}

// forwarder is the handler of a control tool that makes calls.
type forwarder interface {
	// Targets reads from the arguments of the control tool which calls these are, by name
	// and arguments. One that is made in the place of the control tool's own call takes its
	// place in the order; several are a batch of their own, before which that call waits.
	Targets(args json.RawMessage) (calls []tool.Call, inPlace bool)
}

// bindTargets returns what the calls that a control tool will make touch: by that it
// has its place in the order. Where this cannot be known, a call says so itself when
// it comes to its turn.
func (b batch) bindTargets(ctx context.Context, c *callState) ([]tool.Claim, order.Bind) {
	f, forwards := c.tool.Handler.(forwarder)
	if !forwards {
		return nil, nil
	}
	targets, inPlace := f.Targets(c.call.Args)
	if inPlace && len(targets) == 1 {
		return b.bindTarget(ctx, c, targets[0])
	}
	c.how.waits = true
	var claims []tool.Claim
	for _, one := range targets {
		touched, _ := b.bindTarget(ctx, c, one)
		claims = append(claims, touched...)
	}
	return claims, nil
}

// bindTarget returns what one call that a control tool will make touches.
func (b batch) bindTarget(ctx context.Context, c *callState, call tool.Call) ([]tool.Claim, order.Bind) {
	target := &callState{caller: c.caller, call: call}
	for _, next := range []step{b.gate.resolve, b.gate.checkArgs, bindEffects} {
		err := next(ctx, target)
		if _, unbound := err.(*unboundError); unbound && b.order.Changes(anyFile()) {
			return anyFile(), nil
		}
		if err != nil {
			return nil, nil // it will be refused with the reason, and touch nothing
		}
	}
	return target.claims, target.binder()
}

// awaitEarlier waits until the earlier calls of the same answer that touch the same
// thing have ended. A control tool touches nothing; the call that it makes waits in
// its place. One that makes several waits for all of them.
func (g *Gate) awaitEarlier(ctx context.Context, c *callState) error {
	place := c.how.place
	if place == nil || c.tool.Runtime.Control && !c.how.waits {
		return nil
	}
	if c.how.waits {
		return place.WaitEarlier(ctx)
	}
	// A human may have edited it, or it was not known before.
	if c.request != nil || c.call.Parent != "" && len(c.claims) > 0 {
		place.Change(c.claims, c.binder())
	}
	defer g.locker.reportEarlier(c)()
	if err := place.Wait(ctx); err != nil {
		return err
	}
	if !place.Rebound() || c.request != nil || c.byArguments {
		return nil // checkBinding and the steps to come look at it
	}
	return g.rebind(ctx, c)
}

// rebind takes over what a call touches now, after an earlier call of its answer led
// its paths elsewhere. What was decided must hold for that too.
func (g *Gate) rebind(ctx context.Context, c *callState) error {
	before := c.claims
	if err := bindEffects(ctx, c); err != nil {
		return err
	}
	if c.needsHuman() {
		return changedError(c, before, "by an earlier call of the same answer, and a human must be asked about that")
	}
	if c.isSingleRecord() || slices.Equal(before, c.claims) {
		return nil
	}
	return g.Journal.Append(g.records.ask(c, journal.Allow, c.decision.Reason))
}
