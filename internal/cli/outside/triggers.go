// Package outside has the commands about what leaves apps and what reaches them:
// channels and their messages, triggers and their events, and the apps that run without
// a client. Law: they show and ask; the kernel decides.
package outside

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
)

const op = "cli.outside"

// triggerList is triggers list.
type triggerList struct{ *command.Env }

func newTriggers(e *command.Env) *cobra.Command {
	l := &triggerList{e}
	return e.Leaf(&cobra.Command{
		Use: "list", Short: "List the triggers of the apps that run without a client", Args: cobra.NoArgs,
	}, l.run)
}

func (l *triggerList) run(ctx context.Context, _ []string) error {
	return l.With(ctx, func(k *command.Kernel) error {
		apps, err := client.OutsideOf(k.Client).Apps(ctx)
		if err != nil {
			return err
		}
		serving := []protocol.BackgroundApp{} // apps with triggers that are looked after
		for _, a := range apps {
			if len(a.Triggers) > 0 {
				serving = append(serving, a)
			}
		}
		none := "no app runs without a client; callgate app start starts one"
		if len(apps) > 0 {
			none = "no trigger is active; callgate app running says why"
		}
		return command.WriteList(l.Env, serving, none, func() error {
			return render.Outside{Style: l.Style(l.Stdout)}.Triggers(l.Stdout, serving)
		})
	})
}

// events is triggers events, and triggers dead.
type events struct {
	*command.Env
	dead  bool
	limit int
}

func newEvents(e *command.Env, dead bool) *cobra.Command {
	l := &events{Env: e, dead: dead}
	use, short := "events", "List the events that came, the newest first"
	if dead {
		use, short = "dead", "List the events whose turns were given up, the newest first"
	}
	c := e.Leaf(&cobra.Command{Use: use, Short: short, Args: cobra.NoArgs}, l.run)
	c.Flags().IntVarP(&l.limit, "limit", "n", 100, "list at most `N`")
	return c
}

func (l *events) run(ctx context.Context, _ []string) error {
	none := "no event came"
	if l.dead {
		none = "no event was given up"
	}
	return l.With(ctx, func(k *command.Kernel) error {
		found, err := client.OutsideOf(k.Client).Events(ctx, l.dead, l.limit)
		if err != nil {
			return err
		}
		return command.WriteList(l.Env, found, none, func() error {
			return render.Outside{Style: l.Style(l.Stdout)}.Events(l.Stdout, found)
		})
	})
}

// retry is triggers retry.
type retry struct{ *command.Env }

func newRetry(e *command.Env) *cobra.Command {
	r := &retry{e}
	return e.Leaf(&cobra.Command{
		Use: "retry ID", Short: "Have the turn of an event tried again that was given up", Args: cobra.ExactArgs(1),
	}, r.run)
}

func (r *retry) run(ctx context.Context, args []string) error {
	r.BackgroundKernel = true // the turn goes on
	return r.WithKey(ctx, func(k *command.Kernel) error {
		dead, err := client.OutsideOf(k.Client).Events(ctx, true, 0)
		if err != nil {
			return err
		}
		id, err := byPrefix(dead, args[0], "events", func(e protocol.TriggerEvent) string { return e.ID })
		if err != nil {
			return err
		}
		again, err := client.OutsideOf(k.Client).RetryEvent(ctx, id)
		switch {
		case err != nil:
			return err
		case r.JSON:
			return r.WriteJSON(again)
		}
		r.Status("its turn is tried again: %s; callgate triggers events says what comes of it", again.ID)
		return nil
	})
}
