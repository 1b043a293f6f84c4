// Package tasks has the commands that show and cancel work that outlives a turn:
// tasks of every kind, and watchers and schedules by names of their own.
package tasks

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/protocol"
	"callgate/tool"
)

const op = "cli.tasks"

// family is the tasks that a group of commands is about.
type family struct {
	*command.Env
	name  string   // of the command
	one   string   // of them, in a sentence
	kinds []string // none: all
}

// Commands returns the commands tasks, watchers and schedules.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{
		(&family{Env: e, name: "tasks", one: "task"}).group(&cobra.Command{
			Use: "tasks", Aliases: []string{"task"}, Short: "Show and cancel work that outlives a turn",
			Long: `Show and cancel durable tasks: background calls, core jobs, watchers, schedules,
messages to be delivered. They are kept by the kernel, go on after a restart, and
end once: done, failed, cancelled, or in_doubt where the work began and nobody can
say whether it happened.`,
			Example: `  callgate tasks list
  callgate tasks list --all --kind background --conversation t1a2b
  callgate tasks show c3kf        the first letters of an ID are enough
  callgate tasks logs c3kf
  callgate tasks cancel c3kf`,
		}),
		(&family{Env: e, name: "watchers", one: "watcher", kinds: []string{protocol.TaskWatch}}).group(&cobra.Command{
			Use: "watchers", Aliases: []string{"watcher"}, Short: "Show and cancel watchers",
			Long: `Show and cancel watchers: calls that are made again and again, to tell a
conversation what changed. They are tasks of the kind watch.`,
		}),
		(&family{Env: e, name: "schedules", one: "schedule", kinds: []string{protocol.TaskSchedule}}).group(&cobra.Command{
			Use: "schedules", Aliases: []string{"schedule"}, Short: "Show and cancel schedules",
			Long: `Show and cancel schedules and reminders: calls and messages that are due at a
time, once or again and again. They are tasks of the kind schedule.`,
		}),
	}
}

func (f *family) group(c *cobra.Command) *cobra.Command {
	show, cancel, logs := newShow(f), newCancel(f), newLogs(f)
	for _, c := range []*cobra.Command{show, cancel, logs} {
		c.ValidArgsFunction = command.CompleteFirst(f.known)
	}
	return f.Env.Group(c, newList(f), show, cancel, logs)
}

// known completes the IDs of tasks.
func (f *family) known(ctx context.Context) (found []string) {
	_ = f.With(ctx, func(k *command.Kernel) error {
		list, err := k.Tasks().List(ctx, protocol.TaskQuery{Kinds: f.kinds, All: true})
		for _, t := range list {
			found = append(found, t.ID+"\t"+t.Label)
		}
		return err
	})
	return found
}

// find returns the task with an ID, or the only one whose ID begins with it.
func (f *family) find(ctx context.Context, k *command.Kernel, id string) (t protocol.Task, err error) {
	none := tool.Errorf(op, tool.NotFound, "there is no %s %q", f.one, tool.Truncate(id)).
		WithHint("callgate %s list --all shows them", f.name)
	if id == "" {
		return t, tool.Errorf(op, tool.Invalid, "the ID is empty").WithHint("callgate %s list shows the IDs", f.name)
	}
	switch t, err = k.Tasks().Get(ctx, id); {
	case err == nil && !f.has(t):
		return t, none
	case tool.KindOf(err) != tool.NotFound:
		return t, err
	}
	for _, all := range []bool{false, true} { // those that have not ended first
		list, err := k.Tasks().List(ctx, protocol.TaskQuery{Kinds: f.kinds, All: all})
		if err != nil {
			return t, err
		}
		t, ok, err := command.FindByPrefix(list, id, f.name, func(t protocol.Task) string { return t.ID })
		if ok || err != nil {
			return t, err
		}
	}
	return t, none
}

func (f *family) has(t protocol.Task) bool {
	for _, kind := range f.kinds {
		if t.Kind == kind {
			return true
		}
	}
	return len(f.kinds) == 0
}

// list is tasks list.
type list struct {
	*family
	query protocol.TaskQuery
	state string
}

