package agents

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/conversation/history"
	"callgate/internal/task"
	"callgate/llm"
	"callgate/tool"
)

// Agent is one agent that works for another, and how it stands.
type Agent struct {
	ID     string
	Parent string // the conversation that started it
	order  order
	last   task.Task // its work, or the last of it
	info   history.Info
	first  bool // fewer of its parent's were started before it and have not ended than may work at once
}

// Status is where an agent stands.
type Status string

// The statuses.
const (
	Queued    Status = "queued" // others of its parent's work first
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Status returns where the agent stands.
func (g *Agent) Status() Status {
	switch g.last.State {
	case task.Done:
		return Completed
	case task.Failed, task.InDoubt:
		return Failed
	case task.Cancelled:
		return Cancelled
	}
	if !g.first && progressOf(g.last).Begun.IsZero() {
		return Queued
	}
	return Running
}

// Name is what it is: an agent of the app.
func (g *Agent) Name() string { return g.order.name() }

// Depth is how deep it is: 1 for one that a user's conversation started.
func (g *Agent) Depth() int { return g.order.Depth }

// Label is its work in a line.
func (g *Agent) Label() string { return g.last.Label }

// Task is the ID of its work, or of the last of it.
func (g *Agent) Task() string { return g.last.ID }

// Usage is what it cost, with those that worked for it.
func (g *Agent) Usage() llm.Usage { return g.info.Usage }

// Took is how long it works, or worked, on what it was given last.
func (g *Agent) Took() time.Duration {
	from, to := progressOf(g.last).Begun, g.last.Times.Ended
	if from.IsZero() {
		return 0
	}
	if to.IsZero() {
		to = time.Now()
	}
	return max(to.Sub(from), 0)
}

// path names the agent and those for which it works, the user's first.
func (o order) path() string {
	names := append([]string{o.name()}, o.Above...)
	slices.Reverse(names)
	return strings.Join(names, " > ")
}

// Of returns the agents that a conversation started, in the order in which it did.
func (a *Agents) Of(ctx context.Context, parent string) ([]*Agent, error) {
	var list []*Agent
	byID, active := map[string]*Agent{}, 0
	for q := (task.Query{Parent: parent, Kinds: []string{Kind}}); ; {
		found, err := a.opt.Runner.Store().List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			o, err := orderOf(t)
			if err != nil {
				return nil, err
			}
			one := byID[o.Agent]
			if one == nil {
				one = &Agent{ID: o.Agent, Parent: parent}
				byID[o.Agent], list = one, append(list, one)
			}
			one.order, one.last, one.first = o, t, active < o.Workers
			if !t.State.Final() {
				active++
			}
		}
		if len(found) < task.MaxList {
			break
		}
		q.After = found[len(found)-1].ID
	}
	for _, one := range list {
		info, err := a.opt.Infos.Get(ctx, one.ID)
		if err != nil && tool.KindOf(err) != tool.NotFound { // it has not begun
			return nil, err
		}
		one.info = info
	}
	return list, nil
}

// Tree returns all agents that work for a conversation, each before those that work for it.
func (a *Agents) Tree(ctx context.Context, parent string) ([]*Agent, error) {
	own, err := a.Of(ctx, parent)
	if err != nil {
		return nil, err
	}
	var all []*Agent
	for _, one := range own {
		below, err := a.Tree(ctx, one.ID)
		if err != nil {
			return nil, err
		}
		all = append(append(all, one), below...)
	}
	return all, nil
}

// find finds an agent that a conversation started. Those of others are NotFound.
func (a *Agents) find(ctx context.Context, parent, id string) (*Agent, error) {
	list, err := a.Of(ctx, parent)
	if err != nil {
		return nil, err
	}
	for _, one := range list {
		if one.ID == id {
			return one, nil
		}
	}
	return nil, tool.Errorf(op, tool.NotFound, "there is no agent %q of yours", tool.Truncate(id)).
		WithHint("list_agents shows yours")
}

// overBudget returns an error if agents have cost what they may together.
func overBudget(all []*Agent, l limits) error {
	var spent llm.Usage
	for _, one := range all {
		spent = spent.Add(one.info.Own)
	}
	switch tokens := spent.Input + spent.Output; {
	case l.Tokens > 0 && tokens >= l.Tokens:
		return budgetError(fmt.Sprintf("took %d tokens, and may take %d", tokens, l.Tokens), "pool.max_tokens")
	case l.Cost > 0 && spent.Cost >= l.Cost:
		dollars := func(n int64) string { return fmt.Sprintf("$%.4g", float64(n)/1e6) }
		return budgetError("cost "+dollars(spent.Cost)+", and may cost "+dollars(l.Cost), "pool.max_cost")
	}
	return nil
}

func budgetError(text, key string) error {
	return tool.Errorf(op, tool.Limited, "the agents of this conversation %s together", text).
		WithHint("use what they brought; the app file's %s bounds them", key)
}
