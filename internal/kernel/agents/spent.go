package agents

import (
	"context"

	"callgate/internal/task"
	"callgate/llm"
)

// Spent is what an agent's work has cost, with those that worked for it, also when its
// kernel was killed before it could say so.
func (a *Agents) Spent(t task.Task) *llm.Usage {
	u := outcomeOf(t).Usage
	if o, err := orderOf(t); err == nil && u == (llm.Usage{}) {
		u = spentOn(context.Background(), a, o.Agent, progressOf(t))
	}
	if u == (llm.Usage{}) {
		return nil
	}
	return &u
}

// spentOn is what an agent's work has cost, since it began: its own requests, and the work of
// those that it started, whether or not it was told of their ends. What cannot be read
// counts nothing.
func spentOn(ctx context.Context, a *Agents, agent string, p progress) llm.Usage {
	var u llm.Usage
	info, err := a.opt.Infos.Get(ctx, agent)
	if err != nil || p.Begun.IsZero() {
		return u // it never worked
	}
	u = since(info.Own, p.Before)
	for q := (task.Query{Parent: agent, Kinds: []string{Kind}}); ; {
		found, err := a.opt.Runner.Store().List(ctx, q)
		for _, t := range found {
			if !t.Times.Created.Before(p.Begun) {
				if below := a.Spent(t); below != nil {
					u = u.Add(*below)
				}
			}
		}
		if err != nil || len(found) < task.MaxList {
			return u
		}
		q.After = found[len(found)-1].ID
	}
}

// since is what was spent after an earlier moment.
func since(now, then llm.Usage) llm.Usage {
	return llm.Usage{
		Input: now.Input - then.Input, CachedInput: now.CachedInput - then.CachedInput,
		CacheWrite: now.CacheWrite - then.CacheWrite, Output: now.Output - then.Output,
		Reasoning: now.Reasoning - then.Reasoning, Cost: now.Cost - then.Cost, Priced: now.Priced,
	}
}