func newList(f *family) *cobra.Command {
	l := &list{family: f, query: protocol.TaskQuery{Kinds: f.kinds}}
	c := f.Env.Leaf(&cobra.Command{
		Use: "list", Short: "List the " + f.name + " that have not ended, the newest first",
		Example: "  callgate " + f.name + " list --all --json", Args: cobra.NoArgs,
	}, l.run)
	flags := c.Flags()
	flags.BoolVarP(&l.query.All, "all", "a", false, "also those that have ended")
	flags.StringVar(&l.query.Conversation, "conversation", "", "only those of the conversation with this `ID`")
	flags.StringVar(&l.state, "state", "", "only those in a `STATE`: queued, running, done, failed, cancelled, in_doubt")
	flags.IntVarP(&l.query.Limit, "limit", "n", 100, "list at most `N`")
	if len(f.kinds) == 0 {
		flags.StringSliceVar(&l.query.Kinds, "kind", nil, "only those of a `KIND`: background, watch, schedule, notice, …")
	}
	return c
}

func (l *list) run(ctx context.Context, _ []string) error {
	l.query.State = protocol.TaskState(l.state)
	return l.With(ctx, func(k *command.Kernel) error {
		found, err := k.Tasks().List(ctx, l.query)
		if err != nil {
			return err
		}
		none := "there are no such " + l.name
		if !l.query.All && l.state == "" {
			none = "there are no " + l.name + " that have not ended; --all lists the others"
		}
		return command.WriteList(l.Env, found, none, func() error {
			return l.Style(l.Stdout).Tasks(l.Stdout, found)
		})
	})
}

// show is tasks show.
type show struct{ *family }

func newShow(f *family) *cobra.Command {
	s := &show{f}
	return f.Env.Leaf(&cobra.Command{
		Use: "show ID", Short: "Show a " + f.one + ", and what it keeps", Args: cobra.ExactArgs(1),
	}, s.run)
}

func (s *show) run(ctx context.Context, args []string) error {
	return s.With(ctx, func(k *command.Kernel) error {
		t, err := s.find(ctx, k, args[0])
		switch {
		case err != nil:
			return err
		case s.JSON:
			return s.WriteJSON(t)
		}
		return command.WriteError(s.Style(s.Stdout).Task(s.Stdout, t))
	})
}

// cancel is tasks cancel.
type cancel struct{ *family }

func newCancel(f *family) *cobra.Command {
	c := &cancel{f}
	return f.Env.Leaf(&cobra.Command{
		Use: "cancel ID", Short: "Cancel a " + f.one, Args: cobra.ExactArgs(1),
	}, c.run)
}

func (c *cancel) run(ctx context.Context, args []string) error {
	return c.With(ctx, func(k *command.Kernel) error {
		t, err := c.find(ctx, k, args[0])
		if err != nil {
			return err
		}
		ended := t.State.Final()
		if t, err = k.Tasks().Cancel(ctx, t.ID, protocol.CancelTask{By: c.UserName()}); err != nil {
			return err
		}
		switch {
		case c.JSON:
			return c.WriteJSON(t)
		case ended:
			c.Status("%s had ended: %s", t.ID, t.State)
		case !t.State.Final():
			c.Status("%s is to stop, and has not yet; callgate %s show %s says when it has", t.ID, c.name, t.ID)
		case t.State == protocol.TaskCancelled:
			c.Status("cancelled %s", t.ID)
		default:
			c.Status("%s ended before it was cancelled: %s", t.ID, t.State)
		}
		return nil
	})
}

// logs is tasks logs.
type logs struct {
	*family
	lines int
}

func newLogs(f *family) *cobra.Command {
	l := &logs{family: f}
	c := f.Env.Leaf(&cobra.Command{
		Use: "logs ID", Aliases: []string{"log"}, Short: "Show what a " + f.one + " noted of its runs, the newest last",
		Args: cobra.ExactArgs(1),
	}, l.run)
	c.Flags().IntVarP(&l.lines, "lines", "n", 50, "show at most `N` lines; 0 for all that are kept")
	return c
}

func (l *logs) run(ctx context.Context, args []string) error {
	return l.With(ctx, func(k *command.Kernel) error {
		t, err := l.find(ctx, k, args[0])
		if err != nil {
			return err
		}
		found, err := k.Tasks().Log(ctx, t.ID, l.lines)
		if err != nil {
			return err
		}
		return command.WriteList(l.Env, found, "it has noted nothing", func() error {
			return l.Style(l.Stdout).TaskLog(l.Stdout, found)
		})
	})
}
