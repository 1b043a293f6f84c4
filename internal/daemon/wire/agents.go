package wire

import (
	"callgate/internal/kernel/agents"
	"callgate/internal/protocol"
)

// Agent converts an agent that works for another.
func Agent(g *agents.Agent) protocol.Agent {
	r := g.Record()
	return protocol.Agent{
		ID: g.ID, Parent: g.Parent, Name: g.Name(), Depth: g.Depth(), Label: g.Label(), Task: g.Task(),
		Status: protocol.AgentStatus(r.Status), Seconds: r.DurationSeconds, ToolCalls: r.ToolCalls, Usage: g.Usage(),
		Error: r.Error,
	}
}
