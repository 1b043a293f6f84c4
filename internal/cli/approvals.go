package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/dialog"
	"callgate/internal/cli/render"
	"callgate/internal/protocol"
	"callgate/tool"
)

func (p *program) approvalsCommand() *cobra.Command {
	var all bool
	list := p.leaf("list", "List the calls that wait for a human", "  callgate approvals list --all",
		cobra.NoArgs, func(ctx context.Context, _ []string) error { return p.listApprovals(ctx, all) })
	list.Flags().BoolVar(&all, "all", false, "the settled ones too")

	show := p.leaf("show ID", "Show the exact call", "  callgate approvals show a3kf", cobra.ExactArgs(1), p.showApproval)

	var yes approveFlags
	approve := p.leaf("approve ID", "Let a call run, as it is or with other arguments", `  callgate approvals approve a3kf
  callgate approvals approve a3kf --always          and every such call of that session
  callgate approvals approve a3kf --args @mine.json with these arguments instead
  callgate approvals approve a3kf --wait            and show the result`,
		cobra.ExactArgs(1), func(ctx context.Context, args []string) error { return p.approve(ctx, args[0], yes) })
	yes.bind(approve)
	approve.Flags().BoolVar(&yes.edit, "edit", false, "edit the arguments first, in $VISUAL or $EDITOR")
	approve.Flags().StringVar(&yes.args, "args", "", "approve with these arguments: '{…}', @file or -")
	approve.MarkFlagsMutuallyExclusive("edit", "args")

	var changed approveFlags
	edit := p.leaf("edit ID", "Edit the arguments, then let the call run", "  EDITOR=nano callgate approvals edit a3kf",
		cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
			changed.edit = true
			return p.approve(ctx, args[0], changed)
		})
	changed.bind(edit)

	var reason string
	deny := p.leaf("deny ID", "Refuse a call", "  callgate approvals deny a3kf --reason 'use the staging host'",
		cobra.ExactArgs(1), func(ctx context.Context, args []string) error { return p.deny(ctx, args[0], reason) })
	deny.Flags().StringVar(&reason, "reason", "", "why, for whoever asked")

	for _, c := range []*cobra.Command{show, approve, edit, deny} {
		c.ValidArgsFunction = p.completeApproval
	}
	return p.group("approvals", "Answer the calls that wait for a human",
		"  An ID may be cut short, as long as it means one approval.", list, show, approve, edit, deny)
}

// approveFlags are the ways to say yes.
type approveFlags struct {
	always, wait, edit bool
	args               string
}

func (f *approveFlags) bind(c *cobra.Command) {
	c.Flags().BoolVar(&f.always, "always", false, "and every call of this tool for the rest of the asking session")
	c.Flags().BoolVar(&f.wait, "wait", false, "wait for the call to end, and show its result")
}

func (p *program) listApprovals(ctx context.Context, all bool) error {
	return p.with(ctx, false, func(k *kernel) error {
		state := protocol.ApprovalPending
		if all {
			state = ""
		}
		list, err := k.Approvals(ctx, state)
		switch {
		case err != nil:
			return err
		case p.json:
			return p.writeJSON(list)
		case len(list) == 0:
			p.status("nothing waits for a human")
			return nil
		}
		return writeError(p.style(p.Stdout).Approvals(p.Stdout, list))
	})
}

func (p *program) showApproval(ctx context.Context, args []string) error {
	return p.with(ctx, false, func(k *kernel) error {
		r, err := k.find(ctx, args[0])
		switch {
		case err != nil:
			return err
		case p.json:
			return p.writeJSON(r)
		}
		return writeError(p.style(p.Stdout).Approval(p.Stdout, r))
	})
}

