package journal

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/protocol"
)

// acceptLoss is log accept-loss.
type acceptLoss struct{ *command.Env }

func newAcceptLoss(e *command.Env) *cobra.Command {
	a := &acceptLoss{e}
	c := e.Leaf(&cobra.Command{
		Use: "accept-loss", Short: "Go on although the journal lost records",
		Long: `Go on although the journal lost records: callgate.db was removed, emptied, cut or
replaced while no kernel ran, and journal.anchor has seen records that are not in it
any more. Until then no call runs. If there is a copy of callgate.db, stop the kernel
and restore the copy instead: then nothing is lost, and there is nothing to accept.

The loss goes on record, with the head that the anchor had seen; the old anchor is
kept as journal.anchor.cut-N, and callgate log verify goes on reporting it.`,
		Args: cobra.NoArgs,
	}, a.run)
	e.BindToken(c)
	return c
}

func (a *acceptLoss) run(ctx context.Context, _ []string) error {
	return a.WithExternal(ctx, func(k *command.Kernel) error {
		ch, err := k.ChallengeConsent(ctx)
		if err != nil {
			return err
		}
		sure, err := a.Prove(ctx, k, ch, command.Proof{
			To: "To go on without the records that were lost", Else: "changes nothing",
		})
		if err != nil || !sure {
			return err
		}
		if err := k.AcceptLoss(ctx, protocol.AcceptLoss{By: a.UserName()}); err != nil {
			return err
		}
		a.Status("the loss is on record; calls run again")
		return nil
	})
}
