package outside

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/visible"
)

// AppCommands returns the children of the command app that have apps run without a
// client: start, stop and running.
func AppCommands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{newStart(e), newStop(e), newRunning(e)}
}

// place is the app that a command is about: the one of the folder, or the file that was
// named.
func place(e *command.Env) (protocol.StartBackground, error) {
	workspace, err := e.WorkspaceDir()
	if err != nil {
		return protocol.StartBackground{}, err
	}
	file, err := e.AppPath()
	return protocol.StartBackground{Workspace: workspace, AppFile: file, By: e.UserName()}, err
}

// start is app start.
type start struct{ *command.Env }

func newStart(e *command.Env) *cobra.Command {
	s := &start{e}
	return e.Leaf(&cobra.Command{
		Use: "start", Short: "Have the app here run without a client, until it is stopped",
		Long: `Have an app with runtime.mode: background run without a client. Its triggers are
active from now on, also after the kernel is started again, and until the app is
stopped. You have accepted its triggers and channels before (callgate app trust).

A kernel is started if none runs, and stays while the app does. To have one at the
start of the machine, run callgate up as a service.`,
		Example: "  callgate app trust && callgate app start", Args: cobra.NoArgs,
	}, s.run)
}

func (s *start) run(ctx context.Context, _ []string) error {
	in, err := place(s.Env)
	if err != nil {
		return err
	}
	s.BackgroundKernel = true
	return s.With(ctx, func(k *command.Kernel) error {
		a, err := client.OutsideOf(k.Client).Start(ctx, in)
		switch {
		case err != nil:
			return err
		case s.JSON:
			return s.WriteJSON(a)
		case !a.Serves:
			s.Status("%s is to run without a client; it does once a kernel stays: callgate up", a.App)
			return nil
		}
		s.Status("%s runs without a client; callgate app stop stops it", a.App)
		for _, t := range a.Triggers {
			if t.Problem != "" {
				s.Status("  %s  %s: %s", t.Name, t.Type, visible.Text(t.Problem))
				continue
			}
			s.Status("  %s  %s  %s", t.Name, t.Type, visible.Text(t.At))
		}
		return nil
	})
}

// stop is app stop.
type stop struct{ *command.Env }

func newStop(e *command.Env) *cobra.Command {
	s := &stop{e}
	return e.Leaf(&cobra.Command{
		Use: "stop", Short: "End that the app here runs without a client",
		Long: `End that an app runs without a client. Turns that run go on to their end; events
that wait are given up, and callgate triggers dead lists them.`,
		Args: cobra.NoArgs,
	}, s.run)
}

func (s *stop) run(ctx context.Context, _ []string) error {
	in, err := place(s.Env)
	if err != nil {
		return err
	}
	return s.With(ctx, func(k *command.Kernel) error {
		a, err := client.OutsideOf(k.Client).Stop(ctx, in)
		switch {
		case err != nil:
			return err
		case s.JSON:
			return s.WriteJSON(a)
		}
		s.Status("%s runs without a client no more", a.App)
		return nil
	})
}

// running is app running.
type running struct{ *command.Env }

func newRunning(e *command.Env) *cobra.Command {
	r := &running{e}
	return e.Leaf(&cobra.Command{
		Use: "running", Short: "List the apps that run without a client", Args: cobra.NoArgs,
	}, r.run)
}

func (r *running) run(ctx context.Context, _ []string) error {
	return r.With(ctx, func(k *command.Kernel) error {
		found, err := client.OutsideOf(k.Client).Apps(ctx)
		if err != nil {
			return err
		}
		none := "no app runs without a client; callgate app start starts one"
		return command.WriteList(r.Env, found, none, func() error {
			return render.Outside{Style: r.Style(r.Stdout)}.BackgroundApps(r.Stdout, found)
		})
	})
}
