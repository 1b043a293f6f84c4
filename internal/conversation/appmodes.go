package conversation

import (
	"context"

	"callgate/internal/app"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/modechoice"
	"callgate/internal/gate/appmode"
)

// # The mode of the app
//
// An app file may name modes (runtime.modes). A conversation is in one of them, which
// takes tools away and limits its turns. It begins in the app's first; a human changes
// it between turns. The history says which was chosen, and tells the model, so the next
// opening has it too; a lane that works for a conversation begins in the mode of that one.

// workMode is the mode of the app in which a conversation works.
type workMode struct {
	app.AppMode
	leaves *appmode.Current // what the session's caller asks
}

// newWorkMode is the mode in which a conversation begins or goes on.
func (c *Conversation) newWorkMode(a *app.App, log *history.Log, parent string) {
	chosen := parent
	if log != nil {
		log.View(func(s *history.State) {
			if s.AppMode != "" {
				chosen = s.AppMode
			}
		})
	}
	mode, warning := modechoice.Begin(a, chosen)
	if warning != "" {
		c.warnings = append(c.warnings, warning)
	}
	c.workMode = workMode{mode, &appmode.Current{}}
	c.leaves.Set(modechoice.Leaves(mode))
}

// AppMode returns the mode of the app in which the conversation works; it has no name where the app has no modes.
func (c *Conversation) AppMode() app.AppMode {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.workMode.AppMode
}

// SetAppMode has the conversation work in another mode of its app from the next turn on.
// No turn may run. widens is asked for leave if the mode gives more than the present one.
func (m *Manager) SetAppMode(ctx context.Context, c *Conversation, name string, widens func() error) error {
	mode, err := modechoice.Find(c.session.App(), name)
	if err != nil {
		return err
	}
	_, err = c.run(ctx, Watch{}, func(ctx context.Context) (history.End, error) {
		now := c.AppMode()
		if now.Name == mode.Name {
			return history.End{}, nil
		}
		if modechoice.Widens(now, mode) {
			if err := widens(); err != nil {
				return history.End{}, err
			}
		}
		return history.End{}, m.changeAppMode(ctx, c, mode)
	})
	return err
}

// changeAppMode changes the mode of a conversation in which no turn runs, wholly or not at all.
func (m *Manager) changeAppMode(ctx context.Context, c *Conversation, mode app.AppMode) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, mwas := c.answering, c.workMode.AppMode
	defer func() {
		if err != nil {
			c.answering, c.workMode.AppMode = was, mwas
			c.leaves.Set(modechoice.Leaves(mwas))
		}
	}()
	c.workMode.AppMode = mode
	c.leaves.Set(modechoice.Leaves(mode))
	if err = m.present(ctx, c); err != nil {
		return err
	}
	cfg, err := m.loopConfig(c, c.config)
	if err != nil {
		return err
	}
	message := history.KernelNote(modechoice.Directive(mode))
	if err = c.log.Append(ctx, history.Event{Type: history.AppMode, AppMode: mode.Name, Message: &message}); err != nil {
		return err
	}
	m.makeLoop(c, cfg)
	return nil
}
