package app

import (
	"slices"

	"callgate/internal/app/node"
	"callgate/internal/app/pipeline"
)

// Team is what an app says of the agents that an agent starts.
type Team struct {
	DelegateTo   []string // agents of the app that it may start; nil: all
	Coordination string   // how it is to work with them, for its prompt
	Pool         *Pool    // nil: DefaultPool
}

// Pool limits the agents that an agent starts, and those that they start.
type Pool struct {
	MaxWorkers int  // that work at once; the others wait
	Progress   bool // it is told how far they are
	AutoRetry  int  // how often one that failed is tried again

	// MaxDepth, MaxAgents, MaxTokens and MaxCost are for all agents that work for one
	// conversation of a user, of whatever depth. A zero MaxTokens and a nil MaxCost
	// bound nothing.
	MaxDepth  int
	MaxAgents int
	MaxTokens int
	MaxCost   *float64 // US dollars
}

// DefaultPool is the pool of an agent of which the file says nothing.
func DefaultPool() Pool { return Pool{MaxWorkers: 3, MaxDepth: 3, MaxAgents: 20} }

// Coordinator is the role of agents that may start others, whatever else the file says.
const Coordinator = "coordinator"

// SpawnModule is the module of the tool that starts agents.
const SpawnModule = "agent_spawn"

// GivesAgents reports whether an agent of the app may start others: the file turns the
// module on or grants it, or the agent is a coordinator.
func (a *App) GivesAgents(agent string) bool {
	if a == nil {
		return false
	}
	listed := slices.ContainsFunc(a.Modules, func(m Module) bool { return m.Name == SpawnModule })
	if listed || a.Rules.Grants(SpawnModule) || (agent == "" || agent == pipeline.Agent) &&
		slices.ContainsFunc(a.Runtime.Contract.Steps, func(s pipeline.Step) bool { return s.Agent != "" }) {
		return true
	}
	return slices.ContainsFunc(a.Agents, func(one Agent) bool {
		return one.Role == Coordinator && (agent == "" || one.ID == agent)
	})
}

// Specialists are the other agents that an agent may start.
func (a *App) Specialists(own Agent) (list []Agent) {
	if a == nil {
		return nil
	}
	for _, one := range a.Agents {
		if one.ID != own.ID && (own.Team.DelegateTo == nil || slices.Contains(own.Team.DelegateTo, one.ID)) {
			list = append(list, one)
		}
	}
	return list
}

// team reads the agents that an agent may start.
func (b agentBlock) team(t *Team) map[string]node.Read {
	return map[string]node.Read{
		"delegate_to": func(in node.Entry) {
			b.Texts(&t.DelegateTo, "name agents of this file, such as [tests, docs]")(in)
			for i, id := range t.DelegateTo {
				b.links.agents = append(b.links.agents, agentRef{b.Reader, b.Position(in.Item(i)), id})
			}
		},
		"coordination": b.TextInto(&t.Coordination),
		"pool": func(in node.Entry) {
			pool := DefaultPool()
			b.pool(in, &pool)
			t.Pool = &pool
		},
	}
}

func (b agentBlock) pool(e node.Entry, p *Pool) {
	b.Mapping(levelPool, e, map[string]node.Read{
		"max_workers": b.Number(&p.MaxWorkers, 1, 100, "write how many of its agents work at once, such as 3"),
		"progress":    b.Boolean(&p.Progress, "write true or false"),
		"auto_retry":  b.Number(&p.AutoRetry, 0, 5, "write how often an agent that failed is tried again, such as 1"),
		"max_depth":   b.Number(&p.MaxDepth, 1, 10, "write how deep agents may start agents, such as 3"),
		"max_agents":  b.Number(&p.MaxAgents, 1, 1000, "write how many agents may work for one conversation, such as 20"),
		"max_tokens": b.Number(&p.MaxTokens, 1, 1_000_000_000,
			"write how many tokens the agents of one conversation may take together, such as 500000"),
		"max_cost": b.Decimal(&p.MaxCost, 0.0001, 100_000),
	})
}

// agentRef is where an agent names another one.
type agentRef struct {
	*node.Reader
	at node.Position
	id string
}

// linkAgents looks up the agents that others may start.
func (f *file) linkAgents() {
	var ids []string
	for _, a := range f.app.Agents {
		ids = append(ids, a.ID)
	}
	for _, ref := range f.links.agents {
		if ref.id != "" && !slices.Contains(ids, ref.id) {
			ref.Fail(ref.at, node.DidYouMean(ref.id, ids, "the agents are"), "there is no agent %s", node.Quote(ref.id))
		}
	}
}
