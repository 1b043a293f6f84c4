package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/conversation"
	"callgate/internal/kernel/deferred"
	"callgate/internal/module"
	"callgate/internal/task"
	"callgate/tool"
)

// spawn starts agents, each once: the same call that is made again finds those it began.
func (a *Agents) spawn(
	ctx context.Context, call tool.Call, parent *conversation.Conversation, r module.AgentRequest,
) (*tool.Result, error) {
	var begun []string
	for i, w := range r.Work {
		id := fmt.Sprintf("%s-agent", call.ID)
		if len(r.Work) > 1 {
			id = fmt.Sprintf("%s-agent%d", call.ID, i+1)
		}
		o, err := a.newOrder(ctx, parent, w)
		if err == nil {
			o.Agent = id
			err = a.start(ctx, call, parent, id, o)
		}
		if err != nil && len(begun) == 0 {
			return nil, err
		}
		if err != nil {
			return nil, tool.Errorf(op, tool.KindOf(err), "agent %d of %d was not started: %v", i+1, len(r.Work), err).
				WithHint("these were: %s", strings.Join(begun, ", "))
		}
		begun = append(begun, id)
	}
	if !r.Wait {
		return a.told(ctx, parent.ID(), begun)
	}
	return a.await(ctx, parent.ID(), begun, math.MaxInt64, true)
}

// newOrder is what an agent is to do for a conversation's.
func (a *Agents) newOrder(
	ctx context.Context, parent *conversation.Conversation, w module.AgentWork,
) (order, error) {
	own, s := parent.Agent(), parent.Session()
	specialist, err := choose(s.App(), own, w.Specialist)
	if err != nil {
		return order{}, err
	}
	pool := app.DefaultPool()
	if own.Team.Pool != nil {
		pool = *own.Team.Pool
	}
	o := order{
		Specialist: specialist, Prompt: w.Prompt, MaxTurns: w.MaxTurns, Timeout: w.Timeout,
		Mode: a.opt.Permissions.Of(parent.ID()).Mode, Workers: pool.MaxWorkers, Progress: pool.Progress,
		Retries: pool.AutoRetry, AppMode: parent.AppMode().Name,
		Root: parent.ID(), Depth: 1, Above: []string{own.ID},
		Limits: limits{Depth: pool.MaxDepth, Agents: pool.MaxAgents, Tokens: pool.MaxTokens},
	}
	if pool.MaxCost != nil {
		o.Limits.Cost = int64(math.Round(*pool.MaxCost * 1e6))
	}
	above, isAgent, err := a.orderOf(ctx, parent.ID())
	if err != nil {
		return order{}, err
	}
	if isAgent { // the limits are those of the user's conversation
		o.Root, o.Depth, o.Limits = above.Root, above.Depth+1, above.Limits
		o.Above = append(o.Above, above.Above...)
		o.Under = above.Under || above.App != nil
		a.mu.Lock()
		o.For = a.doing[parent.ID()]
		a.mu.Unlock()
	}
	return o, nil
}

// orderOf returns what the agent of a conversation is to do, if it works for another.
func (a *Agents) orderOf(ctx context.Context, id string) (order, bool, error) {
	t, err := a.opt.Runner.Store().Get(ctx, id)
	if tool.KindOf(err) == tool.NotFound || err == nil && t.Kind != Kind {
		return order{}, false, nil
	}
	if err != nil {
		return order{}, false, err
	}
	o, err := orderOf(t)
	return o, err == nil, err
}

// choose finds the agent that another one starts: one of the app that it may start, or one
// like itself.
func choose(a *app.App, own app.Agent, name string) (string, error) {
	if name == "" || name == own.ID {
		return own.ID, nil
	}
	var known []string
	for _, s := range a.Specialists(own) {
		known = append(known, s.ID)
	}
	if slices.Contains(known, name) {
		return name, nil
	}
	e := tool.Errorf(op, tool.NotFound, "there is no specialist %q", tool.Truncate(name))
	if a != nil && slices.ContainsFunc(a.Agents, func(o app.Agent) bool { return o.ID == name }) {
		e = tool.Errorf(op, tool.Denied, "%s may not start %s: its delegate_to does not name it", own.ID, name)
	}
	if len(known) == 0 {
		return "", e.WithHint("leave specialist out: the agent is a copy of you then")
	}
	return "", e.WithHint("the specialists are %s; without one the agent is a copy of you", strings.Join(known, ", "))
}

// start stores the task of an agent, within the limits of all that work for its
// conversation, and has it run. A task that is stored is within them.
func (a *Agents) start(
	ctx context.Context, call tool.Call, parent *conversation.Conversation, id string, o order,
) error {
	defer a.trees.Lock(o.Root)()
	_, err := a.opt.Runner.Store().Get(ctx, id)
	if tool.KindOf(err) == tool.NotFound {
		err = a.mayStart(ctx, o)
	}
	if err != nil {
		return err
	}
	input, err := json.Marshal(o)
	if err != nil {
		return tool.Errorf(op, tool.Invalid, "the work cannot be written: %w", err)
	}
	_, err = a.opt.Runner.Start(ctx, task.Task{
		ID: id, Kind: Kind, Label: tool.TruncateTo(o.Specialist+": "+strings.Join(strings.Fields(o.Prompt), " "), 80),
		Parent: parent.ID(), Input: input, Asker: deferred.AskerOf(parent.Session(), call),
	})
	return err
}

// mayStart returns an error if one more agent would be too deep, too many or too much.
func (a *Agents) mayStart(ctx context.Context, o order) error {
	if o.Depth > o.Limits.Depth {
		const text = "agents may start agents %d deep, and this would be %d"
		return tool.Errorf(op, tool.Limited, text, o.Limits.Depth, o.Depth).
			WithHint("do it yourself, or tell whom you work for what is missing")
	}
	all, err := a.Tree(ctx, o.Root)
	if err != nil {
		return err
	}
	if n := len(all); n >= o.Limits.Agents && !o.Again {
		return tool.Errorf(op, tool.Limited, "%d agents were started for this conversation, and no more may be", n).
			WithHint("give new work to one that has ended (reassign), or do it yourself")
	}
	return overBudget(all, o.Limits)
}

// reassign gives an agent new work. What it does now is stopped first.
func (a *Agents) reassign(
	ctx context.Context, call tool.Call, parent *conversation.Conversation, r module.AgentRequest,
) (*tool.Result, error) {
	one, err := a.find(ctx, parent.ID(), r.IDs[0])
	if err != nil {
		return nil, err
	}
	w := r.Work[0]
	if w.Specialist == "" {
		w.Specialist = one.order.Specialist
	}
	if w.Specialist != one.order.Specialist {
		return nil, tool.Errorf(op, tool.Invalid, "agent %s is a %s, and stays one", one.ID, one.order.Specialist).
			WithHint("start another agent for a %s", tool.Truncate(w.Specialist))
	}
	o, err := a.newOrder(ctx, parent, w)
	if err != nil {
		return nil, err
	}
	o.Agent, o.Again = one.ID, true
	id := call.ID + "-again"
	if one.last.ID != id && !one.last.State.Final() {
		if err := a.stop(ctx, one.last.ID, "its parent, who has other work for it"); err != nil {
			return nil, err
		}
	}
	if err := a.start(ctx, call, parent, id, o); err != nil {
		return nil, err
	}
	if !r.Wait {
		return a.told(ctx, parent.ID(), []string{one.ID})
	}
	return a.await(ctx, parent.ID(), []string{one.ID}, math.MaxInt64, true)
}
