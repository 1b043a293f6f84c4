package machine

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
)

// down is down.
type down struct {
	*command.Env
	force bool
}

func newDown(e *command.Env) *cobra.Command {
	d := &down{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "down", Short: "End the kernel, whoever started it",
		Long: `End the kernel after its running calls, and wait until it has gone: one in the
background, one of callgate up or of a service, one of another version, one that is
stopped (SIGSTOP), and a command that is the kernel while it lasts.

It has 15 seconds. With --force it is killed then, whatever it does; the calls that it
ran are in doubt.`,
		Args: cobra.NoArgs,
	}, d.run)
	c.Flags().BoolVar(&d.force, "force", false, "kill it if it does not end in 15 seconds")
	return c
}

func (d *down) run(ctx context.Context, _ []string) error {
	dir, err := d.StateDir()
	if err != nil {
		return err
	}
	pid, killed, err := command.EndKernel(ctx, dir, d.force)
	switch {
	case err != nil:
		return err
	case pid == 0:
		d.Status("no kernel is running")
	case killed:
		d.Status("process %d did not end when it was asked to, and was killed; callgate log doubts shows what it ran", pid)
	default:
		d.Status("the kernel, process %d, has ended", pid)
	}
	return nil
}
