package cli

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/protocol"
	"callgate/tool"
)

// doubtCommand lists the calls that began and whose end was never recorded,
// and takes a person's word on what became of one.
func (p *program) doubtCommand() *cobra.Command {
	var happened, didNot bool
	c := p.leaf("doubt [CALL]", "List calls that may or may not have happened, or say which it was",
		"  callgate log doubt\n  callgate log doubt c1x9z --it-happened\n  callgate log doubt c1x9z --it-did-not",
		cobra.MaximumNArgs(1), func(ctx context.Context, args []string) error {
			switch {
			case len(args) == 0 && !happened && !didNot:
				return p.listDoubts(ctx)
			case len(args) == 0:
				return tool.Errorf("cli.doubt", tool.Invalid, "say of which call").WithHint("callgate log doubt lists them")
			case happened == didNot:
				return tool.Errorf("cli.doubt", tool.Invalid, "say which it was: --it-happened or --it-did-not").
					WithHint("callgate log show %s tells what is known", args[0])
			}
			return p.resolveDoubt(ctx, args[0], happened)
		})
	c.Flags().BoolVar(&happened, "it-happened", false, "its effect is there")
	c.Flags().BoolVar(&didNot, "it-did-not", false, "its effect is not there")
	return c
}

func (p *program) listDoubts(ctx context.Context) error {
	return p.with(ctx, false, func(k *kernel) error {
		list, err := k.Doubts(ctx)
		switch {
		case err != nil:
			return err
		case p.json:
			return p.writeJSON(list)
		case len(list) == 0:
			p.status("no call is in doubt")
			return nil
		}
		return writeError(p.style(p.Stdout).Doubts(p.Stdout, list))
	})
}

func (p *program) resolveDoubt(ctx context.Context, call string, happened bool) error {
	return p.with(ctx, true, func(k *kernel) error {
		said := protocol.ResolveDoubt{Happened: happened, By: p.userName()}
		if err := k.Resolve(ctx, call, said); err != nil {
			return err
		}
		if p.json {
			return p.writeJSON(said)
		}
		p.status("%s is no longer in doubt", call)
		return nil
	})
}
