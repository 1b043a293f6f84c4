package journal

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/protocol"
	"callgate/tool"
)

// doubt is log doubt: it lists the calls that began and whose end was never
// recorded, or resolves one.
type doubt struct {
	*command.Env
	happened, didNot bool
}

func newDoubt(e *command.Env) *cobra.Command {
	d := &doubt{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "doubt [CALL]", Short: "List calls that may or may not have happened, or say which it was",
		Example: "  callgate log doubt\n  callgate log doubt c1x9z --it-happened\n  callgate log doubt c1x9z --it-did-not",
		Args:    cobra.MaximumNArgs(1),
	}, d.run)
	c.Flags().BoolVar(&d.happened, "it-happened", false, "its effect is there")
	c.Flags().BoolVar(&d.didNot, "it-did-not", false, "its effect is not there")
	return c
}

func (d *doubt) run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0 && !d.happened && !d.didNot:
		return d.list(ctx)
	case len(args) == 0:
		return tool.Errorf("cli.doubt", tool.Invalid, "say of which call").WithHint("callgate log doubt lists them")
	case d.happened == d.didNot:
		return tool.Errorf("cli.doubt", tool.Invalid, "say which it was: --it-happened or --it-did-not").
			WithHint("callgate log show %s tells what is known", args[0])
	}
	return d.resolve(ctx, args[0])
}

func (d *doubt) list(ctx context.Context) error {
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

func (d *doubt) resolve(ctx context.Context, call string) error {
	return d.WithKey(ctx, func(k *command.Kernel) error {
		answer := protocol.ResolveDoubt{Happened: d.happened, By: d.UserName()}
		if err := k.Resolve(ctx, call, answer); err != nil {
			return err
		}
		if d.JSON {
			return d.WriteJSON(answer)
		}
		d.Status("%s is no longer in doubt", call)
		return nil
	})
}
