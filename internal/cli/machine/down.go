package machine

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/client/liveness"
	"callgate/internal/daemon"
	"callgate/internal/statedir"
	"callgate/tool"
)

// down is down.
type down struct {
	*command.Env
	force bool
}

func newDown(e *command.Env) *cobra.Command {
	d := &down{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "down", Short: "Stop the background kernel",
		Long: `Stop the kernel in the background after its running calls.

With --force, end the process that holds the state directory, whatever it is and does:
a kernel that was started by hand, one that is stopped (SIGSTOP), one that does not
answer. It is asked first, and killed after 15 seconds; the calls that it ran are then
in doubt.`,
		Args: cobra.NoArgs,
	}, d.run)
	c.Flags().BoolVar(&d.force, "force", false,
		"end the process that holds the state directory, also one that does not answer")
	return c
}

func (d *down) run(ctx context.Context, _ []string) error {
	dir, err := d.StateDir()
	if err != nil {
		return err
	}
	if d.force {
		return d.end(ctx, dir)
	}
	process := command.KernelProcess(dir)
	if err := process.Probe(ctx); err != nil {
		return err
	}
	c := client.New(client.Options{Dial: client.Unix(dir.Socket()), Kernel: process})
	defer c.Close()
	switch status, err := c.Status(ctx); {
	case liveness.IsNoAnswer(err):
		return err
	case tool.KindOf(err) == tool.Unavailable:
		return d.notServed(dir)
	case err != nil && !status.Background:
		return err
	}
	if err := c.Stop(ctx); err != nil {
		return err
	}
	d.Status("the kernel is stopping")
	return nil
}

// notServed says what is known of a directory at whose socket nobody answers.
func (d *down) notServed(dir statedir.Dir) error {
	if err := daemon.Unserved(dir); err != nil {
		return err
	}
	d.Status("no kernel is running")
	return nil
}

// end ends the process that holds the directory.
func (d *down) end(ctx context.Context, dir statedir.Dir) error {
	pid, killed, err := daemon.End(ctx, dir)
	switch {
	case err != nil:
		return err
	case pid == 0:
		d.Status("no kernel is running")
	case killed:
		d.Status("process %d did not end when it was asked to, and was killed; callgate log doubts shows what it ran", pid)
	default:
		d.Status("process %d has ended", pid)
	}
	return nil
}
