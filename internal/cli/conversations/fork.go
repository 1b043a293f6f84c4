package conversations

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
)

// fork is sessions fork.
type fork struct {
	*command.Env
	turns int
}

func newFork(e *command.Env) *cobra.Command {
	f := &fork{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "fork ID", Short: "Begin a conversation with the turns of another",
		Long: `Begin a conversation with the turns of another, which stays as it is: to try
something else from there on. Files are not put back: callgate undo does that.`,
		Example: "  callgate sessions fork t1b2c3 --turns 2", Args: cobra.ExactArgs(1),
	}, f.run)
	c.Flags().IntVar(&f.turns, "turns", 0, "begin with the first `N` turns; 0: with all that have ended")
	return c
}

func (f *fork) run(ctx context.Context, args []string) error {
	return f.With(ctx, func(k *command.Kernel) error {
		id, err := findID(ctx, k, args[0])
		if err != nil {
			return err
		}
		made, err := client.Fork(ctx, k.Client, id, f.turns)
		if err != nil {
			return err
		}
		if f.JSON {
			return f.WriteJSON(made)
		}
		f.Status("go on with it: %s sessions resume %s", f.Self(), made.ID)
		return f.Print(made.ID + "\n")
	})
}
