package conversation

import (
	"context"

	"callgate/internal/agent/surface"
	"callgate/internal/app"
	"callgate/internal/kernel/modelset"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
)

// Preview is what a conversation with an agent would show its model.
type Preview struct {
	Agent    string
	Model    modelset.Info
	Plan     *surface.Plan
	Warnings []string // of the app
}

// Preview plans the surface that a conversation would have, without opening it:
// it needs no key and no consent, runs no setup steps and leaves nothing behind.
// The config overrides the mode and the window.
func (m *Manager) Preview(ctx context.Context, spec Spec, c toolview.SurfaceConfig) (*Preview, error) {
	workspace, file, err := m.Apps.Workdir(ctx, spec.Workspace, spec.AppFile, spec.Named)
	if err != nil {
		return nil, err
	}
	loaded, err := m.Apps.Load(ctx, workspace, file)
	if err != nil {
		return nil, err
	}
	agent, err := chooseAgent(loaded.App, spec.Agent)
	if err != nil {
		return nil, err
	}
	if len(agent.Lanes) > 0 && spec.Lane == "" {
		spec.Lane = app.EdgeLane
	}
	model, err := modelset.Describe(laneModel(agent, spec.Lane))
	if err != nil {
		return nil, err
	}
	s, err := m.Sessions.Build(ctx, session.Spec{
		Loaded: loaded, Agent: agent.ID, Lane: spec.Lane, Requester: spec.Requester, Only: agentActions(agent),
		Again: true, // no setup steps
	})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if c.Window == 0 {
		own := surfaceConfig(model.Window)
		c.Window, c.WindowFrom = own.Window, own.WindowFrom
	}
	plan, err := s.View().Surface(ctx, c)
	if err != nil {
		return nil, err
	}
	return &Preview{Agent: agent.ID, Model: model, Plan: plan, Warnings: s.Warnings()}, nil
}

// surfaceConfig is how a conversation's model is shown the tools.
func surfaceConfig(window int) toolview.SurfaceConfig {
	return toolview.SurfaceConfig{Window: window, WindowFrom: surface.FromModel}
}
