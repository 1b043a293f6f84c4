package conversation

import (
	"context"

	"callgate/internal/agent"
	"callgate/internal/app"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/prompt"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/modelset"
)

// openModel opens the model of a conversation's lane, if a human accepted where it and its fallbacks are. Its server is
// asked whether it takes tools, if that is not known.
func (m *Manager) openModel(
	ctx context.Context, c *Conversation, loaded *apps.Loaded, spec Spec, log *history.Log,
) (*agent.ModelConfig, error) {
	if err := loaded.Accepted.Check("conversation.Open", consent.Conversation(loaded.App, c.agent)...); err != nil {
		return nil, err
	}
	if isPipeline(c) {
		return stepsModel(m.Store, c, loaded.App), nil
	}
	c.described = laneModel(c.agent, spec.Lane)
	if spec.Model != nil {
		c.model = modelset.Info{Provider: "embedded", Model: "embedded", NativeTools: true}
		if c.described != nil {
			c.model.Window = c.described.Window
		}
		c.useWindow(loaded.App)
		return &agent.ModelConfig{Model: spec.Model}, nil
	}
	if model := m.openChosen(ctx, c, loaded, log); model != nil {
		return model, nil
	}
	m.Models.AskTools(ctx, modelset.UseFor(loaded.App, c.user, unattended(c)), c.described)
	model, info, err := m.Models.Open(modelset.UseFor(loaded.App, c.user, unattended(c)), c.described, tools{c})
	c.model = info
	c.useWindow(loaded.App)
	return model, err
}

// acceptedModel opens a model for a conversation if a human accepted where it and its
// fallbacks are; its server is asked whether it takes tools, if that is not known.
func (m *Manager) acceptedModel(
	ctx context.Context, loaded *apps.Loaded, c *Conversation, described *app.Model,
) (*agent.ModelConfig, modelset.Info, error) {
	if err := accepted(loaded, described); err != nil {
		return nil, modelset.Info{}, err
	}
	m.Models.AskTools(ctx, modelset.UseFor(loaded.App, c.user, unattended(c)), described)
	return m.Models.Open(modelset.UseFor(loaded.App, c.user, unattended(c)), described, tools{c})
}

// toolsRefused takes it that the server of the conversation's model refuses tools: from
// now on they stand in its system text. It returns the note that says so.
func (c *Conversation) toolsRefused(models *modelset.Opener) history.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.model.NativeTools = false
	if info, err := models.Describe(c.described); err == nil && !info.NativeTools {
		c.model.ToolsWhy = info.ToolsWhy
	}
	c.fitter.Tools = 0 // the system text has them
	in := c.prompt.Input()
	message := history.KernelNote("Your server takes no tools beside the text: write each call into your answer, " +
		"in the form that the system text shows. Calls and results so far are shown in that form too.")
	note := history.Event{Type: history.Note, Message: &message, Told: prompt.Told(in)}
	for _, s := range prompt.Build(in).Sections {
		note.System = append(note.System, history.Section(s))
	}
	return note
}

// Unattended reports whether nobody waits for the conversation of a session, if it is one's.
func Unattended(m *Manager, session string) bool {
	c, err := m.Get(session)
	return err == nil && unattended(c)
}

func unattended(c *Conversation) bool { return c.headless || c.child != nil }
