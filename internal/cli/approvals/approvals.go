// Package approvals has the commands that answer calls that wait for a human.
package approvals

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Commands returns the command approvals.
func Commands(e *command.Env) []*cobra.Command {
	show, approve, edit, deny := newShow(e), newApprove(e), newEdit(e), newDeny(e)
	for _, c := range []*cobra.Command{show, approve, edit, deny} {
		c.ValidArgsFunction = command.CompleteFirst(pending(e))
	}
	group := &cobra.Command{
		Use: "approvals", Short: "Answer calls that wait for a human",
		Example: "  callgate approvals list\n  callgate approvals approve a3kf        the first letters of an ID are enough",
	}
	return []*cobra.Command{e.Group(group, newList(e), show, approve, edit, deny)}
}

// pending completes the IDs of approvals that wait.
func pending(e *command.Env) func(context.Context) []string {
	return func(ctx context.Context) (found []string) {
		_ = e.With(ctx, func(k *command.Kernel) error {
			list, err := k.Approvals(ctx, protocol.ApprovalPending)
			for _, r := range list {
				found = append(found, r.ID+"\t"+r.Call.Tool.Dotted())
			}
			return err
		})
		return found
	}
}

// list is approvals list.
type list struct {
	*command.Env
	all bool
}

func newList(e *command.Env) *cobra.Command {
	l := &list{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "list", Short: "List calls that wait for a human",
		Example: "  callgate approvals list --all", Args: cobra.NoArgs,
	}, l.run)
	c.Flags().BoolVar(&l.all, "all", false, "also those that were answered")
	return c
}

func (l *list) run(ctx context.Context, _ []string) error {
	return l.With(ctx, func(k *command.Kernel) error {
		state := protocol.ApprovalPending
		if l.all {
			state = ""
		}
		found, err := k.Approvals(ctx, state)
		if err != nil {
			return err
		}
		return command.WriteList(l.Env, found, "nothing waits for a human", func() error {
			return l.Style(l.Stdout).Approvals(l.Stdout, found)
		})
	})
}

// show is approvals show.
type show struct{ *command.Env }

func newShow(e *command.Env) *cobra.Command {
	s := &show{e}
	return e.Leaf(&cobra.Command{
		Use: "show ID", Short: "Show a call and why it waits",
		Example: "  callgate approvals show a3kf", Args: cobra.ExactArgs(1),
	}, s.run)
}

func (s *show) run(ctx context.Context, args []string) error {
	return s.With(ctx, func(k *command.Kernel) error {
		r, err := k.FindApproval(ctx, args[0])
		switch {
		case err != nil:
			return err
		case s.JSON:
			return s.WriteJSON(r)
		}
		style := s.Style(s.Stdout)
		if err := style.Approval(s.Stdout, r); err != nil {
			return command.WriteError(err)
		}
		return command.WriteError(style.Choices(s.Stdout, r))
	})
}

// deny is approvals deny.
type deny struct {
	*command.Env
	reason string
	stop   bool
}

func newDeny(e *command.Env) *cobra.Command {
	d := &deny{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "deny ID...", Short: "Deny a call, or several",
		Example: "  callgate approvals deny a3kf --reason 'use the staging host'\n" +
			"  callgate approvals deny a3kf --stop               and end the script that calls",
		Args: cobra.MinimumNArgs(1),
	}, d.run)
	c.Flags().StringVar(&d.reason, "reason", "", "the `REASON`, for the caller")
	c.Flags().BoolVar(&d.stop, "stop", false, "also end the script that calls, with all that waits in it")
	d.BindToken(c)
	return c
}

func (d *deny) run(ctx context.Context, ids []string) error {
	return d.WithExternal(ctx, func(k *command.Kernel) error {
		for _, id := range ids {
			if err := d.one(ctx, k, id); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d *deny) one(ctx context.Context, k *command.Kernel, id string) error {
	r, err := k.FindApproval(ctx, id)
	if err != nil {
		return err
	}
	if d.stop && r.Script == nil {
		return tool.Errorf("cli.deny", tool.Invalid, "%s is not a call of a script", r.Call.Tool.Dotted()).
			WithHint("deny it without --stop")
	}
	r, err = k.Answer(ctx, r.ID, protocol.Answer{Feedback: d.reason, Script: d.stop, By: d.UserName()})
	switch {
	case err != nil:
		return err
	case d.JSON:
		return d.WriteJSON(r)
	}
	if d.stop {
		d.Status("denied: %s will not run, and its script ends", r.Call.Tool.Dotted())
		return nil
	}
	d.Status("denied: %s will not run", r.Call.Tool.Dotted())
	return nil
}
