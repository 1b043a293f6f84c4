package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/dialog"
	"callgate/internal/cli/text"
	"callgate/internal/protocol"
	"callgate/internal/visible"
	"callgate/tool"
)

// approve is approvals approve, and approvals edit.
type approve struct {
	*command.Env
	always, wait, edit bool
	script             bool
	args               string
	remember           remember
}

func (a *approve) bind(c *cobra.Command) {
	c.Flags().BoolVar(&a.always, "always", false,
		"also allow what its question says, such as 'go test *', for the rest of the caller's session")
	c.Flags().BoolVar(&a.wait, "wait", false, "wait for the call to end, and print its result")
	a.BindToken(c)
}

func newApprove(e *command.Env) *cobra.Command {
	a := &approve{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "approve ID...", Short: "Approve a call, or several",
		Long: `Approve calls, one after the other. Each is shown, with a code that you type to approve it; the
terminal must not be that of the program that asked. A script approves with a
token: callgate token create --role approver.`,
		Example: `  callgate approvals approve a3kf
  callgate approvals approve a3kf b7qx              two calls, each by itself
  callgate approvals approve a3kf --always          and what its question says, in that session
  callgate approvals approve a3kf --remember exact  and this exact call here from now on
  callgate approvals approve a3kf --remember 2 --until 30d
  callgate approvals approve a3kf --args @mine.json with other arguments
  callgate approvals approve a3kf --wait            and print the result`,
		Args: cobra.MinimumNArgs(1),
	}, a.runAll)
	a.bind(c)
	c.Flags().BoolVar(&a.script, "script", false,
		"also allow what its question says, such as 'out/*.txt', for the rest of the script that calls")
	c.Flags().BoolVar(&a.edit, "edit", false, "edit the arguments first, in $VISUAL or $EDITOR")
	c.Flags().StringVar(&a.args, "args", "", "approve with these `ARGS` instead: '{…}', @file or -")
	a.remember.bind(c.Flags())
	c.MarkFlagsMutuallyExclusive("edit", "args", "remember")
	c.MarkFlagsMutuallyExclusive("always", "remember", "script")
	return c
}

func newEdit(e *command.Env) *cobra.Command {
	a := &approve{Env: e, edit: true}
	c := e.Leaf(&cobra.Command{
		Use: "edit ID", Short: "Edit the arguments of a call, then approve it",
		Example: "  EDITOR=nano callgate approvals edit a3kf", Args: cobra.ExactArgs(1),
	}, a.run)
	a.bind(c)
	return c
}

// runAll approves several calls. The first that cannot be answered ends it.
func (a *approve) runAll(ctx context.Context, ids []string) error {
	if len(ids) > 1 && (a.args != "" || a.edit) {
		return tool.Errorf("cli.approve", tool.Invalid, "arguments are given for one call, and %d are named", len(ids)).
			WithHint("approve that one by itself")
	}
	for _, id := range ids {
		if err := a.run(ctx, []string{id}); err != nil {
			return err
		}
	}
	return nil
}

func (a *approve) run(ctx context.Context, args []string) error {
	return a.WithExternal(ctx, func(k *command.Kernel) error {
		r, err := k.FindApproval(ctx, args[0])
		if err != nil {
			return err
		}
		if a.always && r.Session == nil && r.State == protocol.ApprovalPending {
			const once = "a yes to %s is for once: it is asked for each time"
			return tool.Errorf("cli.approve", tool.Invalid, once, r.Call.Tool.Dotted()).WithHint("approve it without --always")
		}
		if a.script && (r.Script == nil || r.Script.Offer == nil) && r.State == protocol.ApprovalPending {
			return tool.Errorf("cli.approve", tool.Invalid, "%s is not a call of a script whose kind can be allowed",
				r.Call.Tool.Dotted()).WithHint("approve it without --script")
		}
		answer := protocol.Answer{Approve: true, Always: a.always, Script: a.script, By: a.UserName()}
		if answer.Remember, err = a.remember.of(r); err != nil {
			return err
		}
		switch {
		case a.args != "":
			answer.Args, err = a.readArgs()
		case a.edit:
			if r.State != protocol.ApprovalPending {
				return tool.Errorf("cli.approve", tool.Conflict, "approval %s was already %s", r.ID, r.State)
			}
			answer.Args, err = a.editArgs(ctx, r)
			if err == nil && answer.Args == nil {
				a.Status("callgate: nothing was changed, so nothing was answered; %s still waits", r.ID)
				return command.Exit(command.ExitWaiting)
			}
		}
		if err != nil {
			return err
		}
		if sure, err := a.prove(ctx, k, r, answer); err != nil || !sure {
			return err
		}
		answered, err := k.Answer(ctx, r.ID, answer)
		if err != nil {
			return err
		}
		a.reportGrant(answered)
		return a.report(ctx, k, answered)
	})
}