// find returns the approval that an id means, which may be cut short.
func (k *kernel) find(ctx context.Context, id string) (protocol.Approval, error) {
	r, err := k.Approval(ctx, id)
	if tool.KindOf(err) != tool.NotFound {
		return r, err
	}
	for _, state := range []protocol.ApprovalState{protocol.ApprovalPending, ""} {
		list, err := k.Approvals(ctx, state)
		if err != nil {
			return r, err
		}
		var found []protocol.Approval
		for _, r := range list {
			if strings.HasPrefix(r.ID, id) {
				found = append(found, r)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			e := tool.Errorf("cli.find", tool.Ambiguous, "%d approvals begin with %s", len(found), tool.Truncate(id)).WithHint("write more of the id")
			for _, r := range found[:min(len(found), 10)] {
				e.Similar = append(e.Similar, r.ID)
			}
			return r, e
		}
	}
	return r, tool.Errorf("cli.find", tool.NotFound, "there is no approval %s", tool.Truncate(id)).WithHint("callgate approvals list shows those that wait")
}

// approve says yes, perhaps with other arguments.
func (p *program) approve(ctx context.Context, id string, f approveFlags) error {
	return p.withHumanKey(ctx, func(k *kernel) error {
		r, err := k.find(ctx, id)
		if err != nil {
			return err
		}
		a := protocol.Answer{Approve: true, Always: f.always, By: p.userName()}
		switch {
		case f.args != "":
			a.Args, err = p.argsFrom(f.args)
		case f.edit:
			if r.State != protocol.ApprovalPending {
				return tool.Errorf("cli.approve", tool.Conflict, "approval %s was already %s", r.ID, r.State)
			}
			a.Args, err = p.edited(ctx, r)
			if err == nil && a.Args == nil {
				p.status("callgate: nothing was changed, so nothing was answered; %s still waits", r.ID)
				return ended(exitWaiting)
			}
		}
		if err != nil {
			return err
		}
		answered, err := k.Answer(ctx, r.ID, a)
		if err != nil {
			return err
		}
		return p.reportApproved(ctx, k, answered, f.wait)
	})
}

// edited opens the editor on the arguments of a call; nil says that nothing
// was changed.
func (p *program) edited(ctx context.Context, r protocol.Approval) (json.RawMessage, error) {
	before := []byte(render.JSON(r.Call.Args) + "\n")
	after, err := p.editor().Edit(ctx, before)
	if err != nil || bytes.Equal(bytes.TrimSpace(before), bytes.TrimSpace(after)) {
		return nil, err
	}
	return dialog.Object("what you wrote", after)
}

// reportApproved tells that a call may run. A kernel that lives only as long as this
// command must live until the call has ended, so that one is waited for.
func (p *program) reportApproved(ctx context.Context, k *kernel, r protocol.Approval, wait bool) error {
	if !wait && !k.inProcess() {
		if p.json {
			return p.writeJSON(r)
		}
		p.status("approved: %s runs as call %s", r.Call.Tool.Dotted(), r.Call.ID)
		return nil
	}
	result, err := k.Collect(ctx, r.Call.ID)
	if ctx.Err() != nil {
		return tool.Errorf("cli.approve", tool.Cancelled, "approved, but no longer waiting for call %s", r.Call.ID).
			WithHint("how it ends: %s log show %s", p.self(), r.Call.ID)
	}
	if err != nil {
		return err
	}
	if wait {
		return p.showResult(result, "")
	}
	if p.json {
		return p.writeJSON(r)
	}
	p.status("approved: %s ran as call %s: %s", r.Call.Tool.Dotted(), r.Call.ID, result.Summary)
	return nil
}

// argsFrom reads arguments that were given as a text, a file or -.
func (p *program) argsFrom(text string) (json.RawMessage, error) {
	data := []byte(text)
	path, file := strings.CutPrefix(text, "@")
	var err error
	switch {
	case text == "-":
		data, err = io.ReadAll(p.Stdin)
	case file:
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, &tool.Error{Op: "cli.approve", Kind: tool.Invalid, Message: "--args cannot be read", Err: err}
	}
	return dialog.Object("--args", data)
}

func (p *program) deny(ctx context.Context, id, reason string) error {
	return p.withHumanKey(ctx, func(k *kernel) error {
		r, err := k.find(ctx, id)
		if err != nil {
			return err
		}
		r, err = k.Answer(ctx, r.ID, protocol.Answer{Feedback: reason, By: p.userName()})
		switch {
		case err != nil:
			return err
		case p.json:
			return p.writeJSON(r)
		}
		p.status("denied: %s will not run", r.Call.Tool.Dotted())
		return nil
	})
}
