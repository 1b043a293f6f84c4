package machine

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/cli/text"
	"callgate/internal/client"
	"callgate/internal/daemon"
	"callgate/internal/protocol/operations"
)

// reload is reload.
type reload struct {
	*command.Env
	dryRun bool
}

func newReload(e *command.Env) *cobra.Command {
	r := &reload{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "reload", Short: "Have open sessions work by the app files as they are now",
		Long: `Read the app files of the open sessions, and your own, again: show what changed, and have
all open sessions work by them. A file with a mistake changes nothing, and neither does one that
asks for more than was accepted: callgate app trust accepts it. Calls that run go on by the rules
they began with. New sessions read the files by themselves.

SIGHUP does the same to a kernel that callgate up runs.`,
		Example: "  callgate reload --dry-run\n  callgate reload",
		Args:    cobra.NoArgs,
	}, r.run)
	c.Flags().BoolVar(&r.dryRun, "dry-run", false, "show what would change, and change nothing")
	return c
}

func (r *reload) run(ctx context.Context, _ []string) error {
	workspace, err := r.WorkspaceDir()
	if err != nil {
		return err
	}
	file, err := r.AppPath()
	if err != nil {
		return err
	}
	with := r.WithKey
	if r.dryRun {
		with = r.With
	}
	return with(ctx, func(k *command.Kernel) error {
		ask := operations.Reload{DryRun: true, Workspace: workspace, AppFile: file, By: r.UserName()}
		report, err := client.Reload(ctx, k.Client, ask)
		if err != nil {
			return err
		}
		if !r.JSON {
			if err := r.show(report); err != nil {
				return err
			}
		}
		if !r.dryRun {
			ask.DryRun = false
			if report, err = client.Reload(ctx, k.Client, ask); err != nil {
				return err
			}
		}
		switch {
		case r.JSON:
			return r.WriteJSON(report)
		case k.InProcess():
			r.Status("no kernel is running; the next one reads the files as they are")
		case report.Applied:
			r.Status("%s work by these files now", amount.Of(report.Sessions, "open session"))
		default:
			r.Status("nothing was changed; %s would work by these files", amount.Of(report.Sessions, "open session"))
		}
		return nil
	})
}

// show writes what the files say otherwise.
func (r *reload) show(report operations.Reloaded) error {
	for _, line := range report.Waits {
		r.Status("nobody has accepted yet (callgate app trust): %s", text.OneLine(line))
	}
	if len(report.Changes) == 0 {
		r.Status("the app files of the open sessions say what they said")
		return nil
	}
	rows := make([][]render.Cell, len(report.Changes))
	for i, c := range report.Changes {
		wider := ""
		if c.Wider {
			wider = "wider"
		}
		rows[i] = []render.Cell{render.Plain(c.Part), render.Bold(wider), render.Plain(c.Text)}
	}
	return command.WriteError(r.Style(r.Stdout).Table(r.Stdout, []string{"PART", "RIGHTS", "CHANGE"}, rows))
}

// reloadOnHangup reads the app files again for each SIGHUP, one after the other, until end is called. What came of
// it goes to standard error.
func (u *up) reloadOnHangup(ctx context.Context, d *daemon.Daemon) (end func()) {
	asked := make(chan struct{}, 1) // one more that waits stands for all that come meanwhile
	untake := u.Hangup.Take(func() {
		select {
		case asked <- struct{}{}:
		default:
		}
	})
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-asked:
				u.Status("callgate: %s", reloadNow(ctx, d))
			}
		}
	}()
	return func() {
		untake()
		cancel()
		<-done
	}
}

// reloadNow reads the app files again, and says what came of it in a line.
func reloadNow(ctx context.Context, d *daemon.Daemon) string {
	report, err := d.Reload(ctx, "SIGHUP")
	if err != nil {
		return "SIGHUP: " + text.OneLine(err.Error())
	}
	if report.Sessions == 0 && len(report.Files) == 0 {
		return "SIGHUP: no session is open, and no app file is known"
	}
	if report.Sessions == 0 {
		return text.OneLine(fmt.Sprintf("SIGHUP: no session is open; %s checked, without a mistake: %s",
			amount.Of(len(report.Files), "app file"), strings.Join(report.Files, ", ")))
	}
	var all []string
	for _, c := range report.Changes {
		all = append(all, c.Part+": "+c.Text)
	}
	return text.OneLine(fmt.Sprintf("SIGHUP: the app files were read again for %s: %s %s",
		amount.Of(report.Sessions, "open session"), amount.Of(len(all), "change"), strings.Join(all, "; ")))
}
