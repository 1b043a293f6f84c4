package kernel

import (
	"context"
	"os"
	"path/filepath"

	"callgate/internal/gate/approval"
	"callgate/internal/hook"
	"callgate/internal/kernel/agents"
	"callgate/internal/kernel/channels"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/hooks"
	"callgate/internal/module/shell"
	"callgate/internal/task"
	"callgate/tool"
)

// newHooks makes what runs the hooks of apps.
func newHooks(k *Kernel) *hooks.Engine {
	commands := shell.Config{Hidden: k.hidden(), Helpers: k.helpers}
	if cache, err := os.UserCacheDir(); err == nil {
		commands.Cache = filepath.Join(cache, "callgate", shell.Namespace)
	}
	return hooks.New(hooks.Options{
		Gate: k.gate, Tools: k.Tools, Shell: commands, Folders: k.folders(), Journal: k.Journal, Documents: k.database.Stores().Documents,
		Scrub: k.vault.ScrubString, Log: k.log, Go: k.background.Go, Channels: messages{k},
	})
}

// messages sends the messages of hooks to the channels of their apps.
type messages struct{ kernel *Kernel }

// Deliver has a message delivered.
func (m messages) Deliver(ctx context.Context, d hooks.Delivery) error {
	owner := task.Asker{Principal: d.Principal, Workspace: d.Workspace, AppFile: d.AppFile, PID: os.Getpid()}
	if s, err := m.kernel.Sessions.Get(d.Principal.Session); err == nil {
		owner = deferred.AskerOf(s, tool.Call{})
	}
	_, err := m.kernel.Outside.Channels.Send(ctx, owner, channels.Message{
		Channel: d.Channel, ID: d.ID, Title: d.Title, Text: d.Text,
	})
	return err
}

// taskStarted has the hooks of a conversation look at a task that works for it.
func taskStarted(k *Kernel) func(task.Task) {
	return func(t task.Task) { taskEvent(k, hook.TaskStart, t) }
}

// taskEnded has a conversation learn of the end of a task, and its hooks look at it.
func taskEnded(k *Kernel) func(task.Task) {
	return func(t task.Task) {
		taskEvent(k, hook.TaskEnd, t)
		if t.Kind == agents.Kind {
			k.Agents.Ended()
		}
		k.Conversations.Wake(t.Parent)
	}
}

// taskEvent has the hooks of a task's conversation look at it, if that is open. News and messages are no work.
func taskEvent(k *Kernel, e hook.Event, t task.Task) {
	s, err := k.Sessions.Get(t.Parent)
	if err != nil || t.Kind == task.Notice || t.Kind == channels.Kind {
		return
	}
	s.Hooks().FireLater(s.Caller(), e, func(f *hook.Facts) {
		f.Task = hook.TaskFacts{ID: t.ID, Kind: t.Kind, Label: t.Label, State: string(t.State)}
		if t.Outcome != nil {
			f.Task.Summary = t.Outcome.Summary
		}
	})
}

// answered puts an answer on record, and has the hooks of its session look at it.
func answered(k *Kernel) func(context.Context, approval.Request) {
	return func(ctx context.Context, r approval.Request) {
		k.gate.RecordAnswer(ctx, r)
		if s, err := k.Sessions.Get(r.Call.Principal.Session); err == nil {
			s.Hooks().Asked(s.Caller(), r)
		}
	}
}
