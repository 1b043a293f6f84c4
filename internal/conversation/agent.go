package conversation

import "callgate/internal/app"

// laneModel is the model of an agent's lane.
func laneModel(a app.Agent, lane string) *app.Model {
	if m := a.Lanes[lane]; m != nil {
		return m
	}
	return a.Model
}
