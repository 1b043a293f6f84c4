package conversation

import (
	"cmp"
	"strings"

	"callgate/internal/app"
	"callgate/internal/app/pipeline"
	"callgate/tool"
)

// chooseAgent finds the agent of a conversation.
func chooseAgent(a *app.App, name string) (app.Agent, error) {
	if runsSteps(a, name) {
		return app.Agent{ID: pipeline.Agent, Role: "steps"}, nil
	}
	if a == nil || len(a.Agents) == 0 {
		return app.Agent{ID: "main", Role: "assistant"}, nil
	}
	name = cmp.Or(name, a.Runtime.Entry, a.Agents[0].ID)
	var known []string
	for _, agent := range a.Agents {
		if agent.ID == name {
			return agent, nil
		}
		known = append(known, agent.ID)
	}
	return app.Agent{}, tool.Errorf("conversation.Open", tool.NotFound, "the app has no agent %q", tool.Truncate(name)).
		WithHint("its agents are %s", strings.Join(known, ", "))
}

// laneModel is the model of an agent's lane.
func laneModel(a app.Agent, lane string) *app.Model {
	if m := a.Lanes[lane]; m != nil {
		return m
	}
	return a.Model
}
