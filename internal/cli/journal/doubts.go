package journal

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// doubts is log doubts: the calls that began and whose end was never recorded.
type doubts struct {
	*command.Env
	all bool
}

func newDoubts(e *command.Env) *cobra.Command {
	d := &doubts{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "doubts [CALL]", Short: "List calls in doubt: they began, and may or may not have taken effect",
		Long: "List the calls that were running when a kernel died, and so may or may not have taken\n" +
			"effect, or show what is known of one: what it touches, whether that has changed\n" +
			"since, how often it was attempted, and why it is not made again.",
		Example: "  callgate log doubts\n  callgate log doubts c1x9z\n  callgate log doubts --all",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: command.CompleteFirst(inDoubt(e)),
	}, d.run)
	c.Flags().BoolVar(&d.all, "all", false, "also those that were resolved, or closed by their age")
	return c
}

func (d *doubts) run(ctx context.Context, args []string) error {
	return d.With(ctx, func(k *command.Kernel) error {
		if len(args) == 1 {
			return d.show(ctx, k, args[0])
		}
		list, err := k.Doubts(ctx, client.DoubtQuery{All: d.all})
		switch {
		case err != nil:
			return err
		case d.JSON:
			return d.WriteJSON(list)
		case len(list) == 0:
			d.Status("no call is in doubt")
			return nil
		}
		return command.WriteError(d.Style(d.Stdout).Doubts(d.Stdout, list))
	})
}

// show writes all that is known of one call.
func (d *doubts) show(ctx context.Context, k *command.Kernel, call string) error {
	found, err := k.Doubts(ctx, client.DoubtQuery{Call: call})
	switch {
	case err != nil:
		return err
	case d.JSON:
		return d.WriteJSON(found[0])
	}
	return command.WriteError(d.Style(d.Stdout).Doubt(d.Stdout, found[0]))
}

// resolve is log resolve, and log doubt as it was called before.
type resolve struct {
	*command.Env
	happened, notHappened bool
}

func newResolve(e *command.Env) *cobra.Command {
	r := &resolve{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "resolve CALL --happened|--not-happened", Short: "Resolve a call in doubt",
		Example: "  callgate log resolve c1x9z --happened\n  callgate log resolve c1x9z --not-happened",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: command.CompleteFirst(inDoubt(e)),
	}, r.run)
	c.Flags().BoolVar(&r.happened, "happened", false, "the call took effect")
	c.Flags().BoolVar(&r.notHappened, "not-happened", false, "the call had no effect")
	return c
}

// inDoubt completes the IDs of calls in doubt.
func inDoubt(e *command.Env) func(context.Context) []string {
	return func(ctx context.Context) (found []string) {
		_ = e.With(ctx, func(k *command.Kernel) error {
			list, err := k.Doubts(ctx, client.DoubtQuery{})
			for _, r := range list {
				found = append(found, r.Call+"\t"+r.Name)
			}
			return err
		})
		return found
	}
}

// newDoubt makes the command that listed and resolved doubts before.
func newDoubt(e *command.Env) *cobra.Command {
	r := &resolve{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "doubt [CALL]", Short: "List or resolve calls in doubt", Args: cobra.MaximumNArgs(1), Hidden: true,
	}, func(ctx context.Context, args []string) error {
		switch {
		case len(args) == 1:
			return r.run(ctx, args)
		case r.happened || r.notHappened:
			return tool.Errorf("cli.resolve", tool.Invalid, "name the call").WithHint("callgate log doubts lists them")
		}
		return (&doubts{Env: e}).run(ctx, nil)
	})
	c.Flags().BoolVar(&r.happened, "it-happened", false, "the call took effect")
	c.Flags().BoolVar(&r.notHappened, "it-did-not", false, "the call had no effect")
	return c
}

func (r *resolve) run(ctx context.Context, args []string) error {
	call := args[0]
	if r.happened == r.notHappened {
		return tool.Errorf("cli.resolve", tool.Invalid, "say whether call %s took effect", tool.Truncate(call)).
			WithHint("callgate log resolve %s --happened, or --not-happened; "+
				"callgate log doubts %[1]s shows what is known", call)
	}
	return r.WithKey(ctx, func(k *command.Kernel) error {
		answer := protocol.ResolveDoubt{Happened: r.happened, By: r.UserName()}
		if err := k.Resolve(ctx, call, answer); err != nil {
			return err
		}
		if r.JSON {
			return r.WriteJSON(answer)
		}
		r.Status("%s is no longer in doubt", call)
		return nil
	})
}
