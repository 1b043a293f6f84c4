// Package hooks runs the hooks of apps: internal/hook says what they are, internal/gate
// and internal/conversation when something happens.
//
// # Laws
//
//   - A hook that a human has not accepted does not run, but for one that only narrows.
//     A script that it runs is the one that was accepted, byte for byte. Where a human
//     accepted something of the app, a hook that guards calls and was not accepted refuses
//     those that it would look at: a changed script takes no guard away.
//   - The hooks of a session are those of its app and of its agent, made once, when the
//     session is. One that works for other agents has what guards their calls as well.
//     Every call of the session meets them, whoever makes it.
//   - A call that a hook makes is the kernel's own in that session: it passes what is
//     hidden or waits for a human, never what is denied. It meets the other hooks, never
//     the one that made it, and hooks lead to hooks only so far.
//   - A command runs in the sandbox of the shell module, and nothing of it is left when
//     its hook has ended, in time or not. One that guards calls starts in a folder of its
//     own, which holds copies of the scripts that were accepted and nothing else, so that
//     no tool can change what it loads.
//   - A guard that did not look at the call, because it could not start or never read its
//     input, has not let the call pass: it has failed.
//   - What a hook did is on record. What it says to a model says which hook it is.
//   - A hook that guards and fails refuses; any other that fails is noted, and goes by.
package hooks

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"callgate/internal/app"
	"callgate/internal/app/channels"
	"callgate/internal/document"
	"callgate/internal/gate"
	"callgate/internal/hook"
	"callgate/internal/journal"
	"callgate/internal/kernel/consent"
	"callgate/internal/launch"
	"callgate/internal/module/shell"
	"callgate/internal/registry"
	"callgate/tool"
)

// Gate makes calls, and tells what became of them.
type Gate interface {
	Call(ctx context.Context, c *gate.Caller, r gate.CallRequest) *tool.Result
	Outcome(ctx context.Context, call string) (gate.Outcome, *tool.Result, error)
}

// Deliverer sends messages to the channels of apps.
type Deliverer interface {
	// Deliver returns when a message is kept, to be sent. The same ID twice is once.
	Deliver(ctx context.Context, m Delivery) error
}

// Delivery is a message of a hook.
type Delivery struct {
	ID        string
	Channel   string
	Title     string
	Text      string
	Level     string // info, warning or error
	Principal tool.Principal
	Workspace string
	AppFile   string
}

// Options is what an Engine needs of the kernel.
type Options struct {
	Gate      Gate
	Tools     *registry.Registry
	Shell     shell.Config
	Folders   launch.Folders // where commands that guard calls start
	Channels  Deliverer      // nil: there are none
	Journal   *journal.Journal
	Documents document.Store // keeps how often the hooks of conversations fired
	Scrub     func(string) string
	Log       *slog.Logger
	Go        func(func(context.Context)) bool // runs in the background
}

// Engine runs hooks. Make one with New.
type Engine struct {
	opt Options

	mu     sync.Mutex
	counts map[string]*count // of the sessions that are open, by ID
}

// New makes an engine.
func New(o Options) *Engine { return &Engine{opt: o, counts: map[string]*count{}} }

// Spec is a session whose hooks are made.
type Spec struct {
	ID       string
	Agent    string
	App      *app.App // nil: the session has none
	Accepted consent.Accepted
	Shell    any // the settings of the module shell
	Scope    string
	// Above are the agents for which it works: what guards their calls guards its own too.
	Above []string
	// Kept says that the session is a conversation: how often its hooks fired is kept.
	Kept bool
}

// For makes the hooks of a session; nil: it has none.
func (e *Engine) For(ctx context.Context, spec Spec) *Set {
	if e == nil || spec.App == nil {
		return nil
	}
	s := &Set{
		engine: e, id: spec.ID, agent: spec.Agent, shell: spec.Shell, scope: spec.Scope,
		hooks: map[hook.Event][]*hook.Hook{},
	}
	counted := false
	if c := spec.App.Runtime.DefaultChannel; !channels.IsConversation(c) {
		s.channel = c
	}
	if project := spec.App.OfProject(); project != nil {
		s.folder = filepath.Dir(project.Path)
	}
	for i := range spec.App.Runtime.Hooks {
		h := &spec.App.Runtime.Hooks[i]
		guards := h.On == hook.ToolStart && slices.Contains(spec.Above, h.Agent)
		if h.Disabled || h.Agent != "" && h.Agent != spec.Agent && !guards {
			continue
		}
		if !spec.Accepted.Has(consent.Hook(spec.App, *h)) {
			if h.On != hook.ToolStart || !h.FailsClosed() || !spec.Accepted.Any() {
				continue
			}
			s.unaccepted = append(s.unaccepted, h)
		}
		s.hooks[h.On] = append(s.hooks[h.On], h)
		counted = counted || h.Counts()
	}
	if len(s.hooks) == 0 {
		return nil
	}
	for _, list := range s.hooks {
		hook.Sort(list)
	}
	s.count = &count{}
	if counted {
		s.count = e.count(ctx, spec.ID, spec.Kept)
	}
	return s
}
