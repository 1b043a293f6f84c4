package machine

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
)

// console is console.
type console struct{ *command.Env }

func newConsole(e *command.Env) *cobra.Command {
	c := &console{e}
	return e.Leaf(&cobra.Command{
		Use: "console", Short: "Print a link to the console in a browser",
		Long: `Print a link that lets your browser in, once and within ten minutes; you stay logged
in for twelve hours. If a kernel runs you type a code first, so that no program opens
the console in your place. If none runs, this command is the kernel until Ctrl-C.`,
		Example: "  callgate console", Args: cobra.NoArgs,
	}, c.run)
}

func (c *console) run(ctx context.Context, args []string) error {
	dir, err := c.StateDir()
	if err != nil {
		return err
	}
	running := client.New(client.Options{Dial: client.Unix(dir.Socket())})
	_, err = running.Status(ctx)
	running.Close()
	if err != nil {
		return (&up{Env: c.Env}).run(ctx, args) // which says what is wrong, if another process has the directory
	}
	return c.WithKey(ctx, func(k *command.Kernel) error {
		ch, err := k.ChallengeConsent(ctx)
		if err != nil {
			return err
		}
		sure, err := c.Prove(ctx, k, ch, command.Proof{
			To: "To let your browser in as an administrator", Else: "lets nobody in",
		})
		if err != nil || !sure {
			return err
		}
		link, err := k.Tokens().OpenConsole(ctx, protocol.OpenConsole{By: c.UserName()})
		switch {
		case err != nil:
			return err
		case c.JSON:
			return c.WriteJSON(link)
		}
		c.Status("this link works once, within ten minutes:")
		return c.Print(link.URL + "\n")
	})
}