// reportGrant says what was kept, and how it is taken back.
func (a *approve) reportGrant(r protocol.Approval) {
	if r.Answer == nil || r.Answer.Remember == nil {
		return
	}
	kept := r.Answer.Remember
	if choice := kept.Choice; choice >= 1 && choice <= len(r.Choices) {
		a.Status("kept as grant %s: %s %s (to take it back: %s grants revoke %s)", kept.Grant, r.Call.Tool.Dotted(),
			visible.Text(r.Choices[choice-1].Text), a.Self(), kept.Grant)
	}
}

// prove shows the person at the terminal the call as it would run, and has them
// type the kernel's code.
func (a *approve) prove(
	ctx context.Context, k *command.Kernel, r protocol.Approval, answer protocol.Answer,
) (bool, error) {
	ch, err := k.Challenge(ctx, r.ID)
	if err != nil {
		return false, err
	}
	if len(answer.Args) > 0 {
		r.Call.Args, r.Claims = answer.Args, nil
	}
	to := "To approve this call"
	if answer.Always && r.Session != nil {
		to = "To approve this call, and " + visible.Text(r.Session.Text) + " for the rest of that session"
	}
	if answer.Script && r.Script != nil && r.Script.Offer != nil {
		to = "To approve this call, and " + visible.Text(r.Script.Offer.Text) + " for the rest of that script"
	}
	if kept := answer.Remember; kept != nil && kept.Choice >= 1 && kept.Choice <= len(r.Choices) {
		to = "To approve this call, and from now on " + visible.Text(r.Choices[kept.Choice-1].Text)
		if !kept.Until.IsZero() {
			to += " until " + kept.Until.Format(time.DateOnly)
		}
	}
	sure, err := a.Prove(ctx, k, ch, command.Proof{
		Show: func(terminal *os.File) error { return a.Style(terminal).Approval(terminal, r) },
		To:   to, Else: "leaves it waiting",
	})
	if err == nil && !sure {
		a.Status("callgate: nothing was answered; %s still waits", r.ID)
		err = command.Exit(command.ExitWaiting)
	}
	return sure, err
}

// editArgs opens the editor on the arguments of a call; nil says that they were
// not changed.
func (a *approve) editArgs(ctx context.Context, r protocol.Approval) (json.RawMessage, error) {
	before := []byte(text.JSON(r.Call.Args) + "\n")
	after, err := a.Editor().Edit(ctx, before)
	if err != nil || bytes.Equal(bytes.TrimSpace(before), bytes.TrimSpace(after)) {
		return nil, err
	}
	return dialog.Object("what you wrote", after)
}

// readArgs reads the arguments that --args gives as a text, a file or -.
func (a *approve) readArgs() (json.RawMessage, error) {
	data := []byte(a.args)
	path, file := strings.CutPrefix(a.args, "@")
	var err error
	switch {
	case a.args == "-":
		data, err = io.ReadAll(a.Stdin)
	case file:
		data, err = os.ReadFile(a.Path(path))
	}
	if err != nil {
		return nil, &tool.Error{Op: "cli.approve", Kind: tool.Invalid, Message: "--args cannot be read", Err: err}
	}
	return dialog.Object("--args", data)
}

// report says that a call may run. A kernel that ends with this command must
// live until the call has ended, so the command waits for it.
func (a *approve) report(ctx context.Context, k *command.Kernel, r protocol.Approval) error {
	if !a.wait && !k.InProcess() {
		if a.JSON {
			return a.WriteJSON(r)
		}
		a.Status("approved: %s runs as call %s", r.Call.Tool.Dotted(), r.Call.ID)
		return nil
	}
	result, err := k.Collect(ctx, r.Call.ID)
	if ctx.Err() != nil {
		return tool.Errorf("cli.approve", tool.Cancelled, "approved, but no longer waiting for call %s", r.Call.ID).
			WithHint("how it ends: %s log show %s", a.Self(), r.Call.ID)
	}
	if err != nil {
		return err
	}
	if a.wait {
		return a.Result(result, "")
	}
	if a.JSON {
		return a.WriteJSON(r)
	}
	a.Status("approved: %s ran as call %s: %s", r.Call.Tool.Dotted(), r.Call.ID, result.Summary)
	return nil
}
