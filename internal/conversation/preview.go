package conversation

import (
	"context"

	"callgate/internal/agent/surface"
	"callgate/internal/app"
	"callgate/internal/conversation/admission"
	"callgate/internal/conversation/briefing"
	"callgate/internal/conversation/prompt"
	"callgate/internal/kernel/modelset"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
	"callgate/llm"
)

// Presentation is what the model of a conversation is sent beside what is said.
//
// Law: what a conversation sends, what it says of itself and what a preview of it shows
// are made by one function of the session, the agent and what is known of the model:
// present.
type Presentation struct {
	Agent  string
	Model  modelset.Info
	Plan   *surface.Plan
	Tools  []llm.ToolDef // that the provider's API is given; nil: they stand in System
	System prompt.Prompt // the system text of the next request
	Note   string        // what is told beside the user's next words; "": nothing
	Memory string        // what is remembered, as a note tells it; "": nothing
	// Warnings are the app's.
	Warnings []string
}

// Presentation returns what the next request of the conversation is made of.
func (c *Conversation) Presentation() *Presentation {
	c.mu.RLock()
	defer c.mu.RUnlock()
	made := &Presentation{
		Agent: c.agent.ID, Model: c.model, Plan: c.plan, System: c.prompt.Current(), Warnings: c.session.Warnings(),
	}
	made.Note, made.Memory = c.prompt.Pending()
	if c.model.NativeTools {
		made.Tools = c.offered()
	}
	return made
}

// Preview returns what a conversation would send first, without opening it: it needs
// no key and no consent, runs no setup steps and leaves nothing behind. The config
// overrides the mode and the window.
func (m *Manager) Preview(ctx context.Context, spec Spec, c toolview.SurfaceConfig) (*Presentation, error) {
	workspace, file, err := m.Apps.Workdir(ctx, spec.Workspace, spec.AppFile, spec.Named)
	if err != nil {
		return nil, err
	}
	loaded, err := m.Apps.Load(ctx, workspace, file)
	if err != nil {
		return nil, err
	}
	agent, err := admission.Agent(loaded.App, spec.Agent)
	if err != nil {
		return nil, err
	}
	if len(agent.Lanes) > 0 && spec.Lane == "" {
		spec.Lane = app.EdgeLane
	}
	shown := &Conversation{agent: agent}
	shown.described = laneModel(agent, spec.Lane)
	if shown.model, err = m.Models.Describe(shown.described); err != nil {
		return nil, err
	}
	shown.useWindow(loaded.App)
	shown.newWorkMode(loaded.App, nil, "")
	if shown.session, err = m.Sessions.Build(ctx, session.Spec{
		Loaded: loaded, Agent: agent.ID, Lane: spec.Lane, Requester: spec.Requester, Only: agent.Only(),
		AppMode: shown.leaves,
		Again:   true, // no setup steps
	}); err != nil {
		return nil, err
	}
	defer shown.session.Close()
	if c.Window != 0 {
		shown.model.Window = c.Window
		shown.surface.Window, shown.surface.WindowFrom = c.Window, c.WindowFrom
	}
	shown.surface.Mode = c.Mode
	if err := m.present(ctx, shown); err != nil {
		return nil, err
	}
	return shown.Presentation(), nil
}

// present plans the tools of a conversation, and readies what its model is told.
func (m *Manager) present(ctx context.Context, c *Conversation) (err error) {
	c.prompt = &briefing.Prompter{
		Subject: c.subject, Modules: m.Modules, Files: m.Instructions, Now: m.Now, Scrub: m.Scrub,
	}
	if c.plan, err = c.session.View().Surface(ctx, c.surface); err != nil {
		return err
	}
	c.names, err = c.session.View().Names(ctx, c.surface)
	return err
}

// subject is the conversation as what its model is told depends on it.
func (c *Conversation) subject() briefing.Subject {
	remembers := c.session.Principal()
	if c.child != nil {
		remembers.Session = c.child.Memory
	}
	return briefing.Subject{
		Agent: c.agent, Session: c.session, Mode: c.plan.Mode, Model: c.model, Names: c.names, Offered: c.offered(),
		AppMode: c.workMode.AppMode, Log: c.log,
		Remembers: remembers,
	}
}

// useWindow decides how large the model's context is: as the agent's brain says, else
// as the app does, else as is known of the model. The offline model reads no tools: it
// is shown them all.
func (c *Conversation) useWindow(a *app.App) {
	c.surface = toolview.SurfaceConfig{Window: c.model.Window, WindowFrom: surface.FromModel}
	byBrain, byApp := c.described != nil && c.described.Window > 0, a != nil && a.Surface.Window > 0
	if !byBrain && byApp {
		c.model.Window = a.Surface.Window
	}
	if (byBrain || byApp) && !c.model.Offline {
		c.surface.Window, c.surface.WindowFrom = c.model.Window, surface.FromApp
	}
}
