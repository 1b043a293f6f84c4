package journal

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/protocol"
	"callgate/tool"
)

// doubts is log doubts: the calls that began and whose end was never recorded.
type doubts struct{ *command.Env }

func newDoubts(e *command.Env) *cobra.Command {
	d := &doubts{e}
	return e.Leaf(&cobra.Command{
		Use: "doubts", Short: "List calls in doubt: they began, and may or may not have taken effect", Args: cobra.NoArgs,
	}, d.run)
}

func (d *doubts) run(ctx context.Context, _ []string) error {
	return d.With(ctx, func(k *command.Kernel) error {
		list, err := k.Doubts(ctx)
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
			list, err := k.Doubts(ctx)
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
		return (&doubts{e}).run(ctx, nil)
	})
	c.Flags().BoolVar(&r.happened, "it-happened", false, "the call took effect")
	c.Flags().BoolVar(&r.notHappened, "it-did-not", false, "the call had no effect")
	return c
}

func (r *resolve) run(ctx context.Context, args []string) error {
	call := args[0]
	if r.happened == r.notHappened {
		return tool.Errorf("cli.resolve", tool.Invalid, "say whether call %s took effect", tool.Truncate(call)).
			WithHint("callgate log resolve %s --happened, or --not-happened; callgate log show %[1]s shows what is known", call)
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
