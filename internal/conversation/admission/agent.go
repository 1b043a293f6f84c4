package admission

import (
	"cmp"
	"strings"

	"callgate/internal/app"
	"callgate/internal/app/pipeline"
	"callgate/tool"
)

// Agent finds the agent of a conversation.
func Agent(a *app.App, name string) (app.Agent, error) {
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

// runsSteps reports whether a conversation with an agent of an app runs its steps: one that
// names none does.
func runsSteps(a *app.App, name string) bool {
	return a != nil && a.Runtime.Mode == pipeline.Mode && (name == "" || name == pipeline.Agent)
}
