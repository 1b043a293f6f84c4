package conversation

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"callgate/internal/agent"
	"callgate/internal/app"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/modelchoice"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/modelset"
	"callgate/internal/provider/catalog"
)

// # Another model
//
// A conversation's user may have another model answer from the next turn on. It is one
// that the app file names, for any agent, or one of a provider that is known by name.
// Where it is decides as everywhere: a human accepted it with the app, or it is the
// provider's own address, with the user's own key. The history says which model was
// chosen, so the next opening has it too. If its window or its support of tools is
// another, the tools are shown anew, and the beginning of what the model is sent changes.

// ModelChoice is a model that a conversation may change to.
type ModelChoice struct {
	modelset.Info
	InApp   bool  // the app file names it
	Current bool  // it answers now
	Err     error // why it cannot be used; nil: it can
}

// Name is the model's name, with its provider's.
func (m ModelChoice) Name() string { return modelchoice.Name(m.Provider, m.Model) }

// ModelChoices returns the models that a conversation may change to: those of its app, and
// those that are known of the providers for which there is a key.
func (m *Manager) ModelChoices(c *Conversation) []ModelChoice {
	current, loaded := c.Model(), c.session.Loaded()
	var list []ModelChoice
	seen := map[string]bool{}
	add := func(info modelset.Info, inApp bool, err error) {
		choice := ModelChoice{Info: info, InApp: inApp, Err: err}
		choice.Current = choice.Name() == modelchoice.Name(current.Provider, current.Model)
		if !seen[choice.Name()] {
			seen[choice.Name()] = true
			list = append(list, choice)
		}
	}
	for _, described := range modelchoice.OfApp(loaded.App) {
		_, info, err := m.openAccepted(loaded, c, described)
		if err != nil {
			info, _ = m.Models.Describe(described) // it may be described all the same
		}
		add(info, true, err)
	}
	for _, p := range slices.Sorted(maps.Keys(catalog.Default().Sources)) {
		for i, e := range catalog.Default().Of(p) {
			described := modelchoice.AtProvider(loaded.App, p, e.Model)
			if i == 0 { // whether there is a key for one says it of all
				if _, _, err := m.openAccepted(loaded, c, described); err != nil {
					break
				}
			}
			if info, err := m.Models.Describe(described); err == nil {
				add(info, false, nil)
			}
		}
	}
	return list
}

// SetModel has another model answer from the next turn on. No turn may run.
func (m *Manager) SetModel(ctx context.Context, c *Conversation, name string) error {
	c.mu.RLock()
	current := c.described
	c.mu.RUnlock()
	described, err := modelchoice.Find(c.session.App(), current, name)
	if err != nil {
		return err
	}
	_, err = c.run(ctx, Watch{}, func(ctx context.Context) (history.End, error) {
		return history.End{}, m.changeModel(ctx, c, described)
	})
	return err
}

// changeModel changes the model of a conversation in which no turn runs, wholly or not
// at all.
func (m *Manager) changeModel(ctx context.Context, c *Conversation, described *app.Model) (err error) {
	model, info, err := m.acceptedModel(ctx, c.session.Loaded(), c, described)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.answering
	defer func() {
		if err != nil {
			c.answering = was
		}
	}()
	c.model, c.described = info, described
	c.useWindow(c.session.App())
	if c.surface != was.surface || info.NativeTools != was.model.NativeTools {
		if err = m.present(ctx, c); err != nil {
			return err
		}
	}
	cfg, err := m.loopConfig(c, model)
	if err != nil {
		return err
	}
	changed := history.Event{Type: history.Model, Model: modelchoice.Name(info.Provider, info.Model)}
	if err := c.log.Append(ctx, changed); err != nil {
		return err
	}
	m.makeLoop(c, cfg)
	return nil
}

// openChosen opens the model that was chosen for a conversation earlier; nil if none
// was, or if it cannot be used any more: then the agent's own answers, and a warning
// says so.
func (m *Manager) openChosen(
	ctx context.Context, c *Conversation, loaded *apps.Loaded, log *history.Log,
) *agent.ModelConfig {
	var chosen string
	if log != nil {
		log.View(func(s *history.State) { chosen = s.Model })
	}
	if chosen == "" {
		return nil
	}
	var model *agent.ModelConfig
	var info modelset.Info
	described, err := modelchoice.Find(loaded.App, c.described, chosen)
	if err == nil {
		model, info, err = m.acceptedModel(ctx, loaded, c, described)
	}
	if err != nil {
		c.warnings = append(c.warnings, fmt.Sprintf(
			"the model %s, which was chosen for this conversation, cannot be used, and the agent's own answers: %v", chosen, err))
		return nil
	}
	c.model, c.described = info, described
	c.useWindow(loaded.App)
	return model
}

// openAccepted opens a model if a human accepted where it and its fallbacks are. It
// asks nobody.
func (m *Manager) openAccepted(
	loaded *apps.Loaded, c *Conversation, described *app.Model,
) (*agent.ModelConfig, modelset.Info, error) {
	if err := accepted(loaded, described); err != nil {
		return nil, modelset.Info{}, err
	}
	return m.Models.Open(modelset.UseFor(loaded.App, c.user, unattended(c)), described, tools{c})
}

// accepted reports whether a human accepted where a model and its fallbacks are.
func accepted(loaded *apps.Loaded, described *app.Model) error {
	for one := described; one != nil; one = one.Fallback {
		if err := loaded.Accepted.Check("conversation.SetModel", consent.Endpoint(loaded.App, one)); err != nil {
			return err
		}
	}
	return nil
}
